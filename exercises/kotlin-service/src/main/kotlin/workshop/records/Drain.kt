// Lets the requests under way finish before the service stops.
package workshop.records

import io.ktor.server.application.Application
import io.ktor.server.application.ApplicationCallPipeline
import io.ktor.server.application.ApplicationStopPreparing
import java.util.concurrent.atomic.AtomicInteger
import kotlin.time.Duration
import kotlin.time.TimeSource

/**
 * Makes a stop wait for the requests under way, [atMost] this long.
 *
 * The engine's own grace period does not: Netty closes every connection as soon as it is told to stop.
 */
fun Application.drainOnStop(atMost: Duration) {
    val underWay = AtomicInteger()
    intercept(ApplicationCallPipeline.Setup) {
        underWay.incrementAndGet()
        try {
            proceed()
        } finally {
            underWay.decrementAndGet()
        }
    }
    monitor.subscribe(ApplicationStopPreparing) {
        val deadline = TimeSource.Monotonic.markNow() + atMost
        do Thread.sleep(POLL_MS) while (underWay.get() > 0 && deadline.hasNotPassedNow())
    }
}

private const val POLL_MS = 10L
