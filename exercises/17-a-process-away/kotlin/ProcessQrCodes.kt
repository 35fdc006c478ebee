// Draws QR codes with a separate program: one process per code reads the text and writes the image.
package workshop.qrcode

import workshop.records.QrCodes
import workshop.records.QrCodesUnavailable
import java.io.IOException
import kotlin.time.Duration

// ANCHOR: process

/** Runs at most [atOnce] of [program] at the same time, and waits at most [timeout] for an image. */
class ProcessQrCodes(
    private val program: String,
    private val atOnce: Int,
    private val timeout: Duration,
) : QrCodes {
    override suspend fun png(text: String): ByteArray =
        TODO("start the program, at most $atOnce of them at a time, and end it when its image has not come within $timeout")

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
// ANCHOR_END: process
