// Waits for a permit, but not for long.
package workshop.records

import kotlinx.coroutines.sync.Semaphore
import kotlinx.coroutines.withTimeoutOrNull
import kotlin.time.Duration

/** Runs the [block] with a permit. Null when there is none in time: of many that wait, none is begun for a client that has given up. */
internal suspend fun <T : Any> Semaphore.withPermitWithin(
    timeout: Duration,
    block: suspend () -> T,
): T? {
    var acquired = false
    try {
        withTimeoutOrNull(timeout) {
            acquire()
            // Not as the result: time may be up after the permit was taken and before this returns.
            acquired = true
        }
        return if (acquired) block() else null
    } finally {
        if (acquired) release()
    }
}
