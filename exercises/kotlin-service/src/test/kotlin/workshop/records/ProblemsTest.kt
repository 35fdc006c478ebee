// The responses when no route matches, or when the route doesn't support the method.
package workshop.records

import io.ktor.client.request.get
import io.ktor.client.request.request
import io.ktor.http.HttpMethod
import io.ktor.http.HttpStatusCode
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.params.ParameterizedTest
import org.junit.jupiter.params.provider.ValueSource
import java.net.Socket

class ProblemsTest {
    @ParameterizedTest
    @ValueSource(strings = ["/", "/nothing", "/health/more", "/read", "/read/", "/read/1/2", "/records/1"])
    fun `an unknown path answers 404`(path: String) =
        serviceTest { client ->
            assertProblem(HttpStatusCode.NotFound, "there is nothing at this path", client.get("$path?api_key=valid_key"))
        }

    /** Ktor decides which of the two: 405 on a path without a parameter, 404 on one with. */
    @ParameterizedTest
    @ValueSource(strings = ["/health", "/read/1", "/records", "/records/export"])
    fun `another method answers 404 or 405 as a problem`(path: String) =
        serviceTest { client ->
            for (method in listOf("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW")) {
                val response = client.request("$path?api_key=valid_key") { this.method = HttpMethod.parse(method) }
                when (response.status) {
                    HttpStatusCode.NotFound -> assertProblem(response.status, "there is nothing at this path", response)
                    else -> assertProblem(HttpStatusCode.MethodNotAllowed, "this path does not support that method", response)
                }
            }
        }

    @ParameterizedTest
    @ValueSource(strings = ["/read/%zz", "/read/5%", "/%zz", "/read/1?api_key=%zz", "/qrcode?text=%zz", "/records?after=%"])
    fun `what cannot be decoded is refused as a problem`(target: String) {
        val server = testEngine(FakeRecords())
        server.start(wait = false)
        try {
            val answer = answerTo(target, server.port)
            assertTrue(answer.startsWith("HTTP/1.1 4"), answer)
            assertTrue("application/problem+json" in answer, answer)
        } finally {
            server.stop()
        }
    }

    /** On a bare connection: Ktor's client would not send these. */
    private fun answerTo(
        target: String,
        port: Int,
    ): String =
        Socket("127.0.0.1", port).use { socket ->
            socket.soTimeout = 5_000
            val head = "GET $target HTTP/1.1\r\nHost: test\r\nConnection: close\r\nX-API-Key: valid_key\r\n\r\n"
            socket.getOutputStream().write(head.replace("X-API-Key: valid_key\r\n", if ("api_key" in target) "" else "X-API-Key: valid_key\r\n").encodeToByteArray())
            socket.getInputStream().readAllBytes().decodeToString()
        }
}
