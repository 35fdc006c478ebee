// Answers the QR code of a text.
package workshop.records

import io.ktor.http.ContentType
import io.ktor.http.HttpStatusCode
import io.ktor.server.request.ApplicationRequest
import io.ktor.server.response.respondBytes
import io.ktor.server.routing.Route
import workshop.service.ProblemException
import workshop.service.getOrHead
import workshop.service.readOnlyPath
import java.net.URLDecoder

/** Bytes of UTF-8, not characters: the same number of characters takes one to four times as many bytes. */
private const val MAX_TEXT_BYTES = 512

// ANCHOR: qrcode

/** `/qrcode?text=`: the text as a QR code, for everybody. */
fun Route.qrCode(qrCodes: QrCodes) {
    readOnlyPath("/qrcode") {
        getOrHead {
            call.respondBytes(qrCodes.png(call.request.text()), ContentType.Image.PNG)
        }
    }
}

private fun ApplicationRequest.text(): String {
    val text = encodedQueryParameter("text")?.let(::decodeStrictly)
    if (text.isNullOrEmpty()) {
        throw ProblemException(HttpStatusCode.BadRequest, "the query parameter text is missing or empty")
    }
    val bytes = text.encodeToByteArray().size
    if (bytes > MAX_TEXT_BYTES) {
        throw ProblemException(
            HttpStatusCode.BadRequest,
            "text must be at most $MAX_TEXT_BYTES bytes of UTF-8, but has $bytes",
        )
    }
    return text
}
// ANCHOR_END: qrcode

/**
 * Ktor would put `�` where the bytes are no UTF-8. In ISO 8859-1 a character is a byte, so none gets lost. `URLDecoder` reads
 * `%+1` as a number as well.
 */
private fun decodeStrictly(encoded: String): String =
    try {
        if (STRAY_PERCENT in encoded) throw malformedRequest()
        URLDecoder
            .decode(encoded, Charsets.ISO_8859_1)
            .toByteArray(Charsets.ISO_8859_1)
            .decodeToString(throwOnInvalidSequence = true)
    } catch (_: IllegalArgumentException) {
        throw malformedRequest()
    } catch (_: CharacterCodingException) {
        throw malformedRequest()
    }

private fun malformedRequest() = ProblemException(HttpStatusCode.BadRequest, "the request is malformed")
