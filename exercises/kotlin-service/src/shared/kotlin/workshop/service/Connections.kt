// The connections of a server on Netty: which have a request under way, and what becomes of them when it stops.
package workshop.service

import io.ktor.server.netty.NettyApplicationEngine
import io.netty.channel.Channel
import io.netty.channel.ChannelDuplexHandler
import io.netty.channel.ChannelFutureListener
import io.netty.channel.ChannelHandlerContext
import io.netty.channel.ChannelInboundHandlerAdapter
import io.netty.channel.ChannelPromise
import io.netty.channel.group.DefaultChannelGroup
import io.netty.handler.codec.http.HttpRequest
import io.netty.handler.codec.http.HttpResponse
import io.netty.handler.codec.http.HttpStatusClass
import io.netty.handler.codec.http.LastHttpContent
import io.netty.util.concurrent.GlobalEventExecutor
import kotlin.time.Duration

/** Counts the requests on each connection of this engine. To be called when the rest of its pipeline is configured. */
fun NettyApplicationEngine.Configuration.track(connections: Connections) {
    val bootstrap = configureBootstrap
    configureBootstrap = {
        bootstrap()
        handler(connections.Listener())
    }
    val pipeline = channelPipelineConfig
    channelPipelineConfig = {
        pipeline()
        addAfter("codec", "requests under way", connections.RequestsUnderWay())
    }
}

/** The connections of a server. */
class Connections {
    private val open = DefaultChannelGroup(GlobalEventExecutor.INSTANCE)
    private lateinit var listener: Channel

    @Volatile
    var isDraining = false
        private set

    /** Takes no more connections, and closes each one when it has its answer. */
    fun drain(atMost: Duration) {
        isDraining = true
        listener.close().sync()
        open.forEach { it.pipeline().fireUserEventTriggered(Drain) }
        open.newCloseFuture().await(atMost.inWholeMilliseconds)
    }

    /** Sees the channel that takes new connections. */
    internal inner class Listener : ChannelInboundHandlerAdapter() {
        override fun handlerAdded(context: ChannelHandlerContext) {
            listener = context.channel()
        }
    }

    /**
     * Counts the requests on one connection that were read and have no whole answer yet. All of it runs on the connection's
     * thread, so that none is read between the last look and the close.
     */
    internal inner class RequestsUnderWay : ChannelDuplexHandler() {
        private var underWay = 0
        private var isFinal = false

        override fun handlerAdded(context: ChannelHandlerContext) {
            open.add(context.channel())
            closeIfIdle(context)
        }

        override fun channelRead(
            context: ChannelHandlerContext,
            message: Any,
        ) {
            if (message is HttpRequest) underWay++
            context.fireChannelRead(message)
        }

        override fun write(
            context: ChannelHandlerContext,
            message: Any,
            promise: ChannelPromise,
        ) {
            // `100 Continue` is no answer yet, and a connection that has become a WebSocket stays under way.
            if (message is HttpResponse) isFinal = message.status().codeClass() != HttpStatusClass.INFORMATIONAL
            if (message is LastHttpContent && isFinal) promise.addListener(answered(context))
            context.write(message, promise)
        }

        private fun answered(context: ChannelHandlerContext) =
            ChannelFutureListener {
                underWay--
                closeIfIdle(context)
            }

        override fun userEventTriggered(
            context: ChannelHandlerContext,
            event: Any,
        ) {
            if (event === Drain) closeIfIdle(context) else context.fireUserEventTriggered(event)
        }

        private fun closeIfIdle(context: ChannelHandlerContext) {
            if (isDraining && underWay == 0) context.close()
        }
    }

    /** What a connection is told when the server stops. */
    private object Drain
}
