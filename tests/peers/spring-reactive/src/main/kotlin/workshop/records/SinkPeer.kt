// What is sent to one peer: a sink that keeps as many messages as may wait for it.
package workshop.records

import org.springframework.web.reactive.socket.WebSocketMessage
import org.springframework.web.reactive.socket.WebSocketSession
import reactor.core.publisher.Flux
import reactor.core.publisher.Mono
import reactor.core.publisher.Sinks
import java.util.concurrent.LinkedBlockingQueue

class SinkPeer(
    name: String,
    queue: Int,
) : Peer(name, queue) {
    private val inbox = Sinks.many().unicast().onBackpressureBuffer<(WebSocketSession) -> WebSocketMessage>(LinkedBlockingQueue(queue))
    private val reason = Sinks.one<Int>()

    /** What it is sent. */
    fun messages(session: WebSocketSession): Flux<WebSocketMessage> = inbox.asFlux().map { it(session) }

    /** Why it has to leave, once it does. */
    val closing: Mono<Int> = reason.asMono()

    override fun offer(message: String) = offer { it.textMessage(message) }

    override fun ping() = offer { it.pingMessage { buffers -> buffers.wrap(ByteArray(0)) } }

    /** One at a time: a sink refuses what comes from two threads at once. */
    private fun offer(message: (WebSocketSession) -> WebSocketMessage) = synchronized(inbox) { inbox.tryEmitNext(message) }.isSuccess

    override fun close(code: Int) {
        reason.tryEmitValue(code)
    }
}
