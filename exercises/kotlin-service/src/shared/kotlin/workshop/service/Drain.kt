// Lets the requests under way finish before the service stops.
package workshop.service

import io.ktor.http.HttpHeaders
import io.ktor.server.application.Application
import io.ktor.server.application.ApplicationCallPipeline
import io.ktor.server.application.ApplicationStopPreparing
import io.ktor.server.application.createApplicationPlugin
import io.ktor.server.application.install
import io.ktor.server.response.header
import io.netty.channel.Channel
import io.netty.channel.ChannelHandlerContext
import io.netty.channel.ChannelInboundHandlerAdapter
import java.util.concurrent.atomic.AtomicInteger
import kotlin.time.Duration
import kotlin.time.TimeSource

// ANCHOR: drain

/**
 * Makes a stop wait for the requests under way, [atMost] this long. Meanwhile the [listener] takes no new connections, and
 * each answer says that it is the last one on its connection.
 *
 * The engine's own grace period does not: Netty closes every connection as soon as it is told to stop.
 */
fun Application.drainOnStop(
    listener: Listener,
    atMost: Duration,
) {
    val underWay = AtomicInteger()
    val lastAnswers =
        createApplicationPlugin("LastAnswers") {
            onCallRespond { call -> if (listener.isClosed) call.response.header(HttpHeaders.Connection, "close") }
        }
    install(lastAnswers)
    intercept(ApplicationCallPipeline.Setup) {
        underWay.incrementAndGet()
        try {
            proceed()
        } finally {
            underWay.decrementAndGet()
        }
    }
    monitor.subscribe(ApplicationStopPreparing) {
        listener.close()
        val deadline = TimeSource.Monotonic.markNow() + atMost
        do {
            val idle = underWay.get() == 0
            // Once more when idle: what has just been answered may still be on its way out.
            Thread.sleep(POLL_MS)
        } while (!idle && deadline.hasNotPassedNow())
    }
}

/** The channel that takes new connections. To be made known to Netty as the handler of the server's channel. */
class Listener : ChannelInboundHandlerAdapter() {
    private lateinit var channel: Channel

    val isClosed get() = !channel.isOpen

    override fun handlerAdded(context: ChannelHandlerContext) {
        channel = context.channel()
    }

    fun close() {
        channel.close().sync()
    }
}
// ANCHOR_END: drain

private const val POLL_MS = 10L
