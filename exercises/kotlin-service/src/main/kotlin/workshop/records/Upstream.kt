// How the service of prices is called: by a client that suspends a coroutine, or by one that blocks a thread.
package workshop.records

import io.ktor.client.HttpClient
import io.ktor.client.engine.apache5.Apache5
import io.ktor.client.request.prepareGet
import io.ktor.client.statement.bodyAsChannel
import io.ktor.utils.io.readRemaining
import kotlinx.coroutines.suspendCancellableCoroutine
import kotlinx.io.readByteArray
import org.apache.hc.client5.http.classic.methods.HttpGet
import org.apache.hc.client5.http.config.ConnectionConfig
import org.apache.hc.client5.http.impl.classic.HttpClients
import org.apache.hc.client5.http.impl.io.PoolingHttpClientConnectionManagerBuilder
import org.apache.hc.core5.http.ClassicHttpResponse
import org.apache.hc.core5.util.Timeout
import java.util.concurrent.ExecutorService
import java.util.concurrent.Executors

/** The longest answer that is read. One with a price has some 30 bytes. */
const val MAX_PRICE_BYTES = 4_096

class UpstreamAnswer(
    val status: Int,
    /** At most one byte more than [MAX_PRICE_BYTES]. */
    val body: ByteArray,
)

/** The service of prices. */
fun interface Upstream {
    /** Asks once. Cancelled, it closes the connection: the upstream learns that nobody waits any more. */
    suspend fun get(path: String): UpstreamAnswer
}

/** As the settings want it. */
fun upstream(settings: PriceSettings): Upstream =
    when (settings.waiting) {
        Waiting.COROUTINES -> SuspendingUpstream(settings)
        Waiting.THREADS -> BlockingUpstream(settings, Executors.newFixedThreadPool(WAITING_THREADS, daemons()))
        Waiting.VIRTUAL -> BlockingUpstream(settings, virtualThreads())
    }

// ANCHOR: suspending

/** A waiting call is a coroutine and a connection. It holds no thread. */
class SuspendingUpstream(
    private val settings: PriceSettings,
) : Upstream {
    // One client for all requests: it keeps the connections.
    private val client =
        HttpClient(Apache5) {
            followRedirects = false
            engine {
                connectTimeout = settings.timeout.inWholeMilliseconds
                socketTimeout = settings.timeout.inWholeMilliseconds.toInt()
                configureConnectionManager {
                    setMaxConnTotal(settings.limit)
                    setMaxConnPerRoute(settings.limit)
                }
                // By itself it would ask again, after a second.
                customizeClient { disableAutomaticRetries() }
            }
        }

    override suspend fun get(path: String): UpstreamAnswer =
        client.prepareGet(settings.url + path).execute { response ->
            val body = response.bodyAsChannel().readRemaining(MAX_PRICE_BYTES + 1L)
            UpstreamAnswer(response.status.value, body.readByteArray())
        }
}
// ANCHOR_END: suspending

// ANCHOR: blocking

/** A waiting call holds one of the [threads]. It is there to measure the other one against. */
class BlockingUpstream(
    private val settings: PriceSettings,
    private val threads: ExecutorService,
) : Upstream {
    private val timeout = Timeout.ofMilliseconds(settings.timeout.inWholeMilliseconds)
    private val client =
        HttpClients
            .custom()
            .disableAutomaticRetries()
            .disableCookieManagement()
            .disableRedirectHandling()
            .setConnectionManager(
                PoolingHttpClientConnectionManagerBuilder
                    .create()
                    .setMaxConnTotal(settings.limit)
                    .setMaxConnPerRoute(settings.limit)
                    .setDefaultConnectionConfig(
                        ConnectionConfig
                            .custom()
                            .setConnectTimeout(timeout)
                            .setSocketTimeout(timeout)
                            .build(),
                    ).build(),
            ).build()

    override suspend fun get(path: String): UpstreamAnswer =
        suspendCancellableCoroutine { waiting ->
            val request = HttpGet(settings.url + path)
            waiting.invokeOnCancellation { request.cancel() }
            threads.execute { waiting.resumeWith(runCatching { client.execute(request) { it.bounded(request) } }) }
        }
}
// ANCHOR_END: blocking

/** Reads no more than is wanted. What is left would be read before the connection is used again, so such a call is ended. */
private fun ClassicHttpResponse.bounded(request: HttpGet): UpstreamAnswer {
    val body = entity?.content?.readNBytes(MAX_PRICE_BYTES + 1) ?: ByteArray(0)
    if (body.size > MAX_PRICE_BYTES) request.cancel()
    return UpstreamAnswer(code, body)
}

/** As many as servlet containers come with. */
private const val WAITING_THREADS = 200

private fun daemons() = { task: Runnable -> Thread(task, "upstream").apply { isDaemon = true } }

/** By reflection: this is compiled for Java 17, and they are there from 21 on. */
private fun virtualThreads(): ExecutorService =
    Executors::class.java.getMethod("newVirtualThreadPerTaskExecutor").invoke(null) as ExecutorService
