// Lets a peer into the room, over a WebSocket.
package workshop.records

import io.netty.channel.Channel
import io.netty.handler.codec.http.websocketx.WebSocket13FrameDecoder
import io.netty.handler.codec.http.websocketx.WebSocketDecoderConfig
import org.springframework.http.server.reactive.ServerHttpResponseDecorator
import org.springframework.web.bind.annotation.GetMapping
import org.springframework.web.bind.annotation.PathVariable
import org.springframework.web.bind.annotation.RequestMapping
import org.springframework.web.bind.annotation.RequestMethod.DELETE
import org.springframework.web.bind.annotation.RequestMethod.OPTIONS
import org.springframework.web.bind.annotation.RequestMethod.PATCH
import org.springframework.web.bind.annotation.RequestMethod.POST
import org.springframework.web.bind.annotation.RequestMethod.PUT
import org.springframework.web.bind.annotation.RestController
import org.springframework.web.reactive.socket.server.support.HandshakeWebSocketService
import org.springframework.web.reactive.socket.server.upgrade.ReactorNettyRequestUpgradeStrategy
import org.springframework.web.server.ServerWebExchange
import reactor.core.publisher.Mono
import reactor.netty.http.server.HttpServerResponse
import reactor.netty.http.server.WebsocketServerSpec

@RestController
class PeersRoute(
    private val room: Room,
    private val settings: PeerSettings,
) {
    /** By default a frame may have 64 kilobytes. */
    private val handshake =
        HandshakeWebSocketService(ReactorNettyRequestUpgradeStrategy { WebsocketServerSpec.builder().maxFramePayloadLength(MAX_MESSAGE_BYTES) })

    /** A route like all others: until the upgrade, what is wrong is answered with a problem. */
    @GetMapping("/peers/{name}")
    fun enter(
        @Suppress("unused") key: ApiKey,
        @PathVariable("name") text: String,
        exchange: ServerWebExchange,
    ): Mono<Void> {
        val name = peerNameOf(text)
        requireUpgrade(exchange.request)
        val peer = SinkPeer(name, settings.queue)
        room.enter(peer)
        val conversation = Conversation(peer, room) { exchange.endConnection() }
        return handshake
            .handleRequest(exchange) { session ->
                exchange.refuseReservedBits()
                conversation.handle(session)
            }.doOnError { room.leave(peer) }
    }

    @RequestMapping("/peers/{name}", method = [POST, PUT, PATCH, DELETE, OPTIONS])
    fun otherMethods(): Nothing = throw notAllowed()
}

/** Whatever is still to be written: a peer that does not read would keep it for as long as it likes. */
private fun ServerWebExchange.endConnection() = connection { it.close() }

/** Reactor Netty lets them pass for extensions, of which there are none here. */
private fun ServerWebExchange.refuseReservedBits() =
    connection {
        val strict = WebSocketDecoderConfig.newBuilder().maxFramePayloadLength(MAX_MESSAGE_BYTES)
        it.pipeline().replace(WebSocket13FrameDecoder::class.java, null, WebSocket13FrameDecoder(strict.build()))
    }

private fun ServerWebExchange.connection(use: (Channel) -> Unit) {
    ServerHttpResponseDecorator.getNativeResponse<HttpServerResponse>(response).withConnection { use(it.channel()) }
}
