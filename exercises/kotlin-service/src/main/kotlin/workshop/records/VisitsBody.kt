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

// ANCHOR: body

/** The ids of a body `{"ids": […]}`. */
suspend fun ApplicationCall.receiveIds(): List<Int> {
    if (!hasJson()) {
        throw ProblemException(HttpStatusCode.UnsupportedMediaType, "the body must be application/json")
    }
    val body =
        receiveAtMost(MAX_BYTES)
            ?: throw ProblemException(HttpStatusCode.PayloadTooLarge, "the body must not be larger than $MAX_BYTES bytes")
    val json =
        body.asJson()
            ?: throw ProblemException(HttpStatusCode.BadRequest, "the body must be JSON")
    return idsIn(json)
        ?: throw ProblemException(
            HttpStatusCode.UnprocessableEntity,
            "the body must be {\"ids\": […]} with at most $MAX_IDS 32-bit integers",
        )
}

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
            StreamReadConstraints
                .builder()
                .maxNestingDepth(127)
                .maxNumberLength(MAX_BYTES)
                .build(),
        ).build()

private fun parser(json: String): JsonParser = jackson.createParser(ObjectReadContext.empty(), json)

/** The text of this body when it is exactly one JSON value. */
private fun ByteArray.asJson(): String? =
    try {
        decodeToString(throwOnInvalidSequence = true).takeIf { json -> parser(json).use { it.readsOneValue() } }
    } catch (_: CharacterCodingException) {
        null
    } catch (_: JacksonException) {
        null
    }

private fun JsonParser.readsOneValue(): Boolean {
    do {
        if (nextToken() == null || !isRepresentable()) return false
    } while (!streamReadContext().inRoot())
    return nextToken() == null
}

/** JSON can write what most programs cannot read: half of a surrogate pair, and a number beyond every double. */
private fun JsonParser.isRepresentable(): Boolean =
    when (currentToken()) {
        JsonToken.VALUE_STRING, JsonToken.PROPERTY_NAME -> Charsets.UTF_8.newEncoder().canEncode(string)
        JsonToken.VALUE_NUMBER_INT, JsonToken.VALUE_NUMBER_FLOAT -> string.toDouble().isFinite()
        else -> true
    }

/** The ids in [json], or null when it has another shape. */
private fun idsIn(json: String): List<Int>? =
    parser(json).use { parser ->
        if (parser.nextToken() != JsonToken.START_OBJECT) return null
        var ids: List<Int>? = null
        while (parser.nextToken() == JsonToken.PROPERTY_NAME) {
            val name = parser.currentName()
            parser.nextToken()
            if (name == "ids") {
                if (ids != null) return null
                ids = parser.readIds() ?: return null
            } else {
                parser.skipChildren()
            }
        }
        ids
    }

private fun JsonParser.readIds(): List<Int>? {
    if (currentToken() != JsonToken.START_ARRAY) return null
    val ids = mutableListOf<Int>()
    while (nextToken() != JsonToken.END_ARRAY) {
        if (ids.size == MAX_IDS) return null
        ids += readInt32() ?: return null
    }
    return ids
}

/** An integer as JSON writes it: `-0` is no integer, and neither are `1.0` and `"1"`. */
private fun JsonParser.readInt32(): Int? =
    string.takeIf { currentToken() == JsonToken.VALUE_NUMBER_INT && it != "-0" }?.toIntOrNull()
