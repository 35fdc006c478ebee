// The messages between peers, as sent and as delivered, and the error messages for invalid ones.
package workshop.records

import tools.jackson.core.JacksonException
import tools.jackson.databind.JsonNode
import tools.jackson.databind.json.JsonMapper

/** The maximum size of a message, in bytes. In JSON, a byte of text can take six: `\u0007`. */
const val MAX_MESSAGE_BYTES = 8_192
private const val MAX_TEXT_BYTES = 1_024

/** What a peer says to another one, or to all others. */
class PeerMessage(
    val to: String?,
    val text: String,
) {
    val isTooLong get() = text.encodeToByteArray().size > MAX_TEXT_BYTES
}

/** Null when it is no message. Other members are ignored. */
fun parseMessage(json: String): PeerMessage? {
    val message =
        try {
            mapper.readTree(json)
        } catch (_: JacksonException) {
            return null
        }
    val text = message.path("text").text() ?: return null
    val to = message.path("to")
    if (to.isNull || to.isMissingNode) return PeerMessage(null, text)
    return to.text()?.let { PeerMessage(it, text) }
}

/** Null if it isn't text. Half an emoji isn't: JSON can escape it, as `"\ud83d"`, but UTF-8 can't encode it. */
private fun JsonNode.text(): String? = takeIf(JsonNode::isString)?.stringValue()?.takeIf { it.none(Char::isSurrogate) || it.isWhole() }

private fun String.isWhole(): Boolean =
    try {
        encodeToByteArray(throwOnInvalidSequence = true)
        true
    } catch (_: CharacterCodingException) {
        false
    }

/** The message as it is delivered. */
fun delivered(
    from: String,
    text: String,
) = json("from" to from, "text" to text)

/** The answer to a peer whose message wasn't delivered. */
object Complaint {
    val NO_MESSAGE = complaint("a message must be a JSON object with a text")
    val TOO_LONG = complaint("text must not be longer than $MAX_TEXT_BYTES bytes")

    fun nobody(name: String) = complaint("there is no peer with the name $name")

    private fun complaint(error: String) = json("error" to error)
}

private fun json(vararg members: Pair<String, String>): String = mapper.writeValueAsString(linkedMapOf(*members))

private val mapper = JsonMapper()
