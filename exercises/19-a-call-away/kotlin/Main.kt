// Starts the Kotlin service with QR codes that a native library draws.
package workshop.qrcode

import workshop.records.serve
import java.nio.file.Path
import kotlin.system.exitProcess

fun main() = serve(NativeQrCodes(library()))

/**
 * QRCODE_LIBRARY is the path of the library without what a platform adds to its name: `lib/qrcodes` is `lib/libqrcodes.so` on
 * Linux, `lib/libqrcodes.dylib` on macOS and `lib/qrcodes.dll` on Windows.
 */
fun library(): Path {
    val setting = System.getenv("QRCODE_LIBRARY") ?: refuse("QRCODE_LIBRARY is missing: set it to the path of the library.")
    val path = Path.of(setting)
    return path.resolveSibling(System.mapLibraryName(path.fileName.toString()))
}

private fun refuse(complaint: String): Nothing {
    System.err.println(complaint)
    exitProcess(1)
}
