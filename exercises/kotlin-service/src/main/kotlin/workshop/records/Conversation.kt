// The conversation with one peer, from the upgrade to the close.
package workshop.records

import io.ktor.websocket.CloseReason
import io.ktor.websocket.DefaultWebSocketSession
import io.ktor.websocket.Frame
import io.ktor.websocket.FrameTooBigException
import io.ktor.websocket.ProtocolViolationException
import io.ktor.websocket.close
import kotlinx.coroutines.async
import kotlinx.coroutines.cancelChildren
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.selects.select
import kotlinx.coroutines.withTimeoutOrNull
import kotlinx.io.IOException
import kotlinx.serialization.json.Json
import kotlin.time.Duration.Companion.microseconds
import kotlin.time.Duration.Companion.seconds
import kotlin.time.TimeSource

/** How long a peer may take to confirm a close. */
private val CLOSE_LIMIT = 1.seconds

// ANCHOR: converse

/**
 * Talks with a [peer] until it leaves, does something that it must not, or the service stops. Returns the reason that it was closed with,
 * or null when the peer is gone.
 */
suspend fun DefaultWebSocketSession.converse(
    peer: Peer,
    room: Room,
): CloseReason? {
    val reason =
        coroutineScope {
            val listening = async { listen(peer, room) }
            val speaking = async { speak(peer) }
            select {
                listening.onAwait { it }
                speaking.onAwait { null }
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
private suspend fun DefaultWebSocketSession.listen(
    peer: Peer,
    room: Room,
): CloseReason? {
    val pace = Pace(room.queue)
    try {
        for (frame in incoming) {
            if (frame !is Frame.Text) return CloseReason(CloseReason.Codes.CANNOT_ACCEPT, "")
            pace.spend(room.passOn(peer, frame.data.decodeToString(throwOnInvalidSequence = true)))
        }
        return null
    } catch (_: CharacterCodingException) {
        return CloseReason(CloseReason.Codes.NOT_CONSISTENT, "")
    } catch (_: FrameTooBigException) {
        return CloseReason(CloseReason.Codes.TOO_BIG, "")
    } catch (_: ProtocolViolationException) {
        return CloseReason(CloseReason.Codes.PROTOCOL_ERROR, "")
    } catch (_: IOException) {
        // The connection is broken, or a ping had no answer.
        return null
    }
}

/** Sends the peer what is in its inbox, until it takes no more. Ktor sends the pings. */
private suspend fun DefaultWebSocketSession.speak(peer: Peer) {
    for (message in peer.inbox) outgoing.send(Frame.Text(message))
}
// ANCHOR_END: converse

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
    private var spentUntil = TimeSource.Monotonic.markNow()

    /** Spends what a message costs that went to so many inboxes, and waits until the next one may be sent. */
    suspend fun spend(inboxes: Int) {
        val now = TimeSource.Monotonic.markNow()
        spentUntil = maxOf(spentUntil, now) + COST * inboxes
        delay(spentUntil - now - ahead)
    }
}

/** What a message costs its sender for each inbox that it goes to: 5 000 of them per second. */
private val COST = 200.microseconds
// ANCHOR_END: pace

// ANCHOR: close

/** Closes the socket, and waits until the peer has confirmed it. */
private suspend fun DefaultWebSocketSession.farewell(reason: CloseReason) {
    withTimeoutOrNull(CLOSE_LIMIT) {
        close(reason)
        while (incoming.receiveCatching().isSuccess) {
            // What it had sent before comes first.
        }
        // After a frame that is too large nothing comes in, and the close is still on its way out.
        closeReason.await()
        flush()
    }
}
// ANCHOR_END: close
