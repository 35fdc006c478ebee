// The request log: one event for each request.
package workshop.records

import ch.qos.logback.classic.Level
import ch.qos.logback.classic.Logger
import ch.qos.logback.classic.spi.ILoggingEvent
import ch.qos.logback.core.read.ListAppender
import io.ktor.client.request.get
import org.junit.jupiter.api.AfterEach
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.BeforeEach
import org.junit.jupiter.params.ParameterizedTest
import org.junit.jupiter.params.provider.ValueSource
import org.slf4j.LoggerFactory

class RequestLogTest {
    private val logger = LoggerFactory.getLogger("workshop.service.requests") as Logger
    private val logged = ListAppender<ILoggingEvent>()
    private val usual = logger.level

    @BeforeEach
    fun listen() {
        logger.level = Level.INFO
        logger.addAppender(logged.apply { start() })
    }

    @AfterEach
    fun stopListening() {
        logger.detachAppender(logged)
        logger.level = usual
    }

    @ParameterizedTest
    @ValueSource(strings = ["/health", "/read/1", "/nothing"])
    fun `a request is logged once, also if StatusPages replaces its answer`(path: String) {
        serviceTest { client -> client.get(path) }
        assertEquals(listOf("answered"), logged.list.map { it.message })
    }
}
