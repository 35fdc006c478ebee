// The conversation with one peer, from the upgrade to the close.
package workshop.records

import org.springframework.web.socket.CloseStatus
import org.springframework.web.socket.PongMessage
import org.springframework.web.socket.TextMessage
import org.springframework.web.socket.WebSocketSession
import org.springframework.web.socket.handler.TextWebSocketHandler

/** Tomcat answers pings, and closes a socket whose frames are wrong; Spring closes one that sends bytes. */
class Conversation(
    private val peer: SessionPeer,
    private val room: Room,
) : TextWebSocketHandler() {
    override fun afterConnectionEstablished(session: WebSocketSession) {
        session.textMessageSizeLimit = MAX_MESSAGE_BYTES
        session.binaryMessageSizeLimit = MAX_MESSAGE_BYTES
        peer.open(session)
    }

    override fun handleTextMessage(
        session: WebSocketSession,
        message: TextMessage,
    ) {
        peer.isThere = true
        // Tomcat has counted characters.
        if (message.payloadLength > MAX_MESSAGE_BYTES) return session.close(CloseStatus.TOO_BIG_TO_PROCESS)
        // Tomcat reads no more of this peer meanwhile. It takes a thread, as everything that waits does here.
        Thread.sleep(room.passOn(peer, message.payload).toMillis())
    }

    override fun handlePongMessage(
        session: WebSocketSession,
        message: PongMessage,
    ) {
        peer.isThere = true
    }

    override fun afterConnectionClosed(
        session: WebSocketSession,
        status: CloseStatus,
    ) = room.leave(peer)
}
