// Gets the prices of records from another service. Limits the number and the duration of concurrent calls.
package workshop.records

import io.ktor.http.HttpStatusCode
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.sync.Semaphore
import kotlinx.coroutines.withTimeoutOrNull
import tools.jackson.databind.JsonNode
import kotlin.time.Duration

/** There is no price. The client gets the [status] and the [detail], the log the cause as well. */
class PriceUnavailable(
    val status: HttpStatusCode,
    val detail: String,
    cause: Throwable? = null,
) : Exception(detail, cause) {
    companion object {
        fun late() = PriceUnavailable(HttpStatusCode.GatewayTimeout, "the price did not come in time")

        fun tooMany() = PriceUnavailable(HttpStatusCode.ServiceUnavailable, "too many requests wait for prices")

        fun unusable(cause: Throwable? = null) =
            PriceUnavailable(HttpStatusCode.BadGateway, "the price service gave no usable answer", cause)
    }
}

// ANCHOR: prices

/**
 * Asks the [upstream] for prices: at most [PriceSettings.limit] calls at a time, so that a slow upstream does not collect all
 * requests there are, and each call once. A price that did not come is the client's to ask for again; an upstream in trouble
 * needs fewer calls, not more.
 */
class Prices(
    private val upstream: Upstream,
    private val settings: PriceSettings,
) {
    private val places = Semaphore(settings.limit)

    /** How long a request for a record with its price may take as a whole. */
    val deadline: Duration get() = settings.deadline

    /**
     * The price of the record with this [id], in cents.
     *
     * @throws PriceUnavailable when there is none in time
     */
    suspend fun of(id: Int): Long {
        var hasPlace = false
        try {
            withTimeoutOrNull(settings.wait) {
                places.acquire()
                // Set inside the block: if the timeout fires just after `acquire`, the block's result is lost.
                hasPlace = true
            }
            if (!hasPlace) throw PriceUnavailable.tooMany()
            return withTimeoutOrNull(settings.timeout) { call(id) } ?: throw PriceUnavailable.late()
        } finally {
            if (hasPlace) places.release()
        }
    }

    private suspend fun call(id: Int): Long {
        val answer =
            try {
                upstream.get("/prices/$id")
            } catch (failure: Exception) {
                // Throws if this coroutine was canceled. Any other failure is the upstream's fault.
                currentCoroutineContext().ensureActive()
                throw PriceUnavailable.unusable(failure)
            }
        return centsIn(answer, id) ?: throw PriceUnavailable.unusable()
    }
}

/** Checks an answer: 200, and `{"id":7,"cents":1999}`. Other members are ignored. */
private fun centsIn(
    answer: UpstreamAnswer,
    id: Int,
): Long? {
    if (answer.status != HttpStatusCode.OK.value || answer.body.size > MAX_PRICE_BYTES) return null
    val price = jsonIn(answer.body) ?: return null
    return price.integer("cents")?.takeIf { price.integer("id") == id.toLong() }
}
// ANCHOR_END: prices

/** The member as an integer; null if it isn't one, for example digits in quotes. */
private fun JsonNode.integer(name: String): Long? = this[name]?.takeIf { it.isIntegralNumber && it.canConvertToLong() }?.longValue()
