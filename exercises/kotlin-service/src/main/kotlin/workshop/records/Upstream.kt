// How the service of prices is called: with a coroutine that waits, or with a thread that does.
package workshop.records

import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.asCoroutineDispatcher
import kotlinx.coroutines.runInterruptible
import kotlinx.coroutines.suspendCancellableCoroutine
import java.io.ByteArrayOutputStream
import java.net.URI
import java.net.http.HttpClient
import java.net.http.HttpRequest
import java.net.http.HttpResponse
import java.net.http.HttpResponse.BodyHandler
import java.net.http.HttpResponse.BodySubscriber
import java.nio.ByteBuffer
import java.util.concurrent.CompletableFuture
import java.util.concurrent.ExecutorService
import java.util.concurrent.Executors
import java.util.concurrent.Flow.Subscription
import kotlin.coroutines.resume
import kotlin.coroutines.resumeWithException
import kotlin.math.min
import kotlin.time.toJavaDuration

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
fun upstream(settings: PriceSettings): Upstream {
    // By itself the JDK's client makes a call up to five times. It looks only when it is first used.
    System.setProperty("jdk.httpclient.redirects.retrylimit", "1")
    return when (settings.waiting) {
        Waiting.COROUTINES -> SuspendingUpstream(settings)
        Waiting.THREADS -> BlockingUpstream(settings, fixedThreads().asCoroutineDispatcher())
        Waiting.VIRTUAL -> BlockingUpstream(settings, virtualThreads().asCoroutineDispatcher())
    }
}

// ANCHOR: suspending

/**
 * A waiting call is a coroutine and a connection. It holds no thread.
 *
 * Not with Ktor's client: its engines that keep connections, Apache5 and Java, leave a call that was cancelled under way.
 */
class SuspendingUpstream(
    private val settings: PriceSettings,
) : Upstream {
    // One client for all requests: it keeps the connections.
    private val client = settings.client()

    override suspend fun get(path: String): UpstreamAnswer =
        suspendCancellableCoroutine { waiting ->
            val call = client.sendAsync(settings.request(path), bounded)
            call.whenComplete { response, failure ->
                if (failure == null) waiting.resume(response.toAnswer()) else waiting.resumeWithException(failure)
            }
            // Not `await()`: that cancels without interrupting, and then the call goes on.
            waiting.invokeOnCancellation { call.cancel(true) }
        }
}
// ANCHOR_END: suspending

// ANCHOR: blocking

/** A waiting call holds one of the [threads]. It is there to measure the other one against. */
class BlockingUpstream(
    private val settings: PriceSettings,
    private val threads: CoroutineDispatcher,
) : Upstream {
    private val client = settings.client()

    // A call that is given up interrupts its thread, and that ends it.
    override suspend fun get(path: String): UpstreamAnswer =
        runInterruptible(threads) { client.send(settings.request(path), bounded).toAnswer() }
}
// ANCHOR_END: blocking

private fun PriceSettings.client(): HttpClient =
    HttpClient
        .newBuilder()
        .version(HttpClient.Version.HTTP_1_1)
        .connectTimeout(timeout.toJavaDuration())
        .build()

private fun PriceSettings.request(path: String): HttpRequest = HttpRequest.newBuilder(URI(url + path)).build()

private fun HttpResponse<ByteArray>.toAnswer() = UpstreamAnswer(statusCode(), body())

private val bounded = BodyHandler<ByteArray> { BoundedBody() }

/** Reads no more than is wanted, and closes the connection when there is more. */
private class BoundedBody : BodySubscriber<ByteArray> {
    private val bytes = ByteArrayOutputStream()
    private val whole = CompletableFuture<ByteArray>()
    private lateinit var subscription: Subscription

    override fun getBody() = whole

    override fun onSubscribe(subscription: Subscription) {
        this.subscription = subscription
        subscription.request(Long.MAX_VALUE)
    }

    override fun onNext(pieces: List<ByteBuffer>) {
        for (piece in pieces) {
            val wanted = ByteArray(min(piece.remaining(), MAX_PRICE_BYTES + 1 - bytes.size()))
            piece.get(wanted)
            bytes.write(wanted)
        }
        if (bytes.size() > MAX_PRICE_BYTES) {
            subscription.cancel()
            onComplete()
        }
    }

    override fun onError(failure: Throwable) {
        whole.completeExceptionally(failure)
    }

    override fun onComplete() {
        whole.complete(bytes.toByteArray())
    }
}

/** As many as servlet containers come with. */
private const val WAITING_THREADS = 200

private fun fixedThreads(): ExecutorService =
    Executors.newFixedThreadPool(WAITING_THREADS) { task -> Thread(task, "upstream").apply { isDaemon = true } }

/** By reflection: this is compiled for Java 17, and they are there from 21 on. */
private fun virtualThreads(): ExecutorService =
    Executors::class.java.getMethod("newVirtualThreadPerTaskExecutor").invoke(null) as ExecutorService
