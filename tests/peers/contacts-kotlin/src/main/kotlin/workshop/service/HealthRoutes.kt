// Liveness and readiness: whether the process is alive, and whether it can serve requests.
package workshop.service

import io.ktor.server.routing.Route
import kotlinx.serialization.Serializable

@Serializable
private data class Status(
    val status: String,
)

// ANCHOR: health

/** `/health`: the process lives. It touches no database, so that a database outage never gets the process killed. */
fun Route.health() {
    readOnlyPath("/health") {
        getOrHead {
            call.respondJson(Status("ok"))
        }
    }
}
// ANCHOR_END: health

// ANCHOR: ready

/** `/ready`: the database answers a [ping] and has the schema, so a request sent here now can be served. */
fun Route.ready(
    ping: suspend () -> Unit,
    schemaIsUpToDate: () -> Boolean,
) {
    readOnlyPath("/ready") {
        getOrHead {
            if (!schemaIsUpToDate()) throw schemaIsNotUpToDate()
            ping()
            call.respondJson(Status("ready"))
        }
    }
}
// ANCHOR_END: ready
