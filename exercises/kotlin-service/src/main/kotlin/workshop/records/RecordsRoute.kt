// Answers the records page by page.
package workshop.records

import io.ktor.http.HttpStatusCode
import io.ktor.server.routing.Route
import kotlinx.serialization.Serializable
import workshop.service.ProblemException
import workshop.service.getOrHead
import workshop.service.readOnlyPath
import workshop.service.respondJson

// ANCHOR: records

/** `/records`: up to `limit` records whose ids come after `after`. A request needs one of the [apiKeys]. */
fun Route.records(
    records: RecordRepository,
    apiKeys: List<String>,
) {
    readOnlyPath("/records") {
        requireApiKey(apiKeys) {
            getOrHead {
                val after = parseAfter(call.request.queryParameter("after"))
                val limit = parseLimit(call.request.queryParameter("limit"))
                // One more than asked for tells whether there is a next page.
                val found = records.page(after, limit + 1)
                val page = found.take(limit)
                call.respondJson(Page(page, next = if (found.size > limit) page.last().id else null))
            }
        }
    }
}

/** [next] is the `after` of the next page. It is left out of the JSON where it is null: after the last record. */
@Serializable
private data class Page(
    val records: List<Record>,
    val next: Int? = null,
)

private fun parseAfter(text: String?): Int {
    if (text == null) return 0
    return parseInt32(text)
        ?: throw ProblemException(HttpStatusCode.BadRequest, "after must be a 32-bit integer")
}

private fun parseLimit(text: String?): Int {
    if (text == null) return DEFAULT_LIMIT
    return parseInt32(text)?.takeIf { it in 1..MAX_LIMIT }
        ?: throw ProblemException(HttpStatusCode.BadRequest, "limit must be a whole number from 1 to $MAX_LIMIT")
}

private const val DEFAULT_LIMIT = 100
private const val MAX_LIMIT = 1_000
// ANCHOR_END: records
