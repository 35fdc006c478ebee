// What is known of the service of prices: how it is asked, what it answers, and what is said when it gives no price.
package workshop.records

import org.springframework.boot.context.properties.ConfigurationProperties
import org.springframework.http.HttpStatus
import tools.jackson.core.JacksonException
import tools.jackson.databind.json.JsonMapper
import java.time.Duration

/** [limit] calls at a time, none longer than [timeout]; no request waits longer than [wait] to begin one. */
@ConfigurationProperties("prices")
class PriceSettings(
    val url: String,
    val limit: Int,
    val wait: Duration,
    val timeout: Duration,
    /** How long a request for a record with its price may take as a whole. */
    val deadline: Duration,
)

/** There is a service of prices only where this is set. */
const val UPSTREAM = "UPSTREAM_URL"

data class PricedRecord(
    val record: Record,
    val cents: Long,
)

/** The maximum size of an answer. One with a price has some 30 bytes. */
const val MAX_PRICE_BYTES = 4_096

private val json = JsonMapper()

/** The price in an answer; null unless it is 200, and `{"id":7,"cents":1999}`. Other members are ignored. */
fun centsIn(
    status: Int,
    body: ByteArray,
    id: Int,
): Long? {
    if (status != HttpStatus.OK.value()) return null
    val price =
        try {
            json.readTree(body)
        } catch (_: JacksonException) {
            return null
        }
    val (asked, cents) = listOf("id", "cents").map { price.path(it) }
    return cents.takeIf { it.isIntegralNumber && it.canConvertToLong() && asked.isIntegralNumber && asked.asLong() == id.toLong() }?.asLong()
}

fun late() = ProblemException(HttpStatus.GATEWAY_TIMEOUT, "the price did not come in time")

fun tooMany() = ProblemException(HttpStatus.SERVICE_UNAVAILABLE, "too many requests wait for prices")

fun unusable() = ProblemException(HttpStatus.BAD_GATEWAY, "the price service gave no usable answer")
