// Queries whose prepared statements were invalidated by a schema change.
package workshop.service

import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.postgresql.util.PSQLException
import org.postgresql.util.ServerErrorMessage
import java.sql.SQLException

class StalePlanTest {
    private val stale = failure(state = "0A000", routine = "RevalidateCachedQuery")
    private val steps = mutableListOf<String>()

    @Test
    fun `a read is tried once more, after a rollback`() {
        assertEquals("the row", readFailingWith(stale))
        assertEquals(listOf("query", "rollback", "query"), steps)
    }

    @Test
    fun `it is so, too, where the statement is gone, and where Exposed has wrapped the failure`() {
        assertEquals("the row", readFailingWith(failure(state = "26000", routine = "FetchPreparedStatement")))
        assertEquals("the row", readFailingWith(SQLException(stale)))
    }

    @Test
    fun `a second time is an outage`() {
        val thrown = assertThrows(SQLException::class.java) { readFailingWith(stale, stale) }
        assertTrue(thrown.orUnavailable() is DatabaseUnavailable)
        assertEquals(listOf("query", "rollback", "query"), steps)
    }

    @Test
    fun `what PostgreSQL has not got, and other failures, are not tried again`() {
        val notImplemented = failure(state = "0A000", routine = "transformSelect")
        val noColumn = failure(state = "42703", routine = "errorMissingColumn")
        for (other in listOf(notImplemented, noColumn)) {
            steps.clear()
            assertEquals(other, assertThrows(SQLException::class.java) { readFailingWith(other) })
            assertEquals(listOf("query"), steps)
        }
    }

    private fun readFailingWith(vararg failures: SQLException): String {
        val left = failures.toMutableList()
        return againWithNewPlan({ steps += "rollback" }) {
            steps += "query"
            if (left.isNotEmpty()) throw left.removeFirst()
            "the row"
        }
    }

    private fun failure(
        state: String,
        routine: String,
    ) = PSQLException(ServerErrorMessage("SERROR\u0000C$state\u0000Mfailed\u0000R$routine\u0000"))
}
