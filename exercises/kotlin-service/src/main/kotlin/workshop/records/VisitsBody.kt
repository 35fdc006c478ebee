// Reads the body of /visits, and judges it in the order of the contract: media type, size, JSON, shape.
package workshop.records

import io.ktor.http.HttpHeaders
import io.ktor.http.HttpStatusCode
import io.ktor.server.application.ApplicationCall
import io.ktor.server.request.contentLength
import io.ktor.server.request.receiveChannel
import io.ktor.utils.io.readRemaining
import kotlinx.io.readByteArray
import tools.jackson.core.JacksonException
import tools.jackson.core.JsonParser
import tools.jackson.core.JsonToken
import tools.jackson.core.ObjectReadContext
import tools.jackson.core.StreamReadConstraints
import tools.jackson.core.json.JsonFactory
import workshop.service.ProblemException

// ANCHOR: body

/** The ids of a body `{"ids": […]}`. It is read once: whatever is wrong with it first is what the client is told. */
suspend fun ApplicationCall.receiveIds(): List<Int> {
    if (!hasJson()) {
        throw ProblemException(HttpStatusCode.UnsupportedMediaType, "the body must be application/json")
    }
    val body =
        receiveAtMost(MAX_BYTES)
            ?: throw ProblemException(HttpStatusCode.PayloadTooLarge, "the body must not be larger than $MAX_BYTES bytes")
    return try {
        val json = body.decodeToString(throwOnInvalidSequence = true)
        jackson.createParser(ObjectReadContext.empty(), json).use { it.readBody() }
    } catch (_: CharacterCodingException) {
        throw noJson()
    } catch (_: JacksonException) {
        throw noJson()
    }
}

private fun noJson() = ProblemException(HttpStatusCode.BadRequest, "the body must be JSON")

private fun wrongShape() =
    ProblemException(
        HttpStatusCode.UnprocessableEntity,
        "the body must be {\"ids\": […]} with at most $MAX_IDS 32-bit integers",
    )

private const val MAX_BYTES = 32_768
private const val MAX_IDS = 1_000
// ANCHOR_END: body

/** Whatever parameters follow the media type, the contract allows them. */
private fun ApplicationCall.hasJson(): Boolean {
    val mediaType = request.headers[HttpHeaders.ContentType]?.substringBefore(';')?.trim()
    return mediaType.equals("application/json", ignoreCase = true)
}

/** Null when there is more. A client that announces more is not listened to. */
private suspend fun ApplicationCall.receiveAtMost(limit: Int): ByteArray? {
    if ((request.contentLength() ?: 0) > limit) return null
    return receiveChannel()
        .readRemaining(limit + 1L)
        .readByteArray()
        .takeIf { it.size <= limit }
}

/** Jackson, since kotlinx.serialization reads more than JSON: words without quotes, and numbers with them. */
private val jackson =
    JsonFactory
        .builder()
        .streamReadConstraints(
            // The body is small enough for whatever is in it.
            StreamReadConstraints
                .builder()
                .maxNestingDepth(MAX_BYTES)
                .maxNumberLength(MAX_BYTES)
                .build(),
        ).build()

private fun JsonParser.readBody(): List<Int> {
    expect(JsonToken.START_OBJECT)
    var ids: List<Int>? = null
    while (next() == JsonToken.PROPERTY_NAME) {
        if (string == "ids") {
            if (ids != null) throw wrongShape()
            expect(JsonToken.START_ARRAY)
            ids = readIds()
        } else {
            nextToken()
            skipChildren()
        }
    }
    if (ids == null) throw wrongShape()
    if (nextToken() != null) throw noJson()
    if (ids.size > MAX_IDS) throw wrongShape()
    return ids
}

private fun JsonParser.readIds(): List<Int> {
    val ids = mutableListOf<Int>()
    while (next() != JsonToken.END_ARRAY) ids += readInt32() ?: throw wrongShape()
    return ids
}

/** An integer as JSON writes it: `-0` is no integer, and neither are `1.0` and `"1"`. */
private fun JsonParser.readInt32(): Int? =
    string.takeIf { currentToken() == JsonToken.VALUE_NUMBER_INT && it != "-0" }?.toIntOrNull()

private fun JsonParser.expect(token: JsonToken) {
    if (next() != token) throw wrongShape()
}

/** Jackson knows the grammar of JSON. That allows what cannot be read: half of a surrogate pair, a number beyond a double. */
private fun JsonParser.next(): JsonToken {
    val token = nextToken() ?: throw noJson()
    when (token) {
        JsonToken.VALUE_STRING, JsonToken.PROPERTY_NAME -> string.encodeToByteArray(throwOnInvalidSequence = true)
        JsonToken.VALUE_NUMBER_INT, JsonToken.VALUE_NUMBER_FLOAT -> if (string.toDouble().isInfinite()) throw noJson()
        else -> Unit
    }
    return token
}
