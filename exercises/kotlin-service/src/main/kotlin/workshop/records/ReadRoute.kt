// Returns one record by its id.
package workshop.records

import io.ktor.http.HttpStatusCode
import io.ktor.server.response.respond
import io.ktor.server.routing.Route
import io.ktor.server.routing.RoutingCall
import io.ktor.server.routing.get
import workshop.service.ProblemException

// ANCHOR: read

/** The record with this id. */
fun Route.read(records: RecordRepository) {
    get("/read/{id}") {
        val id = call.recordId()
        val record = records.find(id) ?: throw noRecord(id)
        call.respond(record)
    }
}

/** The `{id}` of the path. */
fun RoutingCall.recordId(): Int =
    pathParameters["id"]?.toIntOrNull()
        ?: throw ProblemException(HttpStatusCode.BadRequest, "id must be a 32-bit integer")

fun noRecord(id: Int) = ProblemException(HttpStatusCode.NotFound, "there is no record with id $id")
// ANCHOR_END: read
