// The interface for drawing QR codes. Exercises 17 to 19 add other implementations of it.
package workshop.records

// ANCHOR: qr-codes

/** Draws QR codes. Called by many requests at once. */
fun interface QrCodes {
    /**
     * The QR code of [text] as a PNG image.
     *
     * @throws QrCodesUnavailable when it cannot be drawn now
     */
    suspend fun png(text: String): ByteArray
}

/** No code can be drawn now. The [reason] is for the log, the client learns only that. */
class QrCodesUnavailable(
    reason: String,
    cause: Throwable? = null,
) : Exception(reason, cause)
// ANCHOR_END: qr-codes
