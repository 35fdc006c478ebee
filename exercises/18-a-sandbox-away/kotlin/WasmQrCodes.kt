// Draws QR codes with a WebAssembly module: copies the text into its memory, and the image out of it.
package workshop.qrcode

import workshop.records.QrCodes
import kotlin.time.Duration

// ANCHOR: wasm

/** Draws with at most [atOnce] instances at the same time, each made by [start], and waits at most [timeout] for an image. */
class WasmQrCodes(
    atOnce: Int,
    private val timeout: Duration,
    private val start: () -> QrInstance,
) : QrCodes {
    override suspend fun png(text: String): ByteArray =
        TODO("draw with an instance that $start makes, or that is idle, and wait no longer than $timeout")
}

/** Copies bytes out of the module's memory, and frees them there. */
fun QrInstance.take(
    address: Int,
    length: Int,
): ByteArray =
    TODO("copy the $length bytes at $address of $memory, and free them")
// ANCHOR_END: wasm
