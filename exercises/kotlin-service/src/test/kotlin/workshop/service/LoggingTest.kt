// Tests how log events are encoded as JSON.
package workshop.service

import ch.qos.logback.classic.Level
import ch.qos.logback.classic.LoggerContext
import ch.qos.logback.classic.spi.LoggingEvent
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.slf4j.event.KeyValuePair
import java.time.Instant

class LoggingTest {
    @Test
    fun `an event is one line of JSON, whatever is in its message`() {
        val event = encoded("two\nlines and \"quotes\"")
        assertEquals("2026-01-02T03:04:05Z", event.text("timestamp"))
        assertEquals("ERROR", event.text("level"))
        assertEquals("two\nlines and \"quotes\"", event.text("message"))
        assertEquals("7f", event.text("request_id"))
    }

    @Test
    fun `an exception is a member of its event`() {
        val event = encoded("message", IllegalStateException("a column does not exist"))
        assertTrue(event.text("exception").startsWith("java.lang.IllegalStateException: a column does not exist"))
    }

    private fun encoded(
        message: String,
        cause: Throwable? = null,
    ): JsonObject {
        val logger = LoggerContext().getLogger("test")
        val event = LoggingEvent("", logger, Level.ERROR, message, cause, null)
        event.instant = Instant.parse("2026-01-02T03:04:05Z")
        event.addKeyValuePair(KeyValuePair("request_id", "7f"))
        val lines = JsonLineEncoder().encode(event).decodeToString()
        assertEquals(1, lines.count { it == '\n' })
        return Json.parseToJsonElement(lines).jsonObject
    }

    private fun JsonObject.text(name: String) = getValue(name).jsonPrimitive.content
}
