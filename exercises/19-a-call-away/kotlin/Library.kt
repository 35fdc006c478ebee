// The functions of the native library, callable from the JVM.
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
import java.lang.foreign.ValueLayout.JAVA_BYTE
import java.lang.foreign.ValueLayout.JAVA_INT
import java.lang.foreign.ValueLayout.JAVA_LONG
import java.lang.invoke.MethodHandle
import java.nio.file.Path

// ANCHOR: library

/** The result of `qr_png` if there is an image. */
const val DRAWN = 0

/** `struct Bytes { uint8_t *data; size_t length; }` on a machine with 64 bits. */
val BYTES: StructLayout = MemoryLayout.structLayout(ADDRESS, JAVA_LONG)

/** The bytes that this struct points to, with its length. */
fun MemorySegment.bytes(): MemorySegment = get(ADDRESS, 0).reinterpret(get(JAVA_LONG, ADDRESS.byteSize()))

/** A copy of these bytes off the heap. `allocateFrom(JAVA_BYTE, *bytes)` is shorter, and copies the array once more. */
fun Arena.copyOf(bytes: ByteArray): MemorySegment =
    allocateFrom(JAVA_BYTE, MemorySegment.ofArray(bytes), JAVA_BYTE, 0, bytes.size.toLong())

/** `Outcome qr_png(const uint8_t *text, size_t length, struct Bytes *image)`; the function's address is its first argument. */
private val PNG = downcall(FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS))

/** `void qr_free(uint8_t *data, size_t length)` */
private val FREE = downcall(FunctionDescriptor.ofVoid(ADDRESS, JAVA_LONG))

/** `void qr_echo(const uint8_t *bytes, size_t length, struct Bytes *copy)` */
private val ECHO = downcall(FunctionDescriptor.ofVoid(ADDRESS, JAVA_LONG, ADDRESS))

/** Without an address, the handle of a function is a constant, and the JIT compiles its calls down to the jump. */
private fun downcall(function: FunctionDescriptor): MethodHandle = Linker.nativeLinker().downcallHandle(function)

/** The addresses of the functions in a library, and how each is called. */
class Library(
    symbols: SymbolLookup,
) {
    private val pngAt = symbols.address("qr_png")
    private val freeAt = symbols.address("qr_free")
    private val echoAt = symbols.address("qr_echo")

    /** Returns [DRAWN] and writes to [image] where the image is, or returns why there is none. */
    fun png(
        text: MemorySegment,
        image: MemorySegment,
    ): Int = PNG.invoke(pngAt, text, text.byteSize(), image) as Int

    /** Frees bytes that the library has handed over. */
    fun free(bytes: MemorySegment) {
        FREE.invoke(freeAt, bytes, bytes.byteSize())
    }

    /** Writes the address of a copy of the bytes to [copy]. */
    fun echo(
        bytes: MemorySegment,
        copy: MemorySegment,
    ) {
        ECHO.invoke(echoAt, bytes, bytes.byteSize(), copy)
    }

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

private fun SymbolLookup.address(function: String): MemorySegment =
    find(function).orElseThrow { QrCodesUnavailable("the library has no function $function") }
// ANCHOR_END: library
