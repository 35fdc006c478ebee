// HTTP features that Ktor lacks: absolute-form targets, responses to HTTP/1.0 clients, and closing after `Connection: close`.
package workshop.service

import io.netty.channel.ChannelDuplexHandler
import io.netty.channel.ChannelFutureListener
import io.netty.channel.ChannelHandlerContext
import io.netty.channel.ChannelPromise
import io.netty.handler.codec.http.HttpHeaderNames
import io.netty.handler.codec.http.HttpHeaderValues
import io.netty.handler.codec.http.HttpRequest
import io.netty.handler.codec.http.HttpResponse
import io.netty.handler.codec.http.HttpUtil
import io.netty.handler.codec.http.HttpVersion
import io.netty.handler.codec.http.LastHttpContent

/** Comes after the codec, so that everything behind it sees and writes the usual forms. */
internal class HttpForms : ChannelDuplexHandler() {
    private var endsConnection = false

    override fun channelRead(
        context: ChannelHandlerContext,
        message: Any,
    ) {
        if (message is HttpRequest) message.uri = message.uri().withoutHost()
        context.fireChannelRead(message)
    }

    override fun write(
        context: ChannelHandlerContext,
        message: Any,
        promise: ChannelPromise,
    ) {
        if (message is HttpResponse) {
            if (message.protocolVersion() == HttpVersion.HTTP_1_0 && HttpUtil.isTransferEncodingChunked(message)) {
                // An HTTP/1.0 client would mistake the chunk sizes for part of the body. Closing the connection ends the body instead.
                HttpUtil.setTransferEncodingChunked(message, false)
                message.headers().set(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE)
            }
            endsConnection = message.headers().containsValue(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE, true)
        }
        if (message is LastHttpContent && endsConnection) promise.addListener(ChannelFutureListener.CLOSE)
        context.write(message, promise)
    }
}

private val SCHEME_AND_HOST = Regex("^https?://[^/?#]*", RegexOption.IGNORE_CASE)

/** `http://user:password@host/path` as `/path`: a server has to take both (RFC 9112, 3.2.2), and the log only the path. */
private fun String.withoutHost(): String {
    if (startsWith('/')) return this
    val rest = replaceFirst(SCHEME_AND_HOST, "")
    return if (rest == this || rest.startsWith('/')) rest else "/$rest"
}
