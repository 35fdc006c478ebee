// What is answered where no route is, or where it does not support the method.
package workshop.records

import io.ktor.client.request.get
import io.ktor.client.request.request
import io.ktor.client.statement.HttpResponse
import io.ktor.http.HttpMethod
import io.ktor.http.HttpStatusCode
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.params.ParameterizedTest
import org.junit.jupiter.params.provider.ValueSource

class ProblemsTest {
    @ParameterizedTest
    @ValueSource(strings = ["/", "/nothing", "/health/more", "/read", "/read/", "/read/1/2", "/records/1"])
    fun `an unknown path answers 404`(path: String) =
        serviceTest { client ->
            assertProblem(HttpStatusCode.NotFound, "there is nothing at this path", client.get("$path?api_key=valid_key"))
        }

    @ParameterizedTest
    @ValueSource(strings = ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
    fun `another method on a path to read answers 405 and names the right ones`(method: String) =
        serviceTest { client ->
            for (path in listOf("/health", "/ready", "/read/1", "/records", "/records/export")) {
                assertMethodNotAllowed("GET, HEAD", client.request(path) { this.method = HttpMethod.parse(method) })
            }
        }

    @ParameterizedTest
    @ValueSource(strings = ["GET", "PUT", "PATCH", "DELETE", "OPTIONS"])
    fun `another method on a path to post to answers 405 and names the right one`(method: String) =
        serviceTest { client ->
            for (path in listOf("/records/1/visit", "/records/export/visit", "/visits")) {
                assertMethodNotAllowed("POST", client.request(path) { this.method = HttpMethod.parse(method) })
            }
        }

    @ParameterizedTest
    @ValueSource(strings = ["/health", "/read/1", "/visits", "/nothing"])
    fun `a method that HTTP does not know answers 400`(path: String) =
        serviceTest { client ->
            val response = client.request(path) { method = HttpMethod("BREW") }
            assertProblem(HttpStatusCode.BadRequest, "the request is malformed", response)
        }

    private suspend fun assertMethodNotAllowed(
        allow: String,
        response: HttpResponse,
    ) {
        assertEquals(allow, response.headers["Allow"])
        assertProblem(HttpStatusCode.MethodNotAllowed, "this path does not support that method", response)
    }
}
