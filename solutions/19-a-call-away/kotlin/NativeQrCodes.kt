// Draws QR codes with a native library: copies the text out of the JVM's heap, and the image back in.
package workshop.qrcode

import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.withContext
import workshop.records.QrCodes
import workshop.records.QrCodesUnavailable
import java.lang.foreign.Arena
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_BYTE
import java.nio.file.Path

// ANCHOR: native

/** Calls the library at [path]. It is loaded with the first code; while it cannot be loaded, each code tries again. */
class NativeQrCodes(
    private val path: Path,
) : QrCodes {
    private val library by lazy { Library.load(path) }

    override suspend fun png(text: String): ByteArray =
        withContext(Dispatchers.Default) {
            // Off-heap memory for this call: it is freed at the end of the block, even after an exception.
            Arena.ofConfined().use { arena -> library.draw(text, arena) }
        }
}

private fun Library.draw(
    text: String,
    arena: Arena,
): ByteArray {
    val bytes = arena.copyOf(text.encodeToByteArray())
    val image = arena.allocate(BYTES)
    val outcome = png(bytes, image)
    if (outcome != DRAWN) throw QrCodesUnavailable("qr_png returned $outcome")
    return take(image.bytes())
}

/** Copies bytes that the library has handed over, and frees them. */
fun Library.take(bytes: MemorySegment): ByteArray =
    try {
        bytes.toArray(JAVA_BYTE)
    } finally {
        free(bytes)
    }
// ANCHOR_END: native
