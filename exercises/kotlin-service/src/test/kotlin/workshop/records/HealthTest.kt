// /health and /ready.
package workshop.records

import io.ktor.client.request.get
import io.ktor.client.statement.bodyAsText
import io.ktor.http.HttpStatusCode
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Test
import workshop.service.DatabaseUnavailable
import java.sql.SQLException

class HealthTest {
    private val databaseAway = FakeRecords(DatabaseUnavailable(SQLException()))

    @Test
    fun `health answers ok though the database is away`() =
        serviceTest(databaseAway) { client ->
            val response = client.get("/health")
            assertEquals(HttpStatusCode.OK, response.status)
            assertEquals("application/json", response.headers["Content-Type"])
            assertEquals("""{"status":"ok"}""", response.bodyAsText())
        }

    @Test
    fun `ready answers ready when the database answers`() =
        serviceTest { client ->
            val response = client.get("/ready")
            assertEquals(HttpStatusCode.OK, response.status)
            assertEquals("""{"status":"ready"}""", response.bodyAsText())
        }

    @Test
    fun `ready answers 503 when the database is away`() =
        serviceTest(databaseAway) { client ->
            assertProblem(
                HttpStatusCode.ServiceUnavailable,
                "the database does not answer",
                client.get("/ready"),
            )
        }

    @Test
    fun `ready answers 503 while the migrations have not run`() =
        serviceTest(schemaIsUpToDate = false) { client ->
            assertProblem(
                HttpStatusCode.ServiceUnavailable,
                "the schema is not up to date yet",
                client.get("/ready"),
            )
        }
}
