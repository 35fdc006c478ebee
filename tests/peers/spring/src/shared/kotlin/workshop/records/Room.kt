// The room: which peers are in it, how a message gets to one of them or to all others, and who has to leave it.
package workshop.records

import org.springframework.boot.context.properties.ConfigurationProperties
import org.springframework.context.event.ContextClosedEvent
import org.springframework.context.event.EventListener
import org.springframework.http.HttpStatus
import org.springframework.scheduling.concurrent.ThreadPoolTaskScheduler
import org.springframework.stereotype.Component
import java.time.Duration
import java.time.Instant
import java.util.concurrent.CompletableFuture
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.Future
import java.util.concurrent.TimeUnit

/** At most [queue] messages wait for a peer, and it is asked every [ping] whether it is still there. */
@ConfigurationProperties("peers")
class PeerSettings(
    val queue: Int,
    val ping: Duration,
)

/** How long a peer may take to be closed. */
val CLOSE_LIMIT: Duration = Duration.ofSeconds(1)

/** Why a socket is closed, in the numbers of RFC 6455. */
object CloseCode {
    const val GOING_AWAY = 1001
    const val NOT_ACCEPTABLE = 1003
    const val BAD_DATA = 1007
    const val TOO_BIG = 1009
    const val TRY_AGAIN_LATER = 1013
}

/** A peer in the room. Each stack has its own way to talk with it. Nothing here waits for the peer. */
abstract class Peer(
    val name: String,
    queue: Int,
) {
    /** How fast it may send. */
    val pace = Pace(queue)

    /** Set by every sign of the peer, and taken back when it is asked for another. */
    @Volatile
    var isThere = true

    /** Done when it has left. */
    val gone = CompletableFuture<Unit>()

    /** Its pings, until it leaves. */
    @Volatile
    var pings: Future<*>? = null

    /** Puts a message into its inbox, and says whether there was a place for it. */
    abstract fun offer(message: String): Boolean

    /** The same with a ping. */
    abstract fun ping(): Boolean

    /** Closes its connection. Only the first time counts. */
    abstract fun close(code: Int)
}

/** The rate limit of a sending peer, so that readers can keep up. In one burst, it may fill half of an inbox. */
class Pace(
    queue: Int,
) {
    private val ahead = COST * (queue / 2)
    private var spentUntil = System.nanoTime()

    /** Spends what a message costs that went to so many inboxes, and says how long the next one has to wait. */
    fun spend(inboxes: Int): Duration {
        val now = System.nanoTime()
        spentUntil = maxOf(spentUntil, now) + COST * inboxes
        return Duration.ofNanos(maxOf(0, spentUntil - now - ahead))
    }

    private companion object {
        /** What a message costs its sender for each inbox that it goes to, in nanoseconds: 5 000 of them per second. */
        const val COST = 200_000L
    }
}

/** All peers that are connected. */
@Component
class Room(
    private val settings: PeerSettings,
) {
    private val peers = ConcurrentHashMap<String, Peer>()

    @Volatile
    private var isClosing = false

    private val clock =
        ThreadPoolTaskScheduler().apply {
            setThreadNamePrefix("pings-")
            isDaemon = true
            // What belongs to a peer that has left would stay in memory until its time.
            isRemoveOnCancelPolicy = true
            initialize()
        }

    /** Lets a peer in, unless another one has its name. */
    fun enter(peer: Peer) {
        if (peers.putIfAbsent(peer.name, peer) != null) throw ProblemException(HttpStatus.CONFLICT, "another peer has this name")
        // Each from its own beginning, or all would be asked in the same moment.
        peer.pings = clock.scheduleWithFixedDelay({ ask(peer) }, Instant.now() + settings.ping, settings.ping)
        if (isClosing) peer.close(CloseCode.GOING_AWAY)
    }

    /** Lets a peer out, if it is still in: another one may have its name by now. */
    fun leave(peer: Peer) {
        peers.remove(peer.name, peer)
        peer.pings?.cancel(false)
        peer.gone.complete(Unit)
    }

    /** Does what the peer asks for, or tells it why not. Says how long the peer has to wait before it may say more. */
    fun passOn(
        peer: Peer,
        json: String,
    ): Duration {
        val message = parseMessage(json)
        val complaint =
            when {
                message == null -> Complaint.NO_MESSAGE
                message.isTooLong -> Complaint.TOO_LONG
                else -> passOn(peer, message)
            }
        if (complaint != null) deliver(peer, complaint)
        val isForAll = message != null && message.to == null
        return peer.pace.spend(if (isForAll) peers.size else 1)
    }

    private fun passOn(
        peer: Peer,
        message: PeerMessage,
    ): String? {
        val delivered = delivered(peer.name, message.text)
        if (message.to == null) {
            peers.values.forEach { if (it !== peer) deliver(it, delivered) }
            return null
        }
        val isDelivered = peers[message.to]?.let { deliver(it, delivered) } ?: false
        return if (isDelivered) null else Complaint.nobody(message.to)
    }

    /** Never waits: a peer whose inbox is full does not read, and is removed. */
    private fun deliver(
        peer: Peer,
        message: String,
    ): Boolean = peer.offer(message).also { if (!it) remove(peer, CloseCode.TRY_AGAIN_LATER) }

    /** A peer that has said nothing since it was asked last is not there any more. */
    private fun ask(peer: Peer) {
        if (!peer.isThere) return remove(peer, CloseCode.GOING_AWAY)
        peer.isThere = false
        if (!peer.ping()) remove(peer, CloseCode.TRY_AGAIN_LATER)
    }

    private fun remove(
        peer: Peer,
        code: Int,
    ) {
        leave(peer)
        peer.close(code)
    }

    /** Asks all peers to leave when the service stops, before the server closes their connections. */
    @EventListener(ContextClosedEvent::class)
    fun close() {
        isClosing = true
        clock.shutdown()
        val leaving = peers.values.toList()
        leaving.forEach { it.close(CloseCode.GOING_AWAY) }
        val allGone = CompletableFuture.allOf(*leaving.map { it.gone }.toTypedArray())
        allGone.completeOnTimeout(null, CLOSE_LIMIT.toMillis(), TimeUnit.MILLISECONDS).join()
    }
}
