// Returns the records page by page.
package workshop.records

import io.ktor.http.HttpStatusCode
import io.ktor.http.Parameters
import io.ktor.server.response.respond
import io.ktor.server.routing.Route
import io.ktor.server.routing.get
import kotlinx.serialization.Serializable
import workshop.service.ProblemException

// ANCHOR: records

/** Up to `limit` records whose ids come after `after`. */
fun Route.records(records: RecordRepository) {
    get("/records") {
        val after = call.queryParameters.after() ?: 0
        val limit = call.queryParameters.limit()
        // Fetch one more than requested, to know whether there is a next page.
        val found = records.page(after, limit + 1)
        val page = found.take(limit)
        call.respond(Page(page, next = if (found.size > limit) page.last().id else null))
    }
}

/** [next] is the `after` of the next page. It is left out of the JSON if it is null: after the last record. */
@Serializable
private data class Page(
    val records: List<Record>,
    val next: Int? = null,
)

/** Null if the query has none. */
internal fun Parameters.after(): Int? {
    val text = this["after"] ?: return null
    return text.toIntOrNull() ?: throw ProblemException(HttpStatusCode.BadRequest, "after must be a 32-bit integer")
}

private fun Parameters.limit(): Int {
    val text = this["limit"] ?: return DEFAULT_LIMIT
    return text.toIntOrNull()?.takeIf { it in 1..MAX_LIMIT }
        ?: throw ProblemException(HttpStatusCode.BadRequest, "limit must be a whole number from 1 to $MAX_LIMIT")
}

private const val DEFAULT_LIMIT = 100
private const val MAX_LIMIT = 1_000
// ANCHOR_END: records
