// Lets the requests in flight finish before the service stops.
package workshop.service

import io.ktor.http.HttpHeaders
import io.ktor.server.application.Application
import io.ktor.server.application.ApplicationStopPreparing
import io.ktor.server.application.createApplicationPlugin
import io.ktor.server.application.install
import io.ktor.server.response.header
import kotlin.time.Duration

// ANCHOR: drain

/**
 * Makes a stop wait for the answers under way, [atMost] this long. Meanwhile the service takes no new [connections], and closes
 * each one that has its answer; the answer says so.
 *
 * The engine's own grace period doesn't help: Netty closes every connection as soon as it is told to stop.
 */
fun Application.drainOnStop(
    connections: Connections,
    atMost: Duration,
) {
    val lastAnswers =
        createApplicationPlugin("LastAnswers") {
            onCallRespond { call -> if (connections.isDraining) call.response.header(HttpHeaders.Connection, "close") }
        }
    install(lastAnswers)
    monitor.subscribe(ApplicationStopPreparing) { connections.drain(atMost) }
}
// ANCHOR_END: drain
