// Writes a black-and-white image as a PNG file: one bit per pixel, no filters, one chunk of deflated rows.
package workshop.records

import java.io.ByteArrayOutputStream
import java.io.DataOutputStream
import java.util.zip.CRC32
import java.util.zip.Deflater
import java.util.zip.DeflaterOutputStream

/** Takes less than half the time of the default level, 6, for a tenth more bytes. The Rust side uses the same. */
private const val DEFLATE_LEVEL = 3

// ANCHOR: png

/** A square image, [width] pixels wide, to which rows are added from top to bottom. */
class BlackAndWhiteImage(
    private val width: Int,
) {
    private val rows = ByteArrayOutputStream()

    fun whiteRow() = Row(width)

    fun add(row: Row) = rows.writeBytes(row.bytes)

    /** The image as a file. */
    fun toPng(): ByteArray {
        val file = ByteArrayOutputStream()
        DataOutputStream(file).apply {
            write(SIGNATURE)
            writeChunk("IHDR", header())
            writeChunk("IDAT", deflated(rows.toByteArray()))
            writeChunk("IEND", byteArrayOf())
        }
        return file.toByteArray()
    }

    private fun header(): ByteArray {
        val bytes = ByteArrayOutputStream()
        DataOutputStream(bytes).apply {
            writeInt(width)
            writeInt(width)
            // 1 bit per pixel, grayscale, deflate compression, filter method 0 (five filters), not interlaced.
            write(byteArrayOf(1, 0, 0, 0, 0))
        }
        return bytes.toByteArray()
    }

    /** A row of pixels: first the number of its filter, 0 for none, then eight pixels per byte, 1 is white. */
    class Row(
        width: Int,
    ) {
        internal val bytes = ByteArray(1 + (width + 7) / 8) { index -> if (index == 0) 0 else -1 }

        fun darken(
            from: Int,
            pixels: Int,
        ) {
            for (pixel in from..<from + pixels) {
                val index = 1 + pixel / 8
                val mask = 0x80 shr pixel % 8
                bytes[index] = (bytes[index].toInt() and mask.inv()).toByte()
            }
        }
    }

    private companion object {
        val SIGNATURE = byteArrayOf(0x89.toByte()) + "PNG\r\n\u001a\n".encodeToByteArray()
    }
}
// ANCHOR_END: png

/** One per thread: a deflater's memory, which lies outside of the heap, is a hundred times that of an image. */
private val deflaters = ThreadLocal.withInitial { Deflater(DEFLATE_LEVEL) }

private fun deflated(bytes: ByteArray): ByteArray {
    val deflater = deflaters.get().apply { reset() }
    val deflated = ByteArrayOutputStream()
    DeflaterOutputStream(deflated, deflater).use { it.write(bytes) }
    return deflated.toByteArray()
}

private fun DataOutputStream.writeChunk(
    name: String,
    content: ByteArray,
) {
    val checked = name.encodeToByteArray() + content
    writeInt(content.size)
    write(checked)
    writeInt(CRC32().apply { update(checked) }.value.toInt())
}
