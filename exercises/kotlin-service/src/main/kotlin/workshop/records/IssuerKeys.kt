// The token issuer's keys: fetched, cached, renewed in the background, and discarded when they are too old.
package workshop.records

import io.ktor.http.HttpStatusCode
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.cancel
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.delay
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.future.await
import kotlinx.coroutines.launch
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock
import kotlinx.coroutines.withTimeoutOrNull
import org.slf4j.LoggerFactory
import kotlin.time.TimeMark
import kotlin.time.TimeSource.Monotonic.markNow

/** There is no key to verify a token with: none was fetched yet, they are too old, or the issuer has none. */
class KeysUnavailable : Exception("the keys of the issuer are not available")

/** Where the issuer publishes its keys. */
fun interface KeySource {
    /** Makes one request. */
    suspend fun get(): UpstreamAnswer
}

fun keySource(settings: KeySettings): KeySource {
    // One connection, so that two fetches never run at the same time.
    val client = plainClient(settings.timeout, connections = 1)
    return KeySource { client.call(settings.url, MAX_KEY_SET_BYTES).await().toAnswer() }
}

// ANCHOR: issuer-keys

/**
 * Caches the issuer's keys. A token with a known key never waits for the issuer.
 *
 * Written by hand: jwks-rsa keeps withdrawn keys until it misses one, and strangers' ids use up the calls that a rotation needs; Nimbus's
 * own sources of keys block the thread that asks.
 */
class IssuerKeys(
    private val source: KeySource,
    private val settings: KeySettings,
) : AutoCloseable {
    private class Known(
        val keys: Map<String, IssuerKey>,
        val since: TimeMark,
    )

    private val background = CoroutineScope(SupervisorJob() + Dispatchers.Default)

    /** One fetch at a time: an answer never replaces a newer one. */
    private val turn = Mutex()

    @Volatile
    private var known: Known? = null

    /** The fetch that an unknown id has caused, and when it has ended. */
    private var asked: Job? = null

    @Volatile
    private var askedUntil: TimeMark? = null

    /** Starts to fetch the keys, again and again. Whether the issuer answers or not, this returns at once. */
    fun keepFresh() {
        background.launch {
            while (true) {
                renew()
                delay(settings.renewal)
            }
        }
    }

    /**
     * The key with this [id], or null if the issuer has none. An unknown id may be that of a new key: then this asks the
     * issuer, and waits for the answer, but not for long.
     *
     * @throws KeysUnavailable when there is no key at all
     */
    suspend fun withId(id: String): IssuerKey? {
        inForce()[id]?.let { return it }
        ask()?.let { withTimeoutOrNull(settings.timeout) { it.join() } }
        val keys = inForce()
        if (keys.isEmpty()) throw KeysUnavailable()
        return keys[id]
    }

    /** Stops asking the issuer. */
    override fun close() = background.cancel()

    private fun inForce(): Map<String, IssuerKey> =
        known?.takeIf { it.since.elapsedNow() < settings.maxAge }?.keys.orEmpty()

    /** The fetch under way, or a new one. Null during the cooldown: anyone can send unknown ids. */
    @Synchronized
    private fun ask(): Job? {
        asked?.let { if (it.isActive) return it }
        askedUntil?.let { if (it.elapsedNow() < settings.cooldown) return null }
        return background
            .launch {
                renew()
                askedUntil = markNow()
            }.also { asked = it }
    }

    /** A set replaces the one before: a key that is missing was withdrawn. A fetch that fails changes nothing. */
    private suspend fun renew() =
        turn.withLock {
            try {
                val answer = withTimeoutOrNull(settings.timeout) { source.get() }
                val keys = answer?.takeIf { it.status == HttpStatusCode.OK.value }?.let { keysIn(it.body) }
                if (keys != null) known = Known(keys, markNow()) else logFailure(answer.complaint())
            } catch (failure: Exception) {
                currentCoroutineContext().ensureActive()
                logFailure(failure.message)
            }
        }

    private fun logFailure(reason: String?) = log.warn("the keys of the issuer did not come: {}", reason)

    private fun UpstreamAnswer?.complaint() =
        when {
            this == null -> "no answer in time"
            status != HttpStatusCode.OK.value -> "status $status"
            else -> "the answer is no set of keys"
        }

    private companion object {
        val log = LoggerFactory.getLogger(IssuerKeys::class.java)!!
    }
}
// ANCHOR_END: issuer-keys

/** The maximum size of an answer: room for more than a hundred keys. */
private const val MAX_KEY_SET_BYTES = 65_536
