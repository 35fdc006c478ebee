// /records/{id}/visit, for a client with a valid key.
package workshop.records

import io.ktor.client.HttpClient
import io.ktor.client.request.delete
import io.ktor.client.request.header
import io.ktor.client.request.post
import io.ktor.client.request.setBody
import io.ktor.client.statement.bodyAsText
import io.ktor.http.HttpStatusCode
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Test
import workshop.service.DatabaseUnavailable
import java.sql.SQLException

class VisitTest {
    @Test
    fun `a visit answers the visited record, and the same when it is repeated`() =
        serviceTest { client ->
            repeat(2) {
                val response = client.visit("3")
                assertEquals(HttpStatusCode.OK, response.status)
                assertEquals("application/json", response.headers["Content-Type"])
                assertEquals(
                    """{"id":3,"value":"value 3","odd":true,"divisible_by_3":true,"visited":true}""",
                    response.bodyAsText(),
                )
            }
        }

    @Test
    fun `a visit is taken back only where visits are shared`() {
        serviceTest(outbox = Outbox.ON) { client ->
            client.visit("3")
            val response = client.delete("/records/3/visit") { header("X-API-Key", "valid_key") }
            assertEquals(
                """{"id":3,"value":"value 3","odd":true,"divisible_by_3":true,"visited":false}""",
                response.bodyAsText(),
            )
        }
        serviceTest { client ->
            val response = client.delete("/records/3/visit") { header("X-API-Key", "valid_key") }
            assertEquals(HttpStatusCode.NotFound, response.status)
        }
    }

    @Test
    fun `a body is ignored`() =
        serviceTest { client ->
            assertEquals(HttpStatusCode.OK, client.visit("3", body = "no JSON").status)
        }

    @Test
    fun `an id that is none answers 400`() =
        serviceTest { client ->
            assertProblem(HttpStatusCode.BadRequest, "id must be a 32-bit integer", client.visit("abc"))
            // `export` is also the name of a route: /records/export.
            assertProblem(HttpStatusCode.BadRequest, "id must be a 32-bit integer", client.visit("export"))
        }

    @Test
    fun `an unknown id answers 404 and names it`() =
        serviceTest { client ->
            assertProblem(HttpStatusCode.NotFound, "there is no record with id -6", client.visit("-06"))
        }

    @Test
    fun `a database that is away answers 503`() =
        serviceTest(FakeRecords(DatabaseUnavailable(SQLException()))) { client ->
            assertProblem(HttpStatusCode.ServiceUnavailable, "the database does not answer", client.visit("1"))
        }

    private suspend fun HttpClient.visit(
        id: String,
        body: String = "",
    ) = post("/records/$id/visit") {
        header("X-API-Key", "valid_key")
        setBody(body)
    }
}
