// Marks records as visited: one by its id, or many of them together.
package workshop.records

import io.ktor.http.HttpStatusCode
import io.ktor.server.routing.Route
import io.ktor.server.routing.post
import kotlinx.serialization.Serializable
import workshop.service.ProblemException
import workshop.service.postOnlyPath
import workshop.service.respondJson

// ANCHOR: visit

/** `/records/{id}/visit`: marks the record as visited and answers it. Asked again, it answers the same. */
fun Route.visit(
    records: RecordRepository,
    apiKeys: List<String>,
) {
    postOnlyPath("/records/{id}/visit") {
        requireApiKey(apiKeys) {
            post {
                val id = call.recordId()
                call.respondJson(records.visit(id) ?: throw noRecord(id))
            }
        }
    }
}
// ANCHOR_END: visit

// ANCHOR: visits

/** `/visits`: marks all the records named in the body as visited, or none where one of them is missing. */
fun Route.visits(
    records: RecordRepository,
    apiKeys: List<String>,
) {
    postOnlyPath("/visits") {
        requireApiKey(apiKeys) {
            post {
                val ids = call.receiveIds().toSortedSet()
                val missing = records.visitAll(ids)
                if (missing.isNotEmpty()) {
                    throw ProblemException(
                        HttpStatusCode.NotFound,
                        "there are no records with the ids ${missing.joinToString()}",
                    )
                }
                call.respondJson(Visited(ids.size))
            }
        }
    }
}

@Serializable
private data class Visited(
    val visited: Int,
)
// ANCHOR_END: visits
