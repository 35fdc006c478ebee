// The connections of a Netty server: tracks requests in flight, limits unknown clients, and shuts down gracefully.
package workshop.service

import io.ktor.server.application.ApplicationCall
import io.ktor.server.netty.NettyApplicationCall
import io.ktor.server.netty.NettyApplicationEngine
import io.ktor.server.routing.RoutingCall
import io.ktor.server.routing.RoutingPipelineCall
import io.netty.channel.Channel
import io.netty.channel.ChannelDuplexHandler
import io.netty.channel.ChannelFutureListener
import io.netty.channel.ChannelHandlerContext
import io.netty.channel.ChannelInboundHandlerAdapter
import io.netty.channel.ChannelPipeline
import io.netty.channel.ChannelPromise
import io.netty.channel.group.DefaultChannelGroup
import io.netty.handler.codec.http.HttpRequest
import io.netty.handler.codec.http.HttpResponse
import io.netty.handler.codec.http.HttpResponseStatus.SWITCHING_PROTOCOLS
import io.netty.handler.codec.http.HttpStatusClass
import io.netty.handler.codec.http.LastHttpContent
import io.netty.handler.timeout.WriteTimeoutHandler
import io.netty.util.AttributeKey
import io.netty.util.concurrent.GlobalEventExecutor
import java.util.concurrent.TimeUnit
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds
import kotlin.time.TimeSource.Monotonic.markNow

/** Keeps an eye on each connection of this engine. To be called when the rest of its pipeline is configured. */
fun NettyApplicationEngine.Configuration.track(connections: Connections) {
    responseWriteTimeoutSeconds = connections.limits.wait.inWholeSeconds.toInt()
    val bootstrap = configureBootstrap
    configureBootstrap = {
        bootstrap()
        handler(connections.Listener())
    }
    val pipeline = channelPipelineConfig
    channelPipelineConfig = {
        pipeline()
        addAfter("codec", "forms", HttpForms())
        addAfter("forms", "requests under way", connections.RequestsUnderWay())
    }
}

/**
 * The limits of a connection before it is known whose it is: the time for the head of a request, the first one or the next,
 * the time for the client to take an answer, and the number of open connections; more wait for their turn.
 */
class StrangerLimits(
    val wait: Duration = 10.seconds,
    val connections: Int = 1_024,
)

/** The client of this call has shown that it is allowed here. Its connection does not count as a stranger's from now on. */
fun ApplicationCall.isKnown() {
    channel()?.attr(STRANGER)?.getAndSet(null)?.invoke()
}

/** Limits the time that the client of this connection has to take what is written. */
fun ChannelPipeline.limitWrites(atMost: Duration) {
    replace(WriteTimeoutHandler::class.java, WRITE_TIMEOUT, WriteTimeoutHandler(atMost.inWholeMilliseconds, TimeUnit.MILLISECONDS))
}

/** Ktor's name for the handler. */
private const val WRITE_TIMEOUT = "timeout"

/** To be called when a connection is not a stranger's any more. */
private val STRANGER = AttributeKey.valueOf<() -> Unit>("stranger")

/** The connections of a server. */
class Connections(
    internal val limits: StrangerLimits = StrangerLimits(),
) {
    private val open = DefaultChannelGroup(GlobalEventExecutor.INSTANCE)
    private lateinit var listener: Channel

    @Volatile
    var isDraining = false
        private set

    /** Takes no more connections, and closes each one when it has its answer. */
    @Synchronized
    fun drain(atMost: Duration) {
        // On a signal, Ktor calls `drain` on two threads: the second call waits for the first one to end.
        if (isDraining) return
        isDraining = true
        listener.close().sync()
        open.forEach { it.pipeline().fireUserEventTriggered(Drain) }
        open.newCloseFuture().await(atMost.inWholeMilliseconds)
    }

    /** Sees the channel that takes new connections, and takes none while there are too many strangers. All on that channel's thread. */
    internal inner class Listener : ChannelInboundHandlerAdapter() {
        private var strangers = 0

        override fun handlerAdded(context: ChannelHandlerContext) {
            listener = context.channel()
        }

        override fun channelRead(
            context: ChannelHandlerContext,
            message: Any,
        ) {
            count(context, +1)
            val connection = message as Channel
            val stranger = connection.attr(STRANGER)
            stranger.set { context.executor().execute { count(context, -1) } }
            connection.closeFuture().addListener { stranger.getAndSet(null)?.invoke() }
            context.fireChannelRead(message)
        }

        private fun count(
            context: ChannelHandlerContext,
            more: Int,
        ) {
            strangers += more
            if (!isDraining) context.channel().config().isAutoRead = strangers < limits.connections
        }
    }

    /**
     * Counts the requests on one connection that were read and have no whole answer yet. All of it runs on the connection's
     * thread, so that none is read between the last look and the close.
     */
    internal inner class RequestsUnderWay : ChannelDuplexHandler() {
        private var underWay = 0
        private var isFinal = false
        private var idleSince = markNow()

        override fun handlerAdded(context: ChannelHandlerContext) {
            open.add(context.channel())
            closeIfIdle(context)
            closeAfter(context, limits.wait)
        }

        /** Looks now and then, since a timer for each request would cost every one of them. */
        private fun closeAfter(
            context: ChannelHandlerContext,
            time: Duration,
        ) {
            val look = {
                val left = if (underWay > 0) limits.wait else limits.wait - idleSince.elapsedNow()
                if (left.isPositive()) closeAfter(context, left) else context.close()
            }
            if (context.channel().isActive) context.executor().schedule(look, time.inWholeMilliseconds + 1, TimeUnit.MILLISECONDS)
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
            // A 1xx isn't final: a response follows `100 Continue`, and a WebSocket stays in flight after 101.
            if (message is HttpResponse) isFinal = message.status().codeClass() != HttpStatusClass.INFORMATIONAL
            if (message is HttpResponse && message.status() == SWITCHING_PROTOCOLS) becomesSocket(context)
            if (message is LastHttpContent && isFinal) promise.addListener(answered(context))
            context.write(message, promise)
        }

        private fun becomesSocket(context: ChannelHandlerContext) {
            // From here on, pings detect a peer that doesn't read, so the write timeout isn't needed.
            context.pipeline().remove(WRITE_TIMEOUT)
            context.pipeline().addBefore(context.name(), null, FrameHeads())
        }

        private fun answered(context: ChannelHandlerContext) =
            ChannelFutureListener {
                underWay--
                idleSince = markNow()
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

    /** The event for a connection when the server stops. */
    private object Drain
}

/** Null on the test host, which has no connections. */
private fun ApplicationCall.channel(): Channel? {
    val call =
        when (this) {
            is RoutingCall -> pipelineCall.engineCall
            is RoutingPipelineCall -> engineCall
            else -> this
        }
    return (call as? NettyApplicationCall)?.context?.channel()
}
