// Tests which requests have a valid API key, and when the key is checked.
package workshop.records

import io.ktor.client.request.get
import io.ktor.client.request.header
import io.ktor.client.request.post
import io.ktor.client.statement.HttpResponse
import io.ktor.http.HttpStatusCode
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Test

class ApiKeyTest {
    @Test
    fun `no key answers 401 with a challenge`() =
        serviceTest { client ->
            assertUnauthorized(client.get("/read/1"))
        }

    @Test
    fun `a wrong key answers 401`() =
        serviceTest { client ->
            for (key in listOf("wrong", "valid_ke", "valid_key2", "VALID_KEY", "")) {
                assertUnauthorized(client.get("/read/1") { header("X-API-Key", key) })
                assertUnauthorized(client.get("/read/1?api_key=$key"))
            }
        }

    @Test
    fun `the header is accepted, whatever its case`() =
        serviceTest { client ->
            assertEquals(HttpStatusCode.OK, client.get("/read/1") { header("x-api-key", "valid_key") }.status)
        }

    @Test
    fun `the query parameter is accepted when there is no header`() =
        serviceTest { client ->
            assertEquals(HttpStatusCode.OK, client.get("/read/1?api_key=valid_key").status)
        }

    @Test
    fun `a wrong header is not rescued by a right query`() =
        serviceTest { client ->
            assertUnauthorized(client.get("/read/1?api_key=valid_key") { header("X-API-Key", "wrong") })
            assertUnauthorized(client.get("/read/1?api_key=valid_key") { header("X-API-Key", "") })
        }

    @Test
    fun `a right header is not spoilt by a wrong query`() =
        serviceTest { client ->
            val response = client.get("/read/1?api_key=wrong") { header("X-API-Key", "valid_key") }
            assertEquals(HttpStatusCode.OK, response.status)
        }

    @Test
    fun `the first key of several in the query counts`() =
        serviceTest { client ->
            assertUnauthorized(client.get("/read/1?api_key=&api_key=valid_key"))
            assertEquals(HttpStatusCode.OK, client.get("/read/1?api_key=valid_key&api_key=wrong").status)
        }

    @Test
    fun `the key is judged before the id, and before the database is asked`() {
        val records = FakeRecords()
        serviceTest(records) { client ->
            assertUnauthorized(client.get("/read/abc"))
            assertUnauthorized(client.get("/read/1"))
            assertUnauthorized(client.get("/records?limit=x"))
            assertUnauthorized(client.get("/records/export"))
            assertUnauthorized(client.post("/records/abc/visit"))
            assertUnauthorized(client.post("/visits"))
            assertEquals(emptyList<Int>(), records.asked)
        }
    }

    @Test
    fun `every configured key is accepted`() =
        serviceTest(apiKeys = listOf("first", "second")) { client ->
            assertEquals(HttpStatusCode.OK, client.get("/read/1?api_key=first").status)
            assertEquals(HttpStatusCode.OK, client.get("/read/1?api_key=second").status)
            assertUnauthorized(client.get("/read/1?api_key=valid_key"))
        }

    @Test
    fun `health and ready need no key`() =
        serviceTest { client ->
            assertEquals(HttpStatusCode.OK, client.get("/health").status)
            assertEquals(HttpStatusCode.OK, client.get("/ready").status)
        }

    private suspend fun assertUnauthorized(response: HttpResponse) {
        assertEquals("ApiKey", response.headers["WWW-Authenticate"])
        assertProblem(
            HttpStatusCode.Unauthorized,
            "a valid API key is required, in the header X-API-Key or the query parameter api_key",
            response,
        )
    }
}
