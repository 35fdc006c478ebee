// Marks records as visited: one record by its id, or many in one request.
package workshop.records

import io.ktor.http.HttpStatusCode
import io.ktor.server.response.respond
import io.ktor.server.routing.Route
import io.ktor.server.routing.delete
import io.ktor.server.routing.post
import kotlinx.serialization.Serializable
import workshop.service.ProblemException

// ANCHOR: visit

/** Marks the record as visited and answers it. A second visit gets the same answer. */
fun Route.visit(records: RecordRepository) {
    post("/records/{id}/visit") {
        val id = call.recordId()
        call.respond(records.visit(id) ?: throw noRecord(id))
    }
}
// ANCHOR_END: visit

/** Marks the record as not visited and answers it. Only where visits are shared with a service that follows: see [Outbox]. */
fun Route.takeBack(records: RecordRepository) {
    delete("/records/{id}/visit") {
        val id = call.recordId()
        call.respond(records.takeBack(id) ?: throw noRecord(id))
    }
}

// ANCHOR: visits

/** Marks all the records named in the body as visited, or none if one of them is missing. */
fun Route.visits(records: RecordRepository) {
    post("/visits") {
        val ids = call.receiveIds().toSortedSet()
        val missing = records.visitAll(ids)
        if (missing.isNotEmpty()) {
            throw ProblemException(
                HttpStatusCode.NotFound,
                "there are no records with the ids ${missing.joinToString()}",
            )
        }
        call.respond(Visited(ids.size))
    }
}

@Serializable
private data class Visited(
    val visited: Int,
)
// ANCHOR_END: visits
