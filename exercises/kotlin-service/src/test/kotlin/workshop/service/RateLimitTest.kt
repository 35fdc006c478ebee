// Tests that an outage is logged, but not once per request.
package workshop.service

import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Test
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds
import kotlin.time.TestTimeSource

class RateLimitTest {
    @Test
    fun `one event per period is admitted with the number of the others`() {
        val time = TestTimeSource()
        val limit = RateLimit(1.seconds, time)
        assertEquals(0, limit.admit("outage"))
        assertNull(limit.admit("outage"))
        time += 999.milliseconds
        assertNull(limit.admit("outage"))
        time += 1.milliseconds
        assertEquals(2, limit.admit("outage"))
        time += 1.seconds
        assertEquals(0, limit.admit("outage"))
    }

    @Test
    fun `one cause does not hide another`() {
        val limit = RateLimit(1.seconds, TestTimeSource())
        assertEquals(0, limit.admit("prices"))
        assertEquals(0, limit.admit("outage"))
        assertNull(limit.admit("prices"))
    }
}
