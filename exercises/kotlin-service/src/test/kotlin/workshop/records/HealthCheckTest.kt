// Tests the health check that a container image runs.
package workshop.records

import org.junit.jupiter.api.Assertions.assertNotNull
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Test

class HealthCheckTest {
    @Test
    fun `a service that answers is healthy, and one that is gone is not`() {
        val server = testEngine(FakeRecords())
        server.start(wait = false)
        val settings =
            Settings.from(
                mapOf(
                    "DATABASE_URL" to "postgres://db/records",
                    "API_KEYS" to "a_key",
                    "ADDRESS" to "0.0.0.0",
                    "PORT" to "${server.port}",
                ),
            )
        try {
            assertNull(healthComplaint(settings))
        } finally {
            server.stop()
        }
        assertNotNull(healthComplaint(settings))
    }
}
