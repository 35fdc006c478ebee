// /qrcode: ZXing's own reader decodes the images here; the contract suite uses an independent reader.
package workshop.records

import com.google.zxing.BinaryBitmap
import com.google.zxing.RGBLuminanceSource
import com.google.zxing.common.HybridBinarizer
import com.google.zxing.qrcode.QRCodeReader
import io.ktor.client.request.get
import io.ktor.client.statement.readRawBytes
import io.ktor.http.HttpStatusCode
import io.ktor.http.encodeURLParameter
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Test
import java.io.ByteArrayInputStream
import javax.imageio.ImageIO

class QrCodeTest {
    private fun readBack(png: ByteArray): Pair<Int, String> {
        val image = ImageIO.read(ByteArrayInputStream(png))
        val pixels = image.getRGB(0, 0, image.width, image.height, null, 0, image.width)
        val bitmap = BinaryBitmap(HybridBinarizer(RGBLuminanceSource(image.width, image.height, pixels)))
        return image.width to QRCodeReader().decode(bitmap).text
    }

    @Test
    fun `a code is read back as the text`() =
        serviceTest { client ->
            for (text in listOf("x", "0123456789", "HELLO WORLD", "Grüße, 東京 😀", "a+b c%20&", "\u0000 NUL", "a".repeat(512))) {
                val response = client.get("/qrcode?text=${text.encodeURLParameter()}")
                assertEquals(HttpStatusCode.OK, response.status, text)
                assertEquals("image/png", response.headers["Content-Type"])
                assertEquals(text, readBack(response.readRawBytes()).second)
            }
        }

    @Test
    fun `an image is as wide as the smallest whole scale makes it`() =
        serviceTest { client ->
            val widths = listOf(1, 512).map { readBack(client.get("/qrcode?text=${"a".repeat(it)}").readRawBytes()).first }
            assertEquals(listOf(203, 255), widths)
        }

    @Test
    fun `no text and an empty one are refused`() =
        serviceTest { client ->
            for (query in listOf("", "?", "?text", "?text=", "?other=x")) {
                assertProblem(
                    HttpStatusCode.BadRequest,
                    "the query parameter text is missing or empty",
                    client.get("/qrcode$query"),
                )
            }
        }

    @Test
    fun `the limit counts bytes`() =
        serviceTest { client ->
            assertEquals(HttpStatusCode.OK, client.get("/qrcode?text=${"ä".repeat(256).encodeURLParameter()}").status)
            val tooLong = client.get("/qrcode?text=${"ä".repeat(256).encodeURLParameter()}x")
            assertProblem(HttpStatusCode.BadRequest, "text must be at most 512 bytes of UTF-8, but has 513", tooLong)
        }

    @Test
    fun `a code that cannot be drawn now answers 503`() =
        serviceTest(qrCodes = { throw QrCodesUnavailable("the program is missing") }) { client ->
            assertProblem(HttpStatusCode.ServiceUnavailable, "QR codes cannot be made now", client.get("/qrcode?text=x"))
        }
}
