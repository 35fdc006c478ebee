// What a request may look like.
package workshop.records

import io.netty.channel.ChannelHandler
import io.netty.channel.ChannelHandlerContext
import io.netty.channel.ChannelInboundHandlerAdapter
import io.netty.handler.codec.http.HttpRequest
import org.springframework.boot.reactor.netty.NettyServerCustomizer
import org.springframework.context.annotation.Bean
import org.springframework.context.annotation.Configuration
import reactor.netty.NettyPipeline

@Configuration
class Requests {
    /** What comes after Netty's codec refuses an address that cannot be decoded, before anything of this service runs. */
    @Bean
    fun unusualRequests() =
        NettyServerCustomizer { server ->
            server.doOnChannelInit { _, channel, _ ->
                channel.pipeline().addAfter(NettyPipeline.HttpCodec, "unusual requests", UnusualRequests)
            }
        }
}

@ChannelHandler.Sharable
private object UnusualRequests : ChannelInboundHandlerAdapter() {
    override fun channelRead(
        context: ChannelHandlerContext,
        message: Any,
    ) {
        if (message is HttpRequest) {
            val (path, query) = message.uri().substringBefore('#').split('?', limit = 2) + null
            message.uri = usual(path!!) + query?.let { "?${escaped(it)}" }.orEmpty()
        }
        context.fireChannelRead(message)
    }
}

/** Characters that a client has to escape, and that most do not. */
private val UNESCAPED = Regex("""[\[\]{}|\\^`"<> ]|%(?![0-9A-Fa-f]{2})""")

private fun escaped(query: String): String = query.replace(UNESCAPED) { "%%%02X".format(it.value[0].code) }
