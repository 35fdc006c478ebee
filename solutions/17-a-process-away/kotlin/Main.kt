// Starts the Kotlin service with QR codes that a Rust program draws.
package workshop.qrcode

import workshop.records.serve
import kotlin.system.exitProcess
import kotlin.time.Duration.Companion.milliseconds

/**
 * QRCODE_PROGRAM is the path of the program. QRCODE_TIMEOUT_MS is the maximum time that a request waits for its image,
 * QRCODE_AT_ONCE the maximum number of programs at the same time: more of them than processors only wait for each other.
 */
fun main() {
    val program = System.getenv("QRCODE_PROGRAM") ?: refuse("QRCODE_PROGRAM is missing: set it to the path of the program.")
    val timeout = positive("QRCODE_TIMEOUT_MS", default = 2_000)
    val atOnce = positive("QRCODE_AT_ONCE", default = Runtime.getRuntime().availableProcessors())
    serve(ProcessQrCodes(program, atOnce, timeout.milliseconds))
}

private fun positive(
    name: String,
    default: Int,
): Int {
    val value = System.getenv(name) ?: return default
    return value.toIntOrNull()?.takeIf { it > 0 } ?: refuse("$name is \"$value\": set it to a whole number above 0.")
}

private fun refuse(complaint: String): Nothing {
    System.err.println(complaint)
    exitProcess(1)
}
