// How a request is understood before a route sees it: its method, its path and its query.
package workshop.records

import io.ktor.http.HttpStatusCode
import io.ktor.http.decodeURLQueryComponent
import io.ktor.server.application.Application
import io.ktor.server.application.createApplicationPlugin
import io.ktor.server.application.install
import io.ktor.server.netty.NettyApplicationEngine
import io.ktor.server.request.ApplicationRequest
import io.ktor.server.request.httpMethod
import io.ktor.server.request.queryString
import io.ktor.server.routing.IgnoreTrailingSlash
import io.netty.channel.ChannelHandler
import io.netty.channel.ChannelHandlerContext
import io.netty.channel.ChannelInboundHandlerAdapter
import io.netty.handler.codec.http.HttpHeaderNames
import io.netty.handler.codec.http.HttpMethod
import io.netty.handler.codec.http.HttpRequest
import workshop.service.ProblemException

// ANCHOR: requests

/**
 * Makes the service understand a request as the port does: this is compatibility with Rocket, and no service needs it by itself.
 * Rocket refuses methods that it does not know as malformed, and ignores a slash at the end of a path.
 */
fun Application.requests() {
    install(KnownMethods)
    install(IgnoreTrailingSlash)
}

private val METHODS = setOf("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT")

private val KnownMethods =
    createApplicationPlugin("KnownMethods") {
        onCall { call ->
            if (call.request.httpMethod.value !in METHODS) {
                throw ProblemException(HttpStatusCode.BadRequest, "the request is malformed")
            }
        }
    }

/** The first parameter of this name. Ktor's own look-up takes `Name` for `name`. */
internal fun ApplicationRequest.queryParameter(name: String): String? = encodedQueryParameter(name)?.decodeLeniently()

/** The same, still encoded as in the query. */
internal fun ApplicationRequest.encodedQueryParameter(name: String): String? =
    queryString()
        .splitToSequence('&')
        .map { it.split('=', limit = 2) }
        .firstOrNull { it.first().decodeLeniently() == name }
        ?.let { it.getOrElse(1) { "" } }

/** A percent sign without two hexadecimal digits stands for itself. */
private fun String.decodeLeniently() =
    replace(BROKEN, "%25").replaceStrayPercent("%25").decodeURLQueryComponent(plusIsSpace = true)

/** Most texts have no percent sign at all, and no need of the regular expression. */
private fun String.replaceStrayPercent(by: String) = if ('%' in this) replace(STRAY_PERCENT, by) else this

/**
 * Lets requests pass that Ktor would refuse and Rocket does not: long ones, and those with a percent sign without two
 * hexadecimal digits. This, too, is only compatibility.
 */
fun NettyApplicationEngine.Configuration.acceptUnusualRequests() {
    maxInitialLineLength = 65_536
    maxHeaderSize = 400 * 1024
    channelPipelineConfig = { addAfter("codec", "unusual requests", UnusualRequests) }
}

/**
 * Marks stray percent signs, and drops the fragment, which a client should have kept to itself. A HEAD has nothing to go on
 * with: were Netty to answer `100 Continue`, it would forget that it was a HEAD, and send the body of the answer.
 */
@ChannelHandler.Sharable
private object UnusualRequests : ChannelInboundHandlerAdapter() {
    override fun channelRead(
        context: ChannelHandlerContext,
        message: Any,
    ) {
        if (message is HttpRequest) {
            message.uri = message.uri().substringBefore('#').replaceStrayPercent(BROKEN)
            if (message.method() == HttpMethod.HEAD) message.headers().remove(HttpHeaderNames.EXPECT)
        }
        context.fireChannelRead(message)
    }
}

/** A percent sign without two hexadecimal digits. */
internal val STRAY_PERCENT = Regex("%(?![0-9A-Fa-f]{2})")

/** What Ktor sees instead. It decodes to bytes that are not UTF-8, so the route that needs the value still sees that it is broken. */
private const val BROKEN = "%25%FF"
// ANCHOR_END: requests
