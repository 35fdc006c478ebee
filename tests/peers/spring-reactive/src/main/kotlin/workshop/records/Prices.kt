// Asks for prices: a bounded number of calls at a time, each once.
package workshop.records

import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.reactor.awaitSingleOrNull
import kotlinx.coroutines.sync.Semaphore
import kotlinx.coroutines.withTimeoutOrNull
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty
import org.springframework.http.client.reactive.ReactorClientHttpConnector
import org.springframework.stereotype.Component
import org.springframework.web.reactive.function.client.WebClient
import reactor.core.publisher.Mono
import reactor.netty.http.client.HttpClient
import reactor.netty.resources.ConnectionProvider
import kotlin.time.toKotlinDuration

@Component
@ConditionalOnProperty(UPSTREAM)
class Prices(
    private val settings: PriceSettings,
) {
    private val places = Semaphore(settings.limit)
    private val wait = settings.wait.toKotlinDuration()
    private val timeout = settings.timeout.toKotlinDuration()

    // One client for all requests: it keeps the connections. By default it asks again when a connection ends early.
    private val client =
        HttpClient.create(ConnectionProvider.create("prices", settings.limit)).disableRetry(true).let { client ->
            WebClient
                .builder()
                .baseUrl(settings.url)
                .clientConnector(ReactorClientHttpConnector(client))
                .codecs { it.defaultCodecs().maxInMemorySize(MAX_PRICE_BYTES) }
                .build()
        }

    /** The price of the record with this [id], in cents. */
    suspend fun of(id: Int): Long {
        var hasPlace = false
        try {
            withTimeoutOrNull(wait) {
                places.acquire()
                // Set inside the block: if the timeout fires just after `acquire`, the block's result is lost.
                hasPlace = true
            }
            if (!hasPlace) throw tooMany()
            return withTimeoutOrNull(timeout) { call(id) } ?: throw late()
        } finally {
            if (hasPlace) places.release()
        }
    }

    private suspend fun call(id: Int): Long =
        try {
            client
                .get()
                .uri("/prices/{id}", id)
                .exchangeToMono { answer ->
                    answer.bodyToMono(ByteArray::class.java).flatMap { Mono.justOrEmpty(centsIn(answer.statusCode().value(), it, id)) }
                }.awaitSingleOrNull() ?: throw unusable()
        } catch (_: Exception) {
            // Throws if this coroutine was canceled. Any other failure is the upstream's fault.
            currentCoroutineContext().ensureActive()
            throw unusable()
        }
}
