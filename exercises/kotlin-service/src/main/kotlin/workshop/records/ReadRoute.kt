// Answers one record by its id.
package workshop.records

import io.ktor.http.HttpStatusCode
import io.ktor.server.routing.Route
import io.ktor.server.routing.RoutingCall
import workshop.service.ProblemException
import workshop.service.getOrHead
import workshop.service.readOnlyPath
import workshop.service.respondJson

// ANCHOR: read

/** `/read/{id}`: the record with this id. A request needs one of the [apiKeys]. */
fun Route.read(
    records: RecordRepository,
    apiKeys: List<String>,
) {
    readOnlyPath("/read/{id}") {
        requireApiKey(apiKeys) {
            getOrHead {
                val id = call.recordId()
                val record = records.find(id) ?: throw noRecord(id)
                call.respondJson(record)
            }
        }
    }
}

/** The `{id}` of the path. */
internal fun RoutingCall.recordId(): Int =
    parseInt32(pathParameters["id"])
        ?: throw ProblemException(HttpStatusCode.BadRequest, "id must be a 32-bit integer")

internal fun noRecord(id: Int) = ProblemException(HttpStatusCode.NotFound, "there is no record with id $id")

/** `toIntOrNull` reads the digits of every script, `٣` too. The contract knows ASCII only: `[+-]?[0-9]+`, 32 bits. */
internal fun parseInt32(text: String?): Int? = text?.takeIf { it.all { char -> char.code < 0x80 } }?.toIntOrNull()
// ANCHOR_END: read
