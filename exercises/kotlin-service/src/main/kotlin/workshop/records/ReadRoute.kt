// Answers one record by its id.
package workshop.records

import io.ktor.http.HttpStatusCode
import io.ktor.server.routing.Route

// ANCHOR: read

/** `/read/{id}`: the record with this id, for whoever has one of the [apiKeys]. */
fun Route.read(
    records: RecordRepository,
    apiKeys: List<String>,
) {
    readOnlyPath("/read/{id}") {
        requireApiKey(apiKeys) {
            getOrHead {
                val id =
                    parseId(call.pathParameters["id"])
                        ?: throw ProblemException(HttpStatusCode.BadRequest, ID_IS_NO_INTEGER)
                val record =
                    records.find(id)
                        ?: throw ProblemException(HttpStatusCode.NotFound, "there is no record with id $id")
                call.respondJson(record)
            }
        }
    }
}

internal const val ID_IS_NO_INTEGER = "id must be a 32-bit integer"

/** `toIntOrNull` reads the digits of every script, `٣` too. The contract knows ASCII only: `[+-]?[0-9]+`, 32 bits. */
internal fun parseId(text: String?): Int? = text?.takeIf { it.all { char -> char.code < 0x80 } }?.toIntOrNull()
// ANCHOR_END: read
