// The messages between peers, as sent and as delivered, and the error messages for invalid ones.
package workshop.records

import kotlinx.serialization.Serializable
import tools.jackson.databind.JsonNode

/** The maximum size of a message, in bytes. In JSON, a byte of text can take six: `\u0007`. */
const val MAX_MESSAGE_BYTES = 8_192L
private const val MAX_TEXT_BYTES = 1_024

// ANCHOR: message

/** A message from a peer to another one, or to all others. Other members are ignored. */
data class PeerMessage(
    val to: String?,
    val text: String,
)

/** The message as it is delivered. */
@Serializable
data class DeliveredMessage(
    val from: String,
    val text: String,
)

/** The answer to a peer whose message wasn't delivered. */
@Serializable
data class Complaint(
    val error: String,
) {
    companion object {
        val NO_MESSAGE = Complaint("a message must be a JSON object with a text")
        val TOO_LONG = Complaint("text must not be longer than $MAX_TEXT_BYTES bytes")

        fun nobody(name: String) = Complaint("there is no peer with the name $name")
    }
}

/** Null if it isn't a message. */
fun parseMessage(json: String): PeerMessage? {
    val message = jsonIn(json) ?: return null
    val text = message["text"]?.text() ?: return null
    val to = message["to"]?.takeUnless { it.isNull } ?: return PeerMessage(null, text)
    return to.text()?.let { PeerMessage(it, text) }
}

val PeerMessage.isTooLong: Boolean get() = text.encodeToByteArray().size > MAX_TEXT_BYTES

/** Null if it isn't text. Half an emoji isn't: JSON can escape it, as `"\ud83d"`, but UTF-8 can't encode it. */
private fun JsonNode.text(): String? = takeIf { it.isString }?.stringValue()?.takeIf { it.none(Char::isSurrogate) || it.isWhole() }

private fun String.isWhole(): Boolean =
    try {
        encodeToByteArray(throwOnInvalidSequence = true)
        true
    } catch (_: CharacterCodingException) {
        false
    }
// ANCHOR_END: message
