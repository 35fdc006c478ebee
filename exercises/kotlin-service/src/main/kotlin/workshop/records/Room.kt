// The room: keeps track of its peers, and delivers a message to one peer or to all others.
package workshop.records

import io.ktor.websocket.CloseReason
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.channels.Channel
import java.util.concurrent.ConcurrentHashMap
import kotlin.time.Duration

// ANCHOR: room

/** All peers that are connected. */
class Room(
    private val settings: PeerSettings,
) {
    private val peers = ConcurrentHashMap<String, Peer>()

    @Volatile
    private var isClosing = false

    val pingPeriod: Duration get() = settings.pingPeriod

    /** How many messages may wait for a peer. */
    val queue: Int get() = settings.queue

    /** Lets a peer in. Null while another one has the [name]. */
    fun enter(name: String): Peer? {
        val peer = Peer(name, settings.queue)
        if (peers.putIfAbsent(name, peer) != null) return null
        if (isClosing) peer.removed.complete(GOING_AWAY)
        return peer
    }

    /** Lets a peer out, if it is still in: another one may have its name by now. */
    fun leave(peer: Peer) {
        peers.remove(peer.name, peer)
    }

    /**
     * Puts a message into the inbox of one peer, and returns whether there is one. It never waits: a peer whose inbox is
     * full does not read, and is removed.
     */
    fun send(
        to: String,
        message: String,
    ): Boolean = peers[to]?.let { deliver(it, message) } ?: false

    /** Puts a message into the inboxes of all peers but this one, and says how many are in the room. */
    fun broadcast(
        from: Peer,
        message: String,
    ): Int {
        peers.values.forEach { if (it !== from) deliver(it, message) }
        return peers.size
    }

    /** Asks all peers to leave: the service stops. */
    fun close() {
        isClosing = true
        peers.values.forEach { it.removed.complete(GOING_AWAY) }
    }

    private fun deliver(
        peer: Peer,
        message: String,
    ): Boolean {
        val sent = peer.inbox.trySend(message).isSuccess
        if (!sent) {
            leave(peer)
            peer.removed.complete(TRY_AGAIN_LATER)
        }
        return sent
    }
}

/** A peer in the room. */
class Peer(
    val name: String,
    queue: Int,
) {
    /** The messages that wait for it. */
    val inbox = Channel<String>(queue)

    /** Completes with the reason when the room removes it. */
    val removed = CompletableDeferred<CloseReason>()
}
// ANCHOR_END: room

private val GOING_AWAY = CloseReason(CloseReason.Codes.GOING_AWAY, "")
private val TRY_AGAIN_LATER = CloseReason(CloseReason.Codes.TRY_AGAIN_LATER, "")
