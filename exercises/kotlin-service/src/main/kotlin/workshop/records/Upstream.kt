// How the service of prices is called: by a client that suspends a coroutine, or by one that blocks a thread.
package workshop.records

import io.ktor.client.HttpClient
import io.ktor.client.engine.java.Java
import io.ktor.client.request.prepareGet
import io.ktor.client.statement.bodyAsChannel
import io.ktor.utils.io.readRemaining
import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.asCoroutineDispatcher
import kotlinx.coroutines.runInterruptible
import kotlinx.io.readByteArray
import java.net.URI
import java.net.http.HttpClient.Version
import java.net.http.HttpRequest
import java.net.http.HttpResponse.BodyHandlers
import java.util.concurrent.ExecutorService
import java.util.concurrent.Executors
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

/** A waiting call is a coroutine and a connection. It holds no thread. */
class SuspendingUpstream(
    private val settings: PriceSettings,
) : Upstream {
    // One client for all requests: it keeps the connections.
    private val client =
        HttpClient(Java) {
            followRedirects = false
            engine {
                protocolVersion = Version.HTTP_1_1
                config { connectTimeout(settings.timeout.toJavaDuration()) }
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
    private val threads: CoroutineDispatcher,
) : Upstream {
    private val client =
        java.net.http.HttpClient
            .newBuilder()
            .version(Version.HTTP_1_1)
            .connectTimeout(settings.timeout.toJavaDuration())
            .build()

    override suspend fun get(path: String): UpstreamAnswer =
        // A call that is given up interrupts its thread, and that ends it.
        runInterruptible(threads) {
            val request = HttpRequest.newBuilder(URI(settings.url + path)).build()
            val response = client.send(request, BodyHandlers.ofInputStream())
            response.body().use { body -> UpstreamAnswer(response.statusCode(), body.readNBytes(MAX_PRICE_BYTES + 1)) }
        }
}
// ANCHOR_END: blocking

/** As many as servlet containers come with. */
private const val WAITING_THREADS = 200

private fun fixedThreads(): ExecutorService =
    Executors.newFixedThreadPool(WAITING_THREADS) { task -> Thread(task, "upstream").apply { isDaemon = true } }

/** By reflection: this is compiled for Java 17, and they are there from 21 on. */
private fun virtualThreads(): ExecutorService =
    Executors::class.java.getMethod("newVirtualThreadPerTaskExecutor").invoke(null) as ExecutorService
