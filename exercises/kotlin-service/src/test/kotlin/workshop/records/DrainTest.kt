// Tests that a shutdown waits for requests in flight, on the real engine, whose shutdown has to wait.
package workshop.records

import io.ktor.server.application.ApplicationStopPreparing
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.delay
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Test
import java.net.URI
import java.net.http.HttpClient
import java.net.http.HttpRequest
import java.net.http.HttpResponse.BodyHandlers
import java.util.concurrent.TimeUnit
import kotlin.time.Duration.Companion.milliseconds

class DrainTest {
    @Test
    fun `a request under way is answered though the service stops`() {
        val asked = CompletableDeferred<Unit>()
        val stopping = CompletableDeferred<Unit>()
        val slowRecords =
            object : RecordRepository by FakeRecords() {
                override suspend fun ping() {
                    asked.complete(Unit)
                    stopping.await()
                    // Keeps the request in flight: an engine that doesn't wait closes the connection in the meantime.
                    delay(100.milliseconds)
                }
            }
        val server = testEngine(slowRecords)
        server.monitor.subscribe(ApplicationStopPreparing) { stopping.complete(Unit) }
        server.start(wait = false)

        val request = HttpRequest.newBuilder(URI("http://127.0.0.1:${server.port}/ready")).build()
        val response = HttpClient.newHttpClient().sendAsync(request, BodyHandlers.ofString())
        runBlocking { asked.await() }
        server.stop()

        val answer = response.get(10, TimeUnit.SECONDS)
        assertEquals(200, answer.statusCode())
        assertEquals("close", answer.headers().firstValue("Connection").orElse("none"))
    }
}
