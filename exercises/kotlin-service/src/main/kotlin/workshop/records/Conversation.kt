// The conversation with one peer, from the upgrade to the close.
package workshop.records

import io.ktor.websocket.CloseReason
import io.ktor.websocket.Frame
import io.ktor.websocket.FrameTooBigException
import io.ktor.websocket.ProtocolViolationException
import io.ktor.websocket.WebSocketSession
import io.ktor.websocket.close
import io.ktor.websocket.readReason
import kotlinx.coroutines.async
import kotlinx.coroutines.cancelChildren
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.channels.ClosedSendChannelException
import kotlinx.coroutines.channels.ReceiveChannel
import kotlinx.coroutines.channels.SendChannel
import kotlinx.coroutines.channels.getOrElse
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.selects.select
import kotlinx.coroutines.withTimeoutOrNull
import kotlinx.serialization.json.Json
import kotlin.time.Duration
import kotlin.time.Duration.Companion.microseconds
import kotlin.time.Duration.Companion.seconds
import kotlin.time.TimeSource.Monotonic.markNow

/** How long a peer may take to confirm a close. */
private val CLOSE_LIMIT = 1.seconds

// ANCHOR: converse

/**
 * Talks with a [peer] until it leaves, does something that it must not, or the service stops. Returns the reason that it was closed with,
 * or null when the peer is gone.
 */
suspend fun WebSocketSession.converse(
    peer: Peer,
    room: Room,
): CloseReason? {
    // The last ping or pong that is to be sent: it needs no place in the inbox.
    val control = Channel<Frame>(Channel.CONFLATED)
    val silence = Silence()
    val reason =
        coroutineScope {
            val listening = async { listen(peer, room, control, silence) }
            val speaking = async { speak(peer, control) }
            val asking = async { ask(room.pingPeriod, control, silence) }
            select {
                listening.onAwait { it }
                speaking.onAwait { null }
                asking.onAwait { null }
                peer.removed.onAwait { it }
            }.also { coroutineContext.cancelChildren() }
        }
    room.leave(peer)
    if (reason != null) farewell(reason)
    return reason
}

/**
 * Passes on what the peer says, at a pace at which those who read empty their inboxes. Returns the reason to close with, or null when the
 * peer is gone.
 */
private suspend fun WebSocketSession.listen(
    peer: Peer,
    room: Room,
    control: SendChannel<Frame>,
    silence: Silence,
): CloseReason? {
    val pace = Pace(room.queue)
    val pieces = Pieces()
    while (true) {
        silence.begins()
        when (val frame = incoming.receiveCatching().getOrElse { return reasonFor(it) }) {
            is Frame.Text -> {
                if (!pieces.add(frame)) return CloseReason(CloseReason.Codes.TOO_BIG, "")
                if (!frame.fin) continue
                val text = pieces.take() ?: return CloseReason(CloseReason.Codes.NOT_CONSISTENT, "")
                pace.spend(room.passOn(peer, text))
            }
            is Frame.Binary -> return CloseReason(CloseReason.Codes.CANNOT_ACCEPT, "")
            is Frame.Ping -> control.send(Frame.Pong(frame.data))
            is Frame.Pong -> continue
            is Frame.Close -> {
                confirm(frame)
                return null
            }
        }
    }
}

/** Sends the peer what is in its inbox, until it takes no more. */
private suspend fun WebSocketSession.speak(
    peer: Peer,
    control: ReceiveChannel<Frame>,
) {
    try {
        while (true) {
            val frame =
                select {
                    control.onReceive { it }
                    peer.inbox.onReceive { Frame.Text(it) }
                }
            outgoing.send(frame)
        }
    } catch (_: ClosedSendChannelException) {
        // The connection is broken, or is being closed.
    }
}

/**
 * Sends the peer a ping from time to time, until it was silent for two periods. Ktor's own pings want an answer in time, which a peer
 * cannot give that has a thousand messages under way: the pong comes after them.
 */
private suspend fun ask(
    period: Duration,
    control: SendChannel<Frame>,
    silence: Silence,
) {
    while (silence.length < period * 2) {
        delay(period)
        control.send(Frame.Ping(ByteArray(0)))
    }
}
// ANCHOR_END: converse

/** How long the peer has not been heard while it was listened to. */
private class Silence {
    @Volatile
    private var since = markNow()

    val length: Duration get() = since.elapsedNow()

    fun begins() {
        since = markNow()
    }
}

/** The frames of a message, until its last one has come. */
private class Pieces {
    private var bytes = ByteArray(0)

    /** False when the message is too large. */
    fun add(frame: Frame): Boolean {
        if (bytes.size + frame.data.size > MAX_MESSAGE_BYTES) return false
        bytes += frame.data
        return true
    }

    /** Null when it is not UTF-8. */
    fun take(): String? =
        try {
            bytes.decodeToString(throwOnInvalidSequence = true)
        } catch (_: CharacterCodingException) {
            null
        } finally {
            bytes = ByteArray(0)
        }
}

// ANCHOR: pass-on

/** Does what the peer asks for, or tells it why not. Says how many inboxes that took. */
private fun Room.passOn(
    peer: Peer,
    json: String,
): Int {
    val message = parseMessage(json)
    return when {
        message == null -> complain(peer, Complaint.NO_MESSAGE)
        message.isTooLong -> complain(peer, Complaint.TOO_LONG)
        else -> passOn(peer, message)
    }
}

private fun Room.passOn(
    peer: Peer,
    message: PeerMessage,
): Int {
    val delivered = Json.encodeToString(DeliveredMessage(peer.name, message.text))
    if (message.to == null) return broadcast(peer, delivered)
    return if (send(message.to, delivered)) 1 else complain(peer, Complaint.nobody(message.to))
}

private fun Room.complain(
    peer: Peer,
    complaint: Complaint,
): Int {
    send(peer.name, Json.encodeToString(complaint))
    return 1
}
// ANCHOR_END: pass-on

// ANCHOR: pace

/** How fast a peer may send, so that those who read can keep up with it. At once, it may fill half of an inbox. */
private class Pace(
    queue: Int,
) {
    private val ahead = COST * (queue / 2)
    private var spentUntil = markNow()

    /** Spends what a message costs that went to so many inboxes, and waits until the next one may be sent. */
    suspend fun spend(inboxes: Int) {
        val now = markNow()
        spentUntil = maxOf(spentUntil, now) + COST * inboxes
        delay(spentUntil - now - ahead)
    }
}

/** What a message costs its sender for each inbox that it goes to: 5 000 of them per second. */
private val COST = 200.microseconds
// ANCHOR_END: pace

// ANCHOR: close

/** What an error is called in a close. Null when the connection is broken. */
private fun reasonFor(error: Throwable?): CloseReason? =
    when (error) {
        is FrameTooBigException -> CloseReason(CloseReason.Codes.TOO_BIG, "")
        is ProtocolViolationException -> CloseReason(CloseReason.Codes.PROTOCOL_ERROR, "")
        else -> null
    }

/** Confirms the peer's close, with the same code if it has one that may be sent. */
private suspend fun WebSocketSession.confirm(close: Frame.Close) {
    val reason =
        when (val reason = close.readReason()) {
            null -> CloseReason(CloseReason.Codes.NORMAL, "")
            else -> if (isSendable(reason.code)) reason else CloseReason(CloseReason.Codes.PROTOCOL_ERROR, "")
        }
    withTimeoutOrNull(CLOSE_LIMIT) { close(reason) }
}

/** RFC 6455, 7.4: the codes between are for the log of an endpoint, or not given to anything yet. */
private fun isSendable(code: Short): Boolean = code in 1000..1003 || code in 1007..1014 || code in 3000..4999

/** Closes the socket, and waits until the peer has confirmed it. */
private suspend fun WebSocketSession.farewell(reason: CloseReason) {
    withTimeoutOrNull(CLOSE_LIMIT) {
        close(reason)
        while (incoming.receiveCatching().isSuccess) {
            // What it had sent before comes first.
        }
        // After a wrong frame nothing comes in, and the close is still on its way out.
        flush()
    }
}
// ANCHOR_END: close
