// Starts the Kotlin service with QR codes that a WebAssembly module draws.
package workshop.qrcode

import workshop.records.serve
import kotlin.system.exitProcess
import kotlin.time.Duration.Companion.milliseconds

/**
 * The module is among the service's classes. QRCODE_TIMEOUT_MS is the maximum time that a request waits for its image,
 * QRCODE_AT_ONCE the maximum number of instances that draw at the same time: more of them than processors only wait for each
 * other.
 */
fun main() {
    val timeout = positive("QRCODE_TIMEOUT_MS", default = 2_000)
    val atOnce = positive("QRCODE_AT_ONCE", default = Runtime.getRuntime().availableProcessors())
    serve(WasmQrCodes(atOnce, timeout.milliseconds, QrInstance::compiled))
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
