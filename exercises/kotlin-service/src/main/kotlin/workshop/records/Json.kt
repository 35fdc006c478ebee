// Parses JSON that comes from outside the service.
package workshop.records

import tools.jackson.core.JacksonException
import tools.jackson.databind.JsonNode
import tools.jackson.databind.json.JsonMapper

/** Jackson, since kotlinx.serialization accepts more than JSON: words without quotes, and numbers in quotes. */
private val jackson = JsonMapper()

/** Null if the [text] isn't JSON. All of it is read before its shape is checked. Of members with one name, the last counts. */
fun jsonIn(text: String): JsonNode? =
    try {
        jackson.readTree(text).takeUnless { it.isMissingNode }
    } catch (_: JacksonException) {
        null
    }

/** The same for the bytes of a body. JSON is UTF-8; Jackson by itself would guess UTF-16 and UTF-32, too. */
fun jsonIn(body: ByteArray): JsonNode? =
    try {
        jsonIn(body.decodeToString(throwOnInvalidSequence = true))
    } catch (_: CharacterCodingException) {
        null
    }
