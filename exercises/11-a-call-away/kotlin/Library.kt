// The functions of the native library, as the JVM calls them.
package workshop.qrcode

import workshop.records.QrCodesUnavailable
import java.lang.foreign.Arena
import java.lang.foreign.FunctionDescriptor
import java.lang.foreign.Linker
import java.lang.foreign.MemoryLayout
import java.lang.foreign.MemorySegment
import java.lang.foreign.StructLayout
import java.lang.foreign.SymbolLookup
import java.lang.foreign.ValueLayout.ADDRESS
import java.lang.foreign.ValueLayout.JAVA_INT
import java.lang.foreign.ValueLayout.JAVA_LONG
import java.lang.invoke.MethodHandle
import java.nio.file.Path

// ANCHOR: library

/** What `qr_png` returns when there is an image. */
const val DRAWN = 0

/** `struct Bytes { uint8_t *data; size_t length; }` on a machine with 64 bits. */
val BYTES: StructLayout = MemoryLayout.structLayout(ADDRESS, JAVA_LONG)

/** Where the bytes are, and as many as there are. */
fun MemorySegment.bytes(): MemorySegment = get(ADDRESS, 0).reinterpret(get(JAVA_LONG, ADDRESS.byteSize()))

class Library(
    symbols: SymbolLookup,
) {
    /** `Outcome qr_png(const uint8_t *text, size_t length, struct Bytes *image)` */
    val png = symbols.function("qr_png", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS))

    /** `void qr_free(uint8_t *data, size_t length)` */
    val free = symbols.function("qr_free", FunctionDescriptor.ofVoid(ADDRESS, JAVA_LONG))

    /** `void qr_echo(const uint8_t *bytes, size_t length, struct Bytes *copy)` */
    val echo = symbols.function("qr_echo", FunctionDescriptor.ofVoid(ADDRESS, JAVA_LONG, ADDRESS))

    companion object {
        /** Loads a library for good: the JVM keeps it until it ends. */
        fun load(path: Path): Library =
            try {
                Library(SymbolLookup.libraryLookup(path, Arena.global()))
            } catch (cause: IllegalArgumentException) {
                throw QrCodesUnavailable("$path cannot be loaded", cause)
            }
    }
}

private fun SymbolLookup.function(
    name: String,
    description: FunctionDescriptor,
): MethodHandle {
    val address = find(name).orElseThrow { QrCodesUnavailable("the library has no function $name") }
    return Linker.nativeLinker().downcallHandle(address, description)
}
// ANCHOR_END: library
