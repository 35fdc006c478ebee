// /read/{id}, for a client with a valid key.
package workshop.records

import io.ktor.client.HttpClient
import io.ktor.client.request.get
import io.ktor.client.request.head
import io.ktor.client.request.header
import io.ktor.client.statement.HttpResponse
import io.ktor.client.statement.bodyAsText
import io.ktor.http.HttpStatusCode
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Test
import org.junit.jupiter.params.ParameterizedTest
import org.junit.jupiter.params.provider.CsvSource
import org.junit.jupiter.params.provider.ValueSource
import workshop.service.DatabaseUnavailable
import java.sql.SQLException

class ReadTest {
    @Test
    fun `a known id answers its record`() =
        serviceTest { client ->
            val response = client.read("3")
            assertEquals(HttpStatusCode.OK, response.status)
            assertEquals("application/json", response.headers["Content-Type"])
            assertEquals(
                """{"id":3,"value":"value 3","odd":true,"divisible_by_3":true,"visited":false}""",
                response.bodyAsText(),
            )
        }

    @ParameterizedTest
    @CsvSource("5, 5", "+5, 5", "%2B5, 5", "005, 5", "-1, -1", "2147483647, 2147483647", "-2147483648, -2147483648")
    fun `an ASCII integer of 32 bits is an id`(
        text: String,
        id: Int,
    ) {
        val records = FakeRecords()
        serviceTest(records) { client ->
            client.read(text)
            assertEquals(listOf(id), records.asked)
        }
    }

    @ParameterizedTest
    @ValueSource(strings = ["2147483648", "-2147483649", "abc", "1.0", "%201", "1x", "+", "-", "--1"])
    fun `anything else is no id`(text: String) {
        val records = FakeRecords()
        serviceTest(records) { client ->
            assertProblem(HttpStatusCode.BadRequest, "id must be a 32-bit integer", client.read(text))
            assertEquals(emptyList<Int>(), records.asked)
        }
    }

    @Test
    fun `an unknown id answers 404 and names it`() =
        serviceTest { client ->
            assertProblem(HttpStatusCode.NotFound, "there is no record with id 6", client.read("006"))
        }

    @Test
    fun `a database that is away answers 503`() =
        serviceTest(FakeRecords(DatabaseUnavailable(SQLException()))) { client ->
            assertProblem(HttpStatusCode.ServiceUnavailable, "the database does not answer", client.read("1"))
        }

    @Test
    fun `any other failure answers 500 and tells nothing of it`() =
        serviceTest(FakeRecords(SQLException("relation \"records\" does not exist"))) { client ->
            assertProblem(HttpStatusCode.InternalServerError, "an unexpected error occurred", client.read("1"))
        }

    @Test
    fun `a HEAD answers as a GET does`() =
        serviceTest { client ->
            val response = client.head("/read/3?api_key=valid_key")
            assertEquals(HttpStatusCode.OK, response.status)
            assertEquals("application/json", response.headers["Content-Type"])
        }

    private suspend fun HttpClient.read(id: String): HttpResponse = get("/read/$id") { header("X-API-Key", "valid_key") }
}
