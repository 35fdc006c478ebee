// Waits for a semaphore permit, up to a timeout.
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
            // Set inside the block: if the timeout fires just after `acquire`, the block's result is lost.
            acquired = true
        }
        return if (acquired) block() else null
    } finally {
        if (acquired) release()
    }
}
