// Calls the price service: either a coroutine or a thread waits for the response.
package workshop.records

import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.asCoroutineDispatcher
import kotlinx.coroutines.future.await
import kotlinx.coroutines.runInterruptible
import org.eclipse.jetty.client.CompletableResponseListener
import org.eclipse.jetty.client.ContentResponse
import org.eclipse.jetty.client.HttpClient
import org.eclipse.jetty.client.Request
import org.eclipse.jetty.http.HttpCookieStore
import java.util.concurrent.CompletableFuture
import java.util.concurrent.ExecutorService
import java.util.concurrent.Executors
import kotlin.time.Duration

/** The maximum size of an answer. One with a price has some 30 bytes. */
const val MAX_PRICE_BYTES = 4_096

class UpstreamAnswer(
    val status: Int,
    val body: ByteArray,
)

/** The service of prices. */
fun interface Upstream {
    /** Makes one call. If cancelled, it closes the connection, so the upstream learns that its answer is no longer wanted. */
    suspend fun get(path: String): UpstreamAnswer
}

/** The upstream that the settings ask for. */
fun upstream(
    settings: PriceSettings,
    prepare: Prepare = {},
): Upstream =
    when (settings.waiting) {
        Waiting.COROUTINES -> SuspendingUpstream(settings, prepare)
        Waiting.THREADS -> BlockingUpstream(settings, prepare, fixedThreads().asCoroutineDispatcher())
        Waiting.VIRTUAL -> BlockingUpstream(settings, prepare, virtualThreads().asCoroutineDispatcher())
    }

/** Prepares each request before it is sent. */
typealias Prepare = (Request) -> Unit

// ANCHOR: suspending

/**
 * A waiting call is a coroutine and a connection. It holds no thread.
 *
 * With Jetty's client. Ktor's doesn't end a call that was cancelled, nor does Apache's on a connection that was used before.
 * The JDK's ends it, but may give the connection that it is closing to the next call.
 */
class SuspendingUpstream(
    private val settings: PriceSettings,
    private val prepare: Prepare = {},
) : Upstream {
    // One client for all requests, because the client holds the pool of connections.
    private val client = settings.client()

    override suspend fun get(path: String): UpstreamAnswer = client.call(settings.url + path, MAX_PRICE_BYTES, prepare).await().toAnswer()
}
// ANCHOR_END: suspending

// ANCHOR: blocking

/** A waiting call holds one of the [threads]. It is there for comparison with the other one. */
class BlockingUpstream(
    private val settings: PriceSettings,
    private val prepare: Prepare,
    private val threads: CoroutineDispatcher,
) : Upstream {
    private val client = settings.client()

    override suspend fun get(path: String): UpstreamAnswer =
        runInterruptible(threads) {
            val call = client.call(settings.url + path, MAX_PRICE_BYTES, prepare)
            try {
                call.get().toAnswer()
            } finally {
                // Aborts the HTTP request of an abandoned call. Has no effect if the call has completed.
                call.cancel(true)
            }
        }
}
// ANCHOR_END: blocking

private fun PriceSettings.client(): HttpClient = plainClient(timeout, connections = limit)

/** Follows no redirects, keeps no cookies, and opens at most this many [connections]. */
internal fun plainClient(
    timeout: Duration,
    connections: Int,
): HttpClient =
    HttpClient().apply {
        connectTimeout = timeout.inWholeMilliseconds
        maxConnectionsPerDestination = connections
        isFollowRedirects = false
        httpCookieStore = HttpCookieStore.Empty()
        start()
    }

/** Reads no more than [maxBytes]: if the answer is longer, it closes the connection. If cancelled, it does the same. */
internal fun HttpClient.call(
    url: String,
    maxBytes: Int,
    prepare: Prepare = {},
): CompletableFuture<ContentResponse> = CompletableResponseListener(newRequest(url).also(prepare), maxBytes).send()

internal fun ContentResponse.toAnswer() = UpstreamAnswer(status, content)

/** The default of servlet containers. */
private const val WAITING_THREADS = 200

private fun fixedThreads(): ExecutorService =
    Executors.newFixedThreadPool(WAITING_THREADS) { task -> Thread(task, "upstream").apply { isDaemon = true } }

/** By reflection: this is compiled for Java 17, and they are there from 21 on. */
private fun virtualThreads(): ExecutorService =
    Executors::class.java.getMethod("newVirtualThreadPerTaskExecutor").invoke(null) as ExecutorService
