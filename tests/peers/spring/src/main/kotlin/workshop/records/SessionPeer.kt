// What is sent to one peer, in turn, and without a thread that waits for it.
package workshop.records

import jakarta.websocket.RemoteEndpoint
import jakarta.websocket.Session
import org.springframework.web.socket.CloseStatus
import org.springframework.web.socket.PingMessage
import org.springframework.web.socket.TextMessage
import org.springframework.web.socket.WebSocketMessage
import org.springframework.web.socket.WebSocketSession
import org.springframework.web.socket.adapter.NativeWebSocketSession
import java.io.IOException
import java.util.concurrent.CompletableFuture
import java.util.concurrent.LinkedBlockingQueue
import java.util.concurrent.atomic.AtomicBoolean

/**
 * Spring's `ConcurrentWebSocketSessionDecorator` writes on the thread of whoever sends, so the first sender would wait for a peer
 * that does not read. Tomcat can also write in the background, one message at a time: the others wait here.
 */
class SessionPeer(
    name: String,
    queue: Int,
) : Peer(name, queue) {
    private val inbox = LinkedBlockingQueue<WebSocketMessage<*>>(queue)
    private val session = CompletableFuture<WebSocketSession>()
    private lateinit var remote: RemoteEndpoint.Async

    // Until its socket is open, messages only wait.
    private val isSending = AtomicBoolean(true)

    /** From here on it is sent what is in its inbox. */
    fun open(session: WebSocketSession) {
        val native = checkNotNull((session as NativeWebSocketSession).getNativeSession(Session::class.java))
        native.userProperties += LIMITS
        remote = native.asyncRemote
        this.session.complete(session)
        isSending.set(false)
        sendNext()
    }

    override fun offer(message: String) = offer(TextMessage(message))

    override fun ping() = offer(PingMessage())

    private fun offer(message: WebSocketMessage<*>): Boolean = inbox.offer(message).also { sendNext() }

    private fun sendNext() {
        while (isSending.compareAndSet(false, true)) {
            val message = inbox.poll()
            if (message != null) {
                send(message)
            } else {
                isSending.set(false)
                // Another one may have come since, whose sender has found this one still sending.
                if (inbox.isEmpty()) return
            }
        }
    }

    /** When the socket is closed already, nothing more is sent. */
    private fun send(message: WebSocketMessage<*>) {
        try {
            if (message is TextMessage) {
                remote.sendText(message.payload) { result -> if (result.isOK) sent() }
            } else {
                // Waits only where the socket takes nothing more at this moment, and not for long.
                remote.sendPing((message as PingMessage).payload)
                isSending.set(false)
            }
        } catch (_: IllegalStateException) {
        } catch (_: IOException) {
        }
    }

    private fun sent() {
        isSending.set(false)
        sendNext()
    }

    /** On another thread: Tomcat waits a little for a message that is on its way. */
    override fun close(code: Int) {
        session.thenAcceptAsync { it.close(CloseStatus(code)) }
    }

    private companion object {
        /** How long Tomcat waits for a peer, in milliseconds: with what cannot be written at once, and with a close. */
        val LIMITS =
            listOf("BLOCKING_SEND_TIMEOUT", "SESSION_CLOSE_TIMEOUT").associate { "org.apache.tomcat.websocket.$it" to CLOSE_LIMIT.toMillis() }
    }
}
