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
 * Talks with a [peer] until it leaves, breaks a rule, or the service stops. Returns the reason that the socket was closed with,
 * or null if the peer is gone.
 */
suspend fun WebSocketSession.converse(
    peer: Peer,
    room: Room,
): CloseReason? {
    // The latest ping or pong to send. It has its own channel, so that it takes no room in the inbox.
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
 * Passes on the peer's messages, no faster than readers empty their inboxes. Returns the reason to close with, or null if the
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

/** Sends the peer the messages in its inbox, until it takes no more. */
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
        // The connection is broken or closing, so nothing more can be sent.
    }
}

/**
 * Sends the peer regular pings, until it was silent for two periods. Ktor's own pings want an answer in time, which a peer with
 * a thousand messages under way cannot give: the pong comes after them.
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

/** The time since the service last began to wait for a message from the peer. */
private class Silence {
    @Volatile
    private var since = markNow()

    val length: Duration get() = since.elapsedNow()

    fun begins() {
        since = markNow()
    }
}

/** Collects the frames of a message, up to its last one. */
private class Pieces {
    private var bytes = ByteArray(0)

    /** Returns false if the message is too large. */
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

/** Carries out a request of the peer, or tells it why not. Returns how many inboxes that took. */
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

/** The rate limit of a sending peer, so that readers can keep up. In one burst, it may fill half of an inbox. */
private class Pace(
    queue: Int,
) {
    private val ahead = COST * (queue / 2)
    private var spentUntil = markNow()

    /** Charges a message that went to this many inboxes, and waits until the next one may be sent. */
    suspend fun spend(inboxes: Int) {
        val now = markNow()
        spentUntil = maxOf(spentUntil, now) + COST * inboxes
        delay(spentUntil - now - ahead)
    }
}

/** The cost of a message for its sender, per inbox that it goes to: 5 000 of them per second. */
private val COST = 200.microseconds
// ANCHOR_END: pace

// ANCHOR: close

/** The close reason of an error. Null if the connection is broken. */
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

/** RFC 6455, section 7.4: the codes in between are only for an endpoint's log, or not assigned yet. */
private fun isSendable(code: Short): Boolean = code in 1000..1003 || code in 1007..1014 || code in 3000..4999

/** Closes the socket, and waits until the peer has confirmed it. */
private suspend fun WebSocketSession.farewell(reason: CloseReason) {
    withTimeoutOrNull(CLOSE_LIMIT) {
        close(reason)
        while (incoming.receiveCatching().isSuccess) {
            // Discard the messages that the peer sent before its close frame.
        }
        // After an invalid frame, no more frames are read, but the close frame must still be sent.
        flush()
    }
}
// ANCHOR_END: close
