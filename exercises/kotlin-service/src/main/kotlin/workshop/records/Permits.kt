// Waits for a permit, but not for long.
package workshop.records

import kotlinx.coroutines.sync.Semaphore
import kotlinx.coroutines.withTimeoutOrNull
import kotlin.time.Duration

/** Runs the [block] with a permit. Null if there is none in time, so that nothing is begun for a client that has given up. */
internal suspend fun <T : Any> Semaphore.withPermitWithin(
    timeout: Duration,
    block: suspend () -> T,
): T? {
    var acquired = false
    try {
        withTimeoutOrNull(timeout) {
            acquire()
            // Not the result: the time may be up after the permit was acquired and before this returns.
            acquired = true
        }
        return if (acquired) block() else null
    } finally {
        if (acquired) release()
    }
}
