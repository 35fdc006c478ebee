// Draws QR codes in Kotlin: ZXing computes the modules, and Png.kt encodes them as an image.
package workshop.records

import com.google.zxing.qrcode.decoder.ErrorCorrectionLevel
import com.google.zxing.qrcode.encoder.ByteMatrix
import com.google.zxing.qrcode.encoder.Encoder
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.withContext
import kotlin.time.Duration.Companion.seconds
import kotlin.time.TimeSource.Monotonic.markNow

/** The blank border that readers need, in modules (the squares of a QR code). */
private const val QUIET_ZONE = 4

/** No image is narrower than this, in pixels. */
private const val MIN_WIDTH = 200

/** The maximum time that a request waits for its turn. */
private val MAX_WAIT = 1.seconds

// ANCHOR: zxing
class ZxingQrCodes : QrCodes {
    /**
     * Drawing is CPU-bound, so it stays off the threads that read requests. The threads that draw take one text after the other, and a
     * text that has waited for too long is not drawn: so there are never more in line than can be drawn in time.
     */
    override suspend fun png(text: String): ByteArray {
        val asked = markNow()
        return withContext(Dispatchers.Default) {
            if (asked.elapsedNow() > MAX_WAIT) throw QrCodesUnavailable("no thread was free within $MAX_WAIT")
            Encoder.encode(text.asBytes(), ErrorCorrectionLevel.L).matrix.toPng()
        }
    }
}

/** A character for each byte of UTF-8: ZXing writes characters as ISO 8859-1, and `?` for every other one. */
private fun String.asBytes() = String(encodeToByteArray(), Charsets.ISO_8859_1)

private fun ByteMatrix.toPng(): ByteArray {
    val across = width + 2 * QUIET_ZONE
    val scale = (MIN_WIDTH + across - 1) / across
    val image = BlackAndWhiteImage(width = across * scale)
    repeat(across) { y ->
        val row = image.whiteRow()
        for (x in 0..<width) {
            if (isDark(x, y - QUIET_ZONE)) row.darken(from = (x + QUIET_ZONE) * scale, pixels = scale)
        }
        repeat(scale) { image.add(row) }
    }
    return image.toPng()
}

private fun ByteMatrix.isDark(
    x: Int,
    y: Int,
) = y in 0..<height && get(x, y).toInt() == 1
// ANCHOR_END: zxing
