// Tracks how much of a response has been sent. By itself, Ktor buffers megabytes before any backpressure.
package workshop.records

import io.ktor.server.netty.NettyApplicationCall
import io.ktor.server.routing.RoutingCall
import io.netty.channel.ChannelHandlerContext
import io.netty.channel.ChannelOutboundHandlerAdapter
import io.netty.channel.ChannelPromise
import io.netty.handler.codec.http.HttpContent
import kotlinx.coroutines.flow.MutableStateFlow
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.update
import workshop.service.limitWrites
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds

// ANCHOR: delivery

/** The delivery of a response's body to the client. */
internal fun interface Delivery {
    /** Returns when this many bytes are no longer in the memory of this process. */
    suspend fun await(bytes: Long)
}

/** The delivery of the response that is about to begin, to a client that may take this long for each chunk. */
internal fun RoutingCall.delivery(clientTimeout: Duration): Delivery {
    // The test host has no Netty connection: it keeps responses in memory.
    val netty = (pipelineCall.engineCall as? NettyApplicationCall)?.context ?: return Delivery {}
    // Longer than the client timeout, so that a stalled client can still read why its export has ended.
    netty.pipeline().limitWrites(clientTimeout + LAST_LINE_TIMEOUT)
    val counter =
        netty.pipeline().get(DeliveryCounter::class.java)
            ?: DeliveryCounter().also { netty.pipeline().addBefore(netty.name(), null, it) }
    val before = counter.delivered.value
    return Delivery { bytes -> counter.delivered.first { it >= before + bytes } }
}

/** How long the last line waits for the client. */
private val LAST_LINE_TIMEOUT = 10.seconds

/** Counts what Netty has handed to the operating system, over all responses on one connection. */
private class DeliveryCounter : ChannelOutboundHandlerAdapter() {
    val delivered = MutableStateFlow(0L)

    override fun write(
        context: ChannelHandlerContext,
        message: Any,
        promise: ChannelPromise,
    ) {
        if (message is HttpContent) {
            val bytes = message.content().readableBytes()
            promise.addListener { write -> if (write.isSuccess) delivered.update { it + bytes } }
        }
        context.write(message, promise)
    }
}
// ANCHOR_END: delivery
