// Liveness and readiness: whether the process is alive, and whether it can serve requests.
package workshop.records

import io.ktor.server.response.respond
import io.ktor.server.routing.Route
import io.ktor.server.routing.get
import kotlinx.serialization.Serializable
import workshop.service.schemaIsNotUpToDate

@Serializable
private data class Status(
    val status: String,
)

// ANCHOR: health

/** The process is alive. This touches no database, so that a database outage never gets the process killed. */
fun Route.health() {
    get("/health") {
        call.respond(Status("ok"))
    }
}
// ANCHOR_END: health

// ANCHOR: ready

/** The database answers and has the schema, so a request sent here now can be served. */
fun Route.ready(
    records: RecordRepository,
    schemaIsUpToDate: () -> Boolean,
) {
    get("/ready") {
        if (!schemaIsUpToDate()) throw schemaIsNotUpToDate()
        records.ping()
        call.respond(Status("ready"))
    }
}
// ANCHOR_END: ready
