// For `just measure exercise-19`: repeatedly times calls of several sizes, with and without crossing the boundary.
package workshop.qrcode

import kotlinx.coroutines.runBlocking
import workshop.records.QrCodes
import workshop.records.ZxingQrCodes
import java.lang.foreign.Arena

/** How often each call is timed, and how long each time. */
private const val ROUNDS = 12
private const val ROUND_NANOSECONDS = 100_000_000L

/** Rounds that are not counted: the JVM compiles meanwhile. */
private const val WARM_UP = 6

private class Timed(
    val call: String,
    val by: String,
    val bytes: Int,
    val run: () -> ByteArray,
) {
    val microseconds = mutableListOf<Double>()

    fun round() {
        var calls = 0
        var taken = 0L
        val began = System.nanoTime()
        var gone = 0L
        while (gone < ROUND_NANOSECONDS) {
            // Use the results, so that the JIT compiler can't eliminate the calls.
            taken += run().size
            calls += 1
            gone = System.nanoTime() - began
        }
        check(taken >= 0)
        microseconds += gone / 1e3 / calls
    }

    /** One line of JSON: the microseconds of a call, round by round. */
    override fun toString() =
        """{"call":"$call","by":"$by","bytes":$bytes,"us":${microseconds.drop(WARM_UP)}}"""
}

fun main() {
    val path = library()
    val library = Library.load(path)
    val native = NativeQrCodes(path)
    val zxing = ZxingQrCodes()
    val timed =
        listOf(0, 1_000, 100_000).flatMap { size ->
            val bytes = ByteArray(size) { 'a'.code.toByte() }
            listOf(
                Timed("copy", "rust", size) { library.copyOf(bytes) },
                Timed("copy", "kotlin", size) { bytes.copyOf() },
            )
        } +
            listOf(32, 512).flatMap { size ->
                listOf(
                    Timed("code", "rust", size) { native.pngNow("a".repeat(size)) },
                    Timed("code", "kotlin", size) { zxing.pngNow("a".repeat(size)) },
                )
            }
    repeat(WARM_UP + ROUNDS) { timed.shuffled().forEach(Timed::round) }
    timed.forEach(::println)
}

private fun Library.copyOf(bytes: ByteArray): ByteArray =
    Arena.ofConfined().use { arena ->
        val copy = arena.allocate(BYTES)
        echo(arena.copyOf(bytes), copy)
        take(copy.bytes())
    }

private fun QrCodes.pngNow(text: String): ByteArray = runBlocking { png(text) }
