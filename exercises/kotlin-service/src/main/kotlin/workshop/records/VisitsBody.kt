// Reads the body of /visits: checks its media type and size, parses the JSON, and extracts the ids.
package workshop.records

import io.ktor.http.BadContentTypeFormatException
import io.ktor.http.ContentType
import io.ktor.http.HttpHeaders
import io.ktor.http.HttpStatusCode
import io.ktor.server.application.ApplicationCall
import io.ktor.server.request.ApplicationRequest
import io.ktor.server.request.contentLength
import io.ktor.server.request.contentType
import io.ktor.server.request.receiveChannel
import io.ktor.utils.io.readRemaining
import kotlinx.coroutines.withTimeoutOrNull
import kotlinx.io.readByteArray
import tools.jackson.databind.JsonNode
import workshop.service.ProblemException
import kotlin.time.Duration.Companion.seconds

// ANCHOR: body

/**
 * The ids of a body `{"ids": […]}`.
 *
 * Not with `call.receive`, which would buffer a body of any size, and gives the same answer to invalid JSON and to
 * JSON of another shape.
 */
suspend fun ApplicationCall.receiveIds(): List<Int> {
    if (!request.isJson()) {
        throw ProblemException(HttpStatusCode.UnsupportedMediaType, "the body must be application/json")
    }
    val body =
        receiveAtMost(MAX_BYTES)
            ?: throw ProblemException(HttpStatusCode.PayloadTooLarge, "the body must not be larger than $MAX_BYTES bytes")
    val json = jsonIn(body) ?: throw ProblemException(HttpStatusCode.BadRequest, "the body must be JSON")
    return idsIn(json)
        ?: throw ProblemException(
            HttpStatusCode.UnprocessableEntity,
            "the body must be {\"ids\": […]} with at most $MAX_IDS 32-bit integers",
        )
}

private const val MAX_BYTES = 32_768
private const val MAX_IDS = 1_000
private val MAX_TIME = 10.seconds
// ANCHOR_END: body

/** A header that cannot be parsed as a media type isn't this one. */
private fun ApplicationRequest.isJson(): Boolean =
    try {
        contentType().match(ContentType.Application.Json)
    } catch (_: BadContentTypeFormatException) {
        false
    }

/** Null if there is more. If the client announces more, nothing is read. */
private suspend fun ApplicationCall.receiveAtMost(limit: Int): ByteArray? {
    if ((request.contentLength() ?: 0) > limit) return null
    val body =
        withTimeoutOrNull(MAX_TIME) { receiveChannel().readRemaining(limit + 1L).readByteArray() }
            ?: throw ProblemException(
                HttpStatusCode.RequestTimeout,
                "the body did not arrive in time",
                // Otherwise the rest of the body would be mistaken for the next request.
                HttpHeaders.Connection to "close",
            )
    return body.takeIf { it.size <= limit }
}

private fun idsIn(json: JsonNode): List<Int>? {
    val ids = json["ids"]?.takeIf { it.isArray && it.size() <= MAX_IDS } ?: return null
    return ids.values().map { if (it.isInt) it.intValue() else return null }
}
