// Has Tomcat close a socket when the head of a frame announces too much. By itself it notices when too much has come. And keeps it from
// compressing what every browser offers to compress.
package workshop.records

import jakarta.servlet.http.HttpServletRequest
import jakarta.servlet.http.HttpServletRequestWrapper
import jakarta.servlet.http.HttpUpgradeHandler
import jakarta.websocket.CloseReason
import jakarta.websocket.Extension
import jakarta.websocket.server.ServerEndpointConfig
import org.apache.tomcat.websocket.MessagePart
import org.apache.tomcat.websocket.Transformation
import org.apache.tomcat.websocket.TransformationResult
import org.apache.tomcat.websocket.WsFrameBase
import org.apache.tomcat.websocket.WsIOException
import org.apache.tomcat.websocket.server.WsHandshakeRequest
import org.apache.tomcat.websocket.server.WsHttpUpgradeHandler
import org.apache.tomcat.websocket.server.WsServerContainer
import java.nio.ByteBuffer
import java.util.Collections
import java.util.Enumeration

/** A request that becomes a WebSocket whose frames are limited, and which has no extensions. */
class LimitedUpgrade(
    request: HttpServletRequest,
) : HttpServletRequestWrapper(request) {
    override fun <T : HttpUpgradeHandler> upgrade(handler: Class<T>): T =
        if (handler == WsHttpUpgradeHandler::class.java) handler.cast(super.upgrade(LimitedFrames::class.java)) else super.upgrade(handler)

    override fun getHeaders(name: String): Enumeration<String> =
        if (name.equals("Sec-WebSocket-Extensions", ignoreCase = true)) Collections.emptyEnumeration() else super.getHeaders(name)
}

class LimitedFrames : WsHttpUpgradeHandler() {
    override fun preInit(
        config: ServerEndpointConfig,
        container: WsServerContainer,
        request: WsHandshakeRequest,
        extensions: List<Extension>,
        subProtocol: String?,
        transformation: Transformation?,
        pathParameters: Map<String, String>,
        isSecure: Boolean,
    ) = super.preInit(config, container, request, extensions, subProtocol, Limit(transformation), pathParameters, isSecure)

    /** The first to be asked for the payload of a frame, as soon as its head has come. */
    private inner class Limit(
        private var next: Transformation?,
    ) : Transformation {
        override fun getMoreData(
            opCode: Byte,
            isLast: Boolean,
            reserved: Int,
            destination: ByteBuffer,
        ): TransformationResult {
            if (LENGTH.getLong(FRAME[this@LimitedFrames]) > MAX_MESSAGE_BYTES) {
                throw WsIOException(CloseReason(CloseReason.CloseCodes.TOO_BIG, ""))
            }
            return others().getMoreData(opCode, isLast, reserved, destination)
        }

        override fun setNext(last: Transformation) {
            next?.setNext(last) ?: run { next = last }
        }

        override fun validateRsvBits(used: Int) = others().validateRsvBits(used)

        override fun getExtensionResponse(): Extension? = others().extensionResponse

        override fun validateRsv(
            reserved: Int,
            opCode: Byte,
        ) = others().validateRsv(reserved, opCode)

        override fun sendMessagePart(parts: List<MessagePart>): List<MessagePart> = others().sendMessagePart(parts)

        override fun close() = others().close()

        private fun others() = checkNotNull(next)
    }

    private companion object {
        // Tomcat tells nobody the length in a frame's head.
        val FRAME = WsHttpUpgradeHandler::class.java.getDeclaredField("wsFrame").apply { isAccessible = true }
        val LENGTH = WsFrameBase::class.java.getDeclaredField("payloadLength").apply { isAccessible = true }
    }
}
