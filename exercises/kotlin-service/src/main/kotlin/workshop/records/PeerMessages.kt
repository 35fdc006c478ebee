// The messages between peers: what a peer says, what arrives at another one, and what is wrong with a message.
package workshop.records

import kotlinx.serialization.Serializable
import tools.jackson.databind.JsonNode

/** The longest message, in bytes. In JSON a byte of a text can take six: `\u0007`. */
const val MAX_MESSAGE_BYTES = 8_192L
private const val MAX_TEXT_BYTES = 1_024

// ANCHOR: message

/** What a peer says to another one, or to all others. Other members are ignored. */
data class PeerMessage(
    val to: String?,
    val text: String,
)

/** What arrives. */
@Serializable
data class DeliveredMessage(
    val from: String,
    val text: String,
)

/** What a peer is told whose message has not got anywhere. */
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

/** Null when it is no message. */
fun parseMessage(json: String): PeerMessage? {
    val message = jsonIn(json) ?: return null
    val text = message["text"]?.text() ?: return null
    val to = message["to"]?.takeUnless { it.isNull } ?: return PeerMessage(null, text)
    return to.text()?.let { PeerMessage(it, text) }
}

val PeerMessage.isTooLong: Boolean get() = text.encodeToByteArray().size > MAX_TEXT_BYTES

/** Null when it is no text. Half an emoji is none: JSON can escape it, as `"\ud83d"`, but nothing can be sent for it. */
private fun JsonNode.text(): String? = takeIf { it.isString }?.stringValue()?.takeIf { it.none(Char::isSurrogate) || it.isWhole() }

private fun String.isWhole(): Boolean =
    try {
        encodeToByteArray(throwOnInvalidSequence = true)
        true
    } catch (_: CharacterCodingException) {
        false
    }
// ANCHOR_END: message
