// Draws QR codes with a separate program: one process per code reads the text and writes the image.
package workshop.qrcode

import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.sync.Semaphore
import kotlinx.coroutines.sync.withPermit
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeoutOrNull
import workshop.records.QrCodes
import workshop.records.QrCodesUnavailable
import java.io.IOException
import kotlin.time.Duration

// ANCHOR: process

/** Runs at most [atOnce] of [program] at the same time, and waits at most [timeout] for an image. */
class ProcessQrCodes(
    private val program: String,
    atOnce: Int,
    private val timeout: Duration,
) : QrCodes {
    private val places = Semaphore(atOnce)

    override suspend fun png(text: String): ByteArray =
        withTimeoutOrNull(timeout) { places.withPermit { draw(text) } }
            ?: throw QrCodesUnavailable("$program has not drawn an image within $timeout")

    /** If the timeout ends this early, the program ends with it. */
    private suspend fun draw(text: String): ByteArray =
        coroutineScope {
            // Set inside the block: a timeout just as the block returns would lose the process.
            var process: Process? = null
            try {
                val started = withContext(Dispatchers.IO) { start().also { process = it } }
                async(Dispatchers.IO) { started.imageOf(text) }.await()
            } finally {
                process?.destroyForcibly()
            }
        }

    /** A list of one word: no shell reads it. The program's standard error goes to the service's log. */
    private fun start(): Process =
        try {
            ProcessBuilder(listOf(program))
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start()
        } catch (cause: IOException) {
            throw QrCodesUnavailable("$program cannot be started", cause)
        }
}

/** Reads before it waits for the end: a program whose output isn't read never ends. */
private fun Process.imageOf(text: String): ByteArray {
    try {
        outputStream.use { it.write(text.encodeToByteArray()) }
    } catch (cause: IOException) {
        throw QrCodesUnavailable("the program does not take the text", cause)
    }
    val image = inputStream.use { it.readBytes() }
    val code = waitFor()
    if (code != 0) throw QrCodesUnavailable("the program ended with exit code $code")
    return image
}
// ANCHOR_END: process
