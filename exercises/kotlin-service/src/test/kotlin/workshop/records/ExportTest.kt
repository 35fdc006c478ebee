// /records/export, for a client with a valid key.
package workshop.records

import io.ktor.client.HttpClient
import io.ktor.client.request.get
import io.ktor.client.request.head
import io.ktor.client.request.header
import io.ktor.client.statement.bodyAsText
import io.ktor.http.HttpStatusCode
import io.netty.channel.ChannelOption
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.emptyFlow
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import workshop.service.DatabaseUnavailable
import java.net.Socket
import java.sql.SQLException
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds

class ExportTest {
    @Test
    fun `an export has a line for each record, the last one included`() =
        serviceTest { client ->
            val response = client.export()
            assertEquals(HttpStatusCode.OK, response.status)
            assertEquals("application/x-ndjson", response.headers["Content-Type"])
            val lines = response.bodyAsText().split('\n')
            assertEquals("""{"id":1,"value":"value 1","odd":true,"divisible_by_3":false,"visited":false}""", lines.first())
            assertEquals("""{"id":5,"value":"value 5","odd":true,"divisible_by_3":false,"visited":false}""", lines[4])
            assertEquals(listOf(""), lines.drop(5))
        }

    @Test
    fun `an export goes on after an id`() =
        serviceTest { client ->
            val response = client.get("/records/export?after=3") { header("X-API-Key", "valid_key") }
            val ids = Regex("\"id\":(\\d+)").findAll(response.bodyAsText()).map { it.groupValues[1] }
            assertEquals(listOf("4", "5"), ids.toList())
            for (after in listOf("", "x", "2147483648")) {
                val refused = client.get("/records/export?after=$after") { header("X-API-Key", "valid_key") }
                assertProblem(HttpStatusCode.BadRequest, "after must be a 32-bit integer", refused)
            }
        }

    @Test
    fun `a client that takes a little all the time reads at the deadline that it was too slow`() {
        val endless = exporting(flow { while (true) emit(List(1_000) { record }) })
        engineTest(endless, exportLimits(deadline = 500.milliseconds)) { port ->
            openExport(port).use { socket ->
                val lines = socket.getInputStream().bufferedReader().lineSequence()
                // Reads more slowly than the service can write, but not so slowly that the client timeout fires.
                val told =
                    lines.take(1_000_000).withIndex().any { (index, line) ->
                        if (index % 100 == 0) Thread.sleep(1)
                        line == TOO_SLOW
                    }
                assertTrue(told)
            }
        }
    }

    @Test
    fun `no records are an empty export`() =
        serviceTest(exporting(emptyFlow())) { client ->
            val response = client.export()
            assertEquals(HttpStatusCode.OK, response.status)
            assertEquals("", response.bodyAsText())
        }

    @Test
    fun `a HEAD answers the headers, and leaves room for the next export`() =
        serviceTest { client ->
            repeat(2) {
                val response = client.head("/records/export?api_key=valid_key")
                assertEquals(HttpStatusCode.OK, response.status)
                assertEquals("application/x-ndjson", response.headers["Content-Type"])
            }
            assertEquals(HttpStatusCode.OK, client.export().status)
        }

    @Test
    fun `a database that is away answers 503`() =
        serviceTest(FakeRecords(DatabaseUnavailable(SQLException()))) { client ->
            assertProblem(HttpStatusCode.ServiceUnavailable, "the database does not answer", client.export())
            assertEquals(HttpStatusCode.ServiceUnavailable, client.head("/records/export?api_key=valid_key").status)
        }

    @Test
    fun `an export too many answers 503, and succeeds when there is room again`() {
        val begun = CompletableDeferred<Unit>()
        val mayEnd = CompletableDeferred<Unit>()
        val slow =
            exporting(
                flow {
                    begun.complete(Unit)
                    mayEnd.await()
                },
            )
        serviceTest(slow, exportLimits = exportLimits(turnTimeout = 50.milliseconds)) { client ->
            coroutineScope {
                val first = async { client.export() }
                begun.await()
                assertProblem(HttpStatusCode.ServiceUnavailable, "too many exports are running", client.export())
                mayEnd.complete(Unit)
                assertEquals(HttpStatusCode.OK, first.await().status)
                assertEquals(HttpStatusCode.OK, client.export().status)
            }
        }
    }

    @Test
    fun `a client that leaves ends the export`() {
        val ended = CompletableDeferred<Unit>()
        val endless =
            exporting(
                flow {
                    // More than fits in one chunk, so that part of the batch is sent while the flow waits.
                    emit(List(1_000) { record })
                    try {
                        awaitCancellation()
                    } finally {
                        ended.complete(Unit)
                    }
                },
            )
        engineTest(endless) { port ->
            openExport(port).use { it.getInputStream().read() }
            runBlocking { withTimeout(5.seconds) { ended.await() } }
        }
    }

    @Test
    fun `an export that fails half-way says so in its last line`() {
        val failing =
            exporting(
                flow {
                    emit(List(1_000) { record })
                    throw DatabaseUnavailable(SQLException())
                },
            )
        serviceTest(failing) { client ->
            val lines = client.export().bodyAsText().split('\n')
            assertEquals(
                """{"type":"about:blank","title":"Service Unavailable","status":503,"detail":"the database does not answer"}""",
                lines[lines.size - 2],
            )
            assertEquals("", lines.last())
        }
    }

    @Test
    fun `a client that takes nothing reads in the last line that it was too slow, and holds nothing up`() {
        val ended = CompletableDeferred<Int>()
        val endless =
            exporting(
                flow {
                    var batches = 0
                    try {
                        while (true) {
                            emit(List(1_000) { record })
                            batches += 1
                        }
                    } finally {
                        ended.complete(batches)
                    }
                },
            )
        engineTest(endless, exportLimits(clientTimeout = 100.milliseconds)) { port ->
            openExport(port).use { socket ->
                val batches = runBlocking { withTimeout(5.seconds) { ended.await() } }
                // A batch is about 100 kB. Most of the batches that were read fill the operating system's buffers.
                assertTrue(batches < 100, "$batches batches were read for nobody")
                val lines = socket.getInputStream().bufferedReader().lineSequence()
                assertTrue(lines.any { it == TOO_SLOW })
            }
        }
    }

    private val record = Record(1, "x".repeat(32), odd = true, divisibleBy3 = false, visited = false)

    private fun exporting(batches: Flow<List<Record>>) =
        object : RecordRepository by FakeRecords() {
            override fun all(after: Int?) = batches
        }

    private fun engineTest(
        records: RecordRepository,
        limits: ExportLimits = exportLimits(),
        test: (port: Int) -> Unit,
    ) {
        val server =
            testEngine(records, limits) {
                // A small send buffer, so that a client counts as slow before megabytes are unread.
                childOption(ChannelOption.SO_SNDBUF, 8_192)
            }
        server.start(wait = false)
        try {
            test(server.port)
        } finally {
            server.stop()
        }
    }

    private suspend fun HttpClient.export() = get("/records/export") { header("X-API-Key", "valid_key") }

    private fun openExport(port: Int) =
        Socket("127.0.0.1", port).apply {
            soTimeout = 5_000
            getOutputStream().write("GET /records/export?api_key=valid_key HTTP/1.1\r\nHost: test\r\n\r\n".encodeToByteArray())
        }

    private companion object {
        const val TOO_SLOW =
            """{"type":"about:blank","title":"Request Timeout","status":408,"detail":"the client did not take the export in time"}"""
    }
}
