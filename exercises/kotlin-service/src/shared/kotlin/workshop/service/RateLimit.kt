// A rate limit for log lines that every request would repeat during an outage.
package workshop.service

import java.util.concurrent.ConcurrentHashMap
import kotlin.time.Duration
import kotlin.time.TimeMark
import kotlin.time.TimeSource

/** Admits one event per [period] for each cause, and counts those in between. Called by many requests at once. */
class RateLimit(
    private val period: Duration,
    private val time: TimeSource = TimeSource.Monotonic,
) {
    private class Events {
        var admitted: TimeMark? = null
        var suppressed = 0L
    }

    private val causes = ConcurrentHashMap<Any, Events>()

    /** Null when this event is not admitted, else how many of its [cause] were suppressed since the last one. */
    fun admit(cause: Any): Long? {
        val events = causes.computeIfAbsent(cause) { Events() }
        synchronized(events) {
            if (events.admitted?.let { it.elapsedNow() < period } == true) {
                events.suppressed += 1
                return null
            }
            events.admitted = time.markNow()
            return events.suppressed.also { events.suppressed = 0 }
        }
    }
}
