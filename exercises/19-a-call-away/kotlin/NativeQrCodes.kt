// Draws QR codes with a native library: copies the text out of the JVM's heap, and the image back in.
package workshop.qrcode

import workshop.records.QrCodes
import java.lang.foreign.MemorySegment
import java.nio.file.Path

// ANCHOR: native

/** Calls the library at [path]. It is loaded with the first code; while it cannot be loaded, each code tries again. */
class NativeQrCodes(
    private val path: Path,
) : QrCodes {
    override suspend fun png(text: String): ByteArray =
        TODO("load the library at $path, once, and call its qr_png with the text")
}

/** Copies bytes that the library has handed over, and frees them. */
fun Library.take(bytes: MemorySegment): ByteArray =
    TODO("copy the ${bytes.byteSize()} bytes, and give them back with free(bytes)")
// ANCHOR_END: native
