// /records, for a client with a valid key.
package workshop.records

import io.ktor.client.request.get
import io.ktor.client.request.head
import io.ktor.client.statement.bodyAsText
import io.ktor.http.HttpStatusCode
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Test
import org.junit.jupiter.params.ParameterizedTest
import org.junit.jupiter.params.provider.ValueSource
import workshop.service.DatabaseUnavailable
import java.sql.SQLException

class RecordsTest {
    @Test
    fun `a page answers its records, and where the next one begins`() =
        serviceTest { client ->
            val response = client.get("/records?after=2&limit=2&api_key=valid_key")
            assertEquals(HttpStatusCode.OK, response.status)
            assertEquals("application/json", response.headers["Content-Type"])
            assertEquals(
                """{"records":[{"id":3,"value":"value 3","odd":true,"divisible_by_3":true,"visited":false},""" +
                    """{"id":4,"value":"value 4","odd":false,"divisible_by_3":false,"visited":true}],"next":4}""",
                response.bodyAsText(),
            )
        }

    @Test
    fun `the last page names no next one, though it is full`() =
        serviceTest { client ->
            assertEquals(
                """{"records":[{"id":5,"value":"value 5","odd":true,"divisible_by_3":false,"visited":false}]}""",
                client.get("/records?after=4&limit=1&api_key=valid_key").bodyAsText(),
            )
        }

    @Test
    fun `after the last record there is nothing`() =
        serviceTest { client ->
            assertEquals("""{"records":[]}""", client.get("/records?after=2147483647&api_key=valid_key").bodyAsText())
        }

    @Test
    fun `without parameters a page begins at the first record and has 100`() {
        val hundredAndOne =
            object : RecordRepository by FakeRecords() {
                override suspend fun page(
                    after: Int,
                    limit: Int,
                ) = List(limit) { Record(after + 1 + it, "", odd = false, divisibleBy3 = false, visited = false) }
            }
        serviceTest(hundredAndOne) { client ->
            val page = client.get("/records?api_key=valid_key").bodyAsText()
            assertEquals(100, page.split("\"id\":").size - 1)
            assertEquals("\"next\":100}", page.substringAfterLast(','))
        }
    }

    @ParameterizedTest
    @ValueSource(
        strings = [
            "after=", "after=abc", "after=2147483648", "after=1.0", "limit=0&after=x", "after=x&after=1",
        ],
    )
    fun `an after that is no 32-bit integer answers 400, whatever the limit`(query: String) {
        val records = FakeRecords()
        serviceTest(records) { client ->
            assertProblem(
                HttpStatusCode.BadRequest,
                "after must be a 32-bit integer",
                client.get("/records?$query&api_key=valid_key"),
            )
            assertEquals(emptyList<Int>(), records.asked)
        }
    }

    @ParameterizedTest
    @ValueSource(strings = ["0", "1001", "-1", "", "abc", "1e2", "99999999999"])
    fun `a limit that is no whole number from 1 to 1000 answers 400`(limit: String) =
        serviceTest { client ->
            assertProblem(
                HttpStatusCode.BadRequest,
                "limit must be a whole number from 1 to 1000",
                client.get("/records?limit=$limit&api_key=valid_key"),
            )
        }

    @ParameterizedTest
    @ValueSource(strings = ["after=-2147483648&limit=1000", "after=%2B0", "limit=007", "limit=1&limit=0", "unknown=x"])
    fun `any other query is fine`(query: String) =
        serviceTest { client ->
            assertEquals(HttpStatusCode.OK, client.get("/records?$query&api_key=valid_key").status)
        }

    @Test
    fun `a HEAD answers as a GET does`() =
        serviceTest { client ->
            assertEquals(HttpStatusCode.OK, client.head("/records?api_key=valid_key").status)
        }

    @Test
    fun `a database that is away answers 503`() =
        serviceTest(FakeRecords(DatabaseUnavailable(SQLException()))) { client ->
            assertProblem(
                HttpStatusCode.ServiceUnavailable,
                "the database does not answer",
                client.get("/records?api_key=valid_key"),
            )
        }
}
