// How a request may be written. On the real engine and a bare connection, since no client would write all of this.
package workshop.records

import org.junit.jupiter.api.AfterAll
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.BeforeAll
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.TestInstance
import org.junit.jupiter.params.ParameterizedTest
import org.junit.jupiter.params.provider.ValueSource
import java.net.Socket

@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class RequestsTest {
    private val server = testEngine(FakeRecords())

    @BeforeAll
    fun start() {
        server.start(wait = false)
    }

    @AfterAll
    fun stop() = server.stop()

    @ParameterizedTest
    @ValueSource(strings = ["/read/5/", "/read//5", "//read/5", "/re%61d/5", "/read/%2B5", "/read/5?x=%zz", "/read/5#%"])
    fun `a path and a query may be written in many ways`(path: String) {
        val answer = answer(path, "X-API-Key: valid_key\r\n")
        assertTrue(answer.endsWith("""{"id":5,"value":"value 5","odd":true,"divisible_by_3":false,"visited":false}"""), answer)
    }

    @ParameterizedTest
    @ValueSource(strings = ["/read/%zz", "/read/5%", "/read/%ff", "/read/5%00"])
    fun `a segment that cannot be decoded is no id`(path: String) {
        val answer = answer(path, "X-API-Key: valid_key\r\n")
        assertTrue(answer.endsWith(""""detail":"id must be a 32-bit integer"}"""), answer)
        assertEquals("HTTP/1.1 401 Unauthorized", answer(path).lines().first())
    }

    @ParameterizedTest
    @ValueSource(strings = ["/%zz", "/read%2F5", "/%ff"])
    fun `nor is it a path that is known`(path: String) = assertEquals("HTTP/1.1 404 Not Found", answer(path).lines().first())

    @ParameterizedTest
    @ValueSource(strings = ["/read/5?x=%zz&api%5Fkey=valid_key", "/read/5?api_key=valid%5fkey&%", "/read/5?%&api_key=100%"])
    fun `a parameter is found beside others that cannot be decoded`(path: String) =
        assertEquals("HTTP/1.1 200 OK", answer(path).lines().first())

    @Test
    fun `a long request is read`() {
        val long = "x".repeat(60_000)
        assertEquals("HTTP/1.1 200 OK", answer("/health?$long", "X-Long: $long\r\n").lines().first())
    }

    private fun answer(
        target: String,
        headers: String = "",
    ): String =
        Socket("127.0.0.1", server.port).use { socket ->
            socket.soTimeout = 5_000
            socket.getOutputStream().write(
                "GET $target HTTP/1.1\r\nHost: test\r\nConnection: close\r\n$headers\r\n".encodeToByteArray(),
            )
            socket.getInputStream().readAllBytes().decodeToString()
        }
}
