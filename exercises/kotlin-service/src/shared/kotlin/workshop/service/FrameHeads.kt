// Checks the headers of a client's WebSocket frames for violations of RFC 6455 that Ktor ignores.
package workshop.service

import io.netty.buffer.ByteBuf
import io.netty.channel.ChannelHandlerContext
import io.netty.handler.codec.ByteToMessageDecoder
import io.netty.handler.codec.http.DefaultHttpContent
import io.netty.handler.codec.http.HttpContent

/**
 * Lets the frames of a WebSocket pass, but gives an invalid one an undefined opcode. Then Ktor refuses it, as it refuses
 * everything else that breaks the protocol.
 */
internal class FrameHeads : ByteToMessageDecoder() {
    /** The remaining bytes of a frame whose head was valid. */
    private var rest = 0L

    override fun channelRead(
        context: ChannelHandlerContext,
        message: Any,
    ) = super.channelRead(context, if (message is HttpContent) message.content() else message)

    override fun decode(
        context: ChannelHandlerContext,
        bytes: ByteBuf,
        out: MutableList<Any>,
    ) {
        if (rest == 0L) rest = frameSize(bytes) ?: return
        val part = minOf(rest, bytes.readableBytes().toLong())
        rest -= part
        out += DefaultHttpContent(bytes.readRetainedSlice(part.toInt()))
    }

    /** The size of the frame that begins here. Null if its head isn't complete yet. */
    private fun frameSize(bytes: ByteBuf): Long? {
        val head = bytes.readerIndex()
        if (bytes.readableBytes() < SHORTEST_HEAD) return null
        val sizeByte = bytes.getUnsignedByte(head + 1).toInt()
        if (bytes.getByte(head).toInt() and RESERVED != 0 || sizeByte and MASKED == 0) return refused(bytes)
        val moreOfSize =
            when (sizeByte and SIZE) {
                SIZE_IN_2 -> Short.SIZE_BYTES
                SIZE_IN_8 -> Long.SIZE_BYTES
                else -> 0
            }
        if (bytes.readableBytes() < SHORTEST_HEAD + moreOfSize) return null
        val size =
            when (moreOfSize) {
                Short.SIZE_BYTES -> bytes.getUnsignedShort(head + SHORTEST_HEAD).toLong()
                Long.SIZE_BYTES -> bytes.getLong(head + SHORTEST_HEAD)
                else -> (sizeByte and SIZE).toLong()
            }
        if (size < 0) return refused(bytes)
        val headSize = SHORTEST_HEAD + moreOfSize + MASK_BYTES
        return headSize + size.coerceAtMost(Long.MAX_VALUE - headSize)
    }

    /** After an invalid frame, nothing more is read. */
    private fun refused(bytes: ByteBuf): Long {
        bytes.setByte(bytes.readerIndex(), NO_OPCODE)
        return Long.MAX_VALUE
    }
}

private const val SHORTEST_HEAD = 2
private const val MASK_BYTES = 4
private const val RESERVED = 0x70
private const val NO_OPCODE = 0x8f
private const val MASKED = 0x80
private const val SIZE = 0x7f
private const val SIZE_IN_2 = 126
private const val SIZE_IN_8 = 127
