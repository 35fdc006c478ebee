// Returns the QR code for a text.
package workshop.records

import io.ktor.http.ContentType
import io.ktor.http.HttpStatusCode
import io.ktor.http.Parameters
import io.ktor.server.response.respondBytes
import io.ktor.server.routing.Route
import io.ktor.server.routing.get
import workshop.service.ProblemException

/** Bytes of UTF-8, not characters: the same number of characters takes one to four times as many bytes. */
private const val MAX_TEXT_BYTES = 512

// ANCHOR: qrcode

/** The text as a QR code, without a key. */
fun Route.qrCode(qrCodes: QrCodes) {
    get("/qrcode") {
        call.respondBytes(qrCodes.png(call.queryParameters.text()), ContentType.Image.PNG)
    }
}

private fun Parameters.text(): String {
    val text = this["text"]
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
