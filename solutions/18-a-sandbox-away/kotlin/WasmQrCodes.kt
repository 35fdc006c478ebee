// Draws QR codes with a WebAssembly module: copies the text into its memory, and the image out of it.
package workshop.qrcode

import com.dylibso.chicory.wasm.ChicoryException
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.runInterruptible
import kotlinx.coroutines.withTimeoutOrNull
import workshop.records.QrCodes
import workshop.records.QrCodesUnavailable
import java.util.concurrent.ConcurrentLinkedQueue
import kotlin.time.Duration

// ANCHOR: wasm

/** Draws with at most [atOnce] instances at the same time, each made by [start], and waits at most [timeout] for an image. */
class WasmQrCodes(
    atOnce: Int,
    private val timeout: Duration,
    private val start: () -> QrInstance,
) : QrCodes {
    private val places = Dispatchers.Default.limitedParallelism(atOnce)
    private val idle = ConcurrentLinkedQueue<QrInstance>()

    /** When the timeout ends this early, the thread is interrupted, and the module's code traps. */
    override suspend fun png(text: String): ByteArray =
        withTimeoutOrNull(timeout) { runInterruptible(places) { draw(text) } }
            ?: throw QrCodesUnavailable("no image was drawn within $timeout")

    /** An instance that has trapped stopped in the middle of something. It is not used again, and its memory goes with it. */
    private fun draw(text: String): ByteArray {
        val instance = idle.poll() ?: start()
        val image =
            try {
                instance.draw(text)
            } catch (cause: ChicoryException) {
                throw QrCodesUnavailable("the module has trapped", cause)
            }
        idle.add(instance)
        return image
    }
}

private fun QrInstance.draw(text: String): ByteArray {
    val bytes = text.encodeToByteArray()
    val address = alloc(bytes.size)
    memory.write(address, bytes)
    val image = png(address, bytes.size)
    free(address, bytes.size)
    if (image == NO_IMAGE) throw QrCodesUnavailable("qr_png returned no image")
    return take(address = (image ushr 32).toInt(), length = image.toInt())
}

/** Copies bytes out of the module's memory, and frees them there. */
fun QrInstance.take(
    address: Int,
    length: Int,
): ByteArray {
    val bytes = memory.readBytes(address, length)
    free(address, length)
    return bytes
}
// ANCHOR_END: wasm
