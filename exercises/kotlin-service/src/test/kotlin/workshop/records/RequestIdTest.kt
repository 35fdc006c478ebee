// The request id in the response.
package workshop.records

import io.ktor.client.HttpClient
import io.ktor.client.request.get
import io.ktor.client.request.header
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertNotEquals
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.params.ParameterizedTest
import org.junit.jupiter.params.provider.ValueSource

class RequestIdTest {
    @ParameterizedTest
    @ValueSource(strings = ["/health", "/read/1", "/read/one?api_key=valid_key", "/nothing"])
    fun `every answer has an id of its own`(path: String) =
        serviceTest { client ->
            val ids = List(2) { client.get(path).headers["X-Request-Id"].orEmpty() }
            ids.forEach { assertTrue(Regex("[A-Za-z0-9_-]{1,64}").matches(it), it) }
            assertNotEquals(ids.first(), ids.last())
        }

    @ParameterizedTest
    @ValueSource(strings = ["7", "Anna-Karenina_1877", "0123456789012345678901234567890123456789012345678901234567890123"])
    fun `an id that the request has brought is taken over`(id: String) =
        serviceTest { client ->
            assertEquals(id, client.idOf(id))
        }

    @ParameterizedTest
    @ValueSource(strings = ["", "two words", "\",\"level\":\"ERROR", "Straße", "a,b"])
    fun `one that could be mistaken for something else is replaced`(id: String) =
        serviceTest { client ->
            assertNotEquals(id, client.idOf(id))
        }

    @Test
    fun `one that is too long is replaced`() =
        serviceTest { client ->
            assertNotEquals("x".repeat(65), client.idOf("x".repeat(65)))
        }

    private suspend fun HttpClient.idOf(brought: String) =
        get("/health") { header("X-Request-Id", brought) }.headers["X-Request-Id"]
}
