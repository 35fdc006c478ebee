// Reads the bodies of requests: never more than their limit, and never as something that they are not.
package workshop.contacts

import io.ktor.http.BadContentTypeFormatException
import io.ktor.http.ContentType
import io.ktor.http.HttpHeaders
import io.ktor.http.HttpStatusCode
import io.ktor.server.application.ApplicationCall
import io.ktor.server.request.contentLength
import io.ktor.server.request.receiveChannel
import io.ktor.utils.io.readRemaining
import kotlinx.coroutines.withTimeoutOrNull
import kotlinx.io.readByteArray
import workshop.service.ProblemException
import java.nio.charset.Charset
import kotlin.time.Duration.Companion.seconds

/** Room for the paths of a book of 5 000 contacts. */
private const val MAX_XML_BYTES = 1_048_576

/** The largest vCard, in bytes: room for a photo of some hundred kilobytes, which is a third larger as text. */
const val MAX_VCARD_BYTES = 1_048_576

/** How long a client may take to send a body. */
private val PATIENCE = 10.seconds

/** The root of the XML in the body; null when there is no body. */
suspend fun ApplicationCall.receiveXml(): XmlElement? {
    val contentType = contentType()
    val isXml = contentType == null || XML_TYPES.any { contentType.match(it) }
    if (!isXml || isEncoded) {
        throw ProblemException(HttpStatusCode.UnsupportedMediaType, "the body must be application/xml")
    }
    val body = receiveAtMost(MAX_XML_BYTES) { tooLarge(MAX_XML_BYTES) }
    if (contentType?.isUtf8(body) == false) throw notUtf8()
    if (body.all { it.toInt().toChar().isWhitespace() }) return null
    if (UTF_16_MARKS.any { body.size >= 2 && body[0] == it.first && body[1] == it.second }) throw notUtf8()
    val document =
        body.toText() ?: throw ProblemException(HttpStatusCode.BadRequest, "the body must be XML, and in UTF-8")
    return computing { parseXml(document.removePrefix(BYTE_ORDER_MARK)) }
}

/** The vCard in the body. Where another type is announced, nothing is read. */
suspend fun ApplicationCall.receiveVCard(): ByteArray {
    val contentType = contentType()
    val isVCard = contentType == null || VCARD_TYPES.any { contentType.match(it) }
    if (!isVCard || isEncoded) throw unsupportedAddressData()
    val body = receiveAtMost(MAX_VCARD_BYTES) { DavException(HttpStatusCode.PayloadTooLarge, CardDav.MAX_RESOURCE_SIZE) }
    if (contentType?.isUtf8(body) == false) throw unsupportedAddressData()
    return body
}

private fun unsupportedAddressData() = DavException(HttpStatusCode.UnsupportedMediaType, CardDav.SUPPORTED_ADDRESS_DATA)

/** Text as UTF-8; null when these bytes are none. */
internal fun ByteArray.toText(): String? =
    try {
        decodeToString(throwOnInvalidSequence = true)
    } catch (_: CharacterCodingException) {
        null
    }

/** A client that announces more is not listened to. */
private suspend fun ApplicationCall.receiveAtMost(
    limit: Int,
    tooLarge: () -> Exception,
): ByteArray {
    if ((request.contentLength() ?: 0) > limit) throw tooLarge()
    val body =
        withTimeoutOrNull(PATIENCE) { receiveChannel().readRemaining(limit + 1L).readByteArray() }
            ?: throw ProblemException(
                HttpStatusCode.RequestTimeout,
                "the body did not arrive in time",
                // Otherwise the rest of the body would be mistaken for the next request.
                HttpHeaders.Connection to "close",
            )
    if (body.size > limit) throw tooLarge()
    return body
}

private fun tooLarge(limit: Int) =
    ProblemException(HttpStatusCode.PayloadTooLarge, "the body must not be larger than $limit bytes")

/** `identity` says that nothing was done to it. */
private val ApplicationCall.isEncoded: Boolean
    get() = request.headers[HttpHeaders.ContentEncoding]?.equals("identity", ignoreCase = true) == false

private fun ApplicationCall.contentType(): ContentType? =
    try {
        request.headers[HttpHeaders.ContentType]?.let(ContentType::parse)
    } catch (_: BadContentTypeFormatException) {
        ContentType.Any
    }

private fun ContentType.isUtf8(body: ByteArray) = parameter("charset").let { it == null || isUtf8(it, body) }

/**
 * Whether a text that is said to be in this encoding can be read as UTF-8. An encoding has many names, and clients use them: `utf8`,
 * `us-ascii`. What is ASCII is the same text in nearly all encodings.
 */
internal fun isUtf8(
    encoding: String,
    text: ByteArray,
): Boolean =
    when (val charset = charsetOf(encoding.trim('"', '\'', ' '))) {
        null -> false

        Charsets.UTF_8, Charsets.US_ASCII -> true

        else -> text.all { it >= 0 } && text.contentEquals(text.decodeToString().toByteArray(charset))
    }

private fun charsetOf(name: String): Charset? =
    try {
        Charset.forName(name).takeIf { it.canEncode() }
    } catch (_: IllegalArgumentException) {
        null
    }

/** XML is also text, and some programs say no more than that. */
private val XML_TYPES = listOf(ContentType.Application.Xml, ContentType.Text.Xml, ContentType.Text.Plain)

/** The media type of a vCard. */
internal val VCARD = ContentType("text", "vcard")

/** The names that clients have for it, the newest first. Some clients have none: what they send is a vCard, or is refused as none. */
private val VCARD_TYPES =
    listOf(VCARD, ContentType("text", "x-vcard"), ContentType("text", "directory"), ContentType("application", "vcard"))

private const val BYTE_ORDER_MARK = "\uFEFF"

private val UTF_16_MARKS = listOf(0xFE.toByte() to 0xFF.toByte(), 0xFF.toByte() to 0xFE.toByte())
