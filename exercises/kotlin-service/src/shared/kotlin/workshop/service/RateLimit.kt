// A limit for a line of the log that each request of an outage would repeat.
package workshop.service

import kotlin.time.Duration
import kotlin.time.TimeMark
import kotlin.time.TimeSource

/** Admits one event per [period], and counts those in between. Called by many requests at once. */
class RateLimit(
    private val period: Duration,
    private val time: TimeSource = TimeSource.Monotonic,
) {
    private var admitted: TimeMark? = null
    private var suppressed = 0L

    /** Null when this event is not admitted, else how many were suppressed since the last one. */
    @Synchronized
    fun admit(): Long? {
        if (admitted?.let { it.elapsedNow() < period } == true) {
            suppressed += 1
            return null
        }
        admitted = time.markNow()
        return suppressed.also { suppressed = 0 }
    }
}
