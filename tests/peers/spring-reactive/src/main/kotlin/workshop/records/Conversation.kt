// The conversation with one peer, from the upgrade to the close.
package workshop.records

import io.netty.handler.codec.TooLongFrameException
import org.springframework.core.io.buffer.DataBuffer
import org.springframework.web.reactive.socket.CloseStatus
import org.springframework.web.reactive.socket.WebSocketHandler
import org.springframework.web.reactive.socket.WebSocketMessage
import org.springframework.web.reactive.socket.WebSocketSession
import reactor.core.publisher.Mono
import java.time.Duration

/** Netty answers pings, and closes a socket whose frames are wrong. [end] ends the connection, whether it is closed or not. */
class Conversation(
    private val peer: SinkPeer,
    private val room: Room,
    private val end: () -> Unit,
) : WebSocketHandler {
    /** Goes on until the peer has gone. Then, or when it takes no more, the rest is cancelled. */
    override fun handle(session: WebSocketSession): Mono<Void> =
        Mono
            .firstWithSignal(listen(session), speak(session), close(session))
            .onErrorComplete()
            .doFinally {
                room.leave(peer)
                end()
            }

    /** Passes on what the peer says. When the socket is being closed, nothing more comes in, and the close is still to go out. */
    private fun listen(session: WebSocketSession): Mono<Void> =
        session
            .receive()
            .map { if (peer.gone.isDone) Duration.ZERO else hear(it) }
            .concatMap({ wait -> if (wait.isZero) Mono.empty() else Mono.delay(wait) }, 1)
            .onErrorResume(TooLongFrameException::class.java) {
                room.leave(peer)
                peer.close(CloseCode.TOO_BIG)
                Mono.empty()
            }.then(Mono.defer { if (peer.gone.isDone) Mono.never() else Mono.empty() })

    /** How long it has to wait before it may say more. */
    private fun hear(message: WebSocketMessage): Duration {
        peer.isThere = true
        return when (message.type) {
            WebSocketMessage.Type.TEXT -> message.payload.text()?.let { room.passOn(peer, it) } ?: closed(CloseCode.BAD_DATA)
            WebSocketMessage.Type.BINARY -> closed(CloseCode.NOT_ACCEPTABLE)
            WebSocketMessage.Type.PING, WebSocketMessage.Type.PONG -> Duration.ZERO
        }
    }

    private fun closed(code: Int): Duration {
        peer.close(code)
        return Duration.ZERO
    }

    private fun speak(session: WebSocketSession): Mono<Void> = session.send(peer.messages(session)).then(Mono.never())

    /** Once there is a reason. Netty ends the connection when the close is written, which a peer that does not read prevents. */
    private fun close(session: WebSocketSession): Mono<Void> =
        peer.closing
            .doOnNext { room.leave(peer) }
            .flatMap { code -> session.close(CloseStatus(code)).timeout(CLOSE_LIMIT, Mono.empty()) }
}

/** Null when it is not UTF-8: Spring would make something of it that is. */
private fun DataBuffer.text(): String? =
    try {
        ByteArray(readableByteCount()).also(::read).decodeToString(throwOnInvalidSequence = true)
    } catch (_: CharacterCodingException) {
        null
    }
