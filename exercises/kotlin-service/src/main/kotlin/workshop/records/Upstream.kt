// How the service of prices is called: with a coroutine that waits, or with a thread that does.
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

/** The longest answer that is read. One with a price has some 30 bytes. */
const val MAX_PRICE_BYTES = 4_096

class UpstreamAnswer(
    val status: Int,
    val body: ByteArray,
)

/** The service of prices. */
fun interface Upstream {
    /** Asks once. Cancelled, it closes the connection: the upstream learns that its answer is not wanted any more. */
    suspend fun get(path: String): UpstreamAnswer
}

/** As the settings want it. */
fun upstream(
    settings: PriceSettings,
    prepare: Prepare = {},
): Upstream =
    when (settings.waiting) {
        Waiting.COROUTINES -> SuspendingUpstream(settings, prepare)
        Waiting.THREADS -> BlockingUpstream(settings, prepare, fixedThreads().asCoroutineDispatcher())
        Waiting.VIRTUAL -> BlockingUpstream(settings, prepare, virtualThreads().asCoroutineDispatcher())
    }

/** What is done to each request before it is sent. */
typealias Prepare = (Request) -> Unit

// ANCHOR: suspending

/**
 * A waiting call is a coroutine and a connection. It holds no thread.
 *
 * With Jetty's client. Ktor's leaves a call that was cancelled under way, as Apache's does on a connection that was used before.
 * The JDK's ends it, and may give the connection that it is closing to the next call.
 */
class SuspendingUpstream(
    private val settings: PriceSettings,
    private val prepare: Prepare = {},
) : Upstream {
    // One client for all requests: it keeps the connections.
    private val client = settings.client()

    override suspend fun get(path: String): UpstreamAnswer = client.call(settings.url + path, MAX_PRICE_BYTES, prepare).await().toAnswer()
}
// ANCHOR_END: suspending

// ANCHOR: blocking

/** A waiting call holds one of the [threads]. It is there to measure the other one against. */
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
                // A call that is given up interrupts its thread. One that has ended does not mind.
                call.cancel(true)
            }
        }
}
// ANCHOR_END: blocking

private fun PriceSettings.client(): HttpClient = plainClient(timeout, connections = limit)

/** Follows no redirect, keeps no cookie, and opens so many [connections] at most. */
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

/** Reads no more than [maxBytes]: of a longer answer, it closes the connection. Cancelled, it does the same. */
internal fun HttpClient.call(
    url: String,
    maxBytes: Int,
    prepare: Prepare = {},
): CompletableFuture<ContentResponse> = CompletableResponseListener(newRequest(url).also(prepare), maxBytes).send()

internal fun ContentResponse.toAnswer() = UpstreamAnswer(status, content)

/** As many as servlet containers come with. */
private const val WAITING_THREADS = 200

private fun fixedThreads(): ExecutorService =
    Executors.newFixedThreadPool(WAITING_THREADS) { task -> Thread(task, "upstream").apply { isDaemon = true } }

/** By reflection: this is compiled for Java 17, and they are there from 21 on. */
private fun virtualThreads(): ExecutorService =
    Executors::class.java.getMethod("newVirtualThreadPerTaskExecutor").invoke(null) as ExecutorService
