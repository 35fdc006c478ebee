// Tests the limits for connections without a valid key so far, on the engine that enforces them.
package workshop.records

import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import workshop.service.StrangerLimits
import java.net.Socket
import java.net.SocketTimeoutException
import kotlin.time.Duration.Companion.minutes
import kotlin.time.Duration.Companion.seconds

class StrangersTest {
    private val health = "GET /health HTTP/1.1\r\nHost: test\r\n\r\n"

    @Test
    fun `a connection is closed whose head does not come, the first or the next one`() =
        strangersTest(StrangerLimits(wait = 1.seconds)) { port ->
            for (sent in listOf("", "GET /health HTTP/1.1\r\nHost: te", health, health + "GET /hea")) {
                // Reads until the connection is closed. Fails if no data arrives within the socket's read timeout.
                val answer = connect(port, sent).use { it.getInputStream().readAllBytes().decodeToString() }
                assertEquals(sent.startsWith(health), answer.startsWith("HTTP/1.1 200"), sent)
            }
        }

    @Test
    fun `a body that is never sent does not keep a connection that has its answer`() =
        strangersTest(StrangerLimits(wait = 1.seconds)) { port ->
            val head = "POST /visits HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\n\r\n"
            val answer = connect(port, head).use { it.getInputStream().readAllBytes().decodeToString() }
            assertTrue(answer.startsWith("HTTP/1.1 401"))
        }

    @Test
    fun `a request that takes its time is not cut off`() {
        val mayEnd = CompletableDeferred<Unit>()
        val slow =
            object : RecordRepository by FakeRecords() {
                override fun all(after: Int?) =
                    flow {
                        emit(listOf(Record(1, "x", odd = true, divisibleBy3 = false, visited = false)))
                        mayEnd.await()
                    }
            }
        strangersTest(StrangerLimits(wait = 1.seconds), slow) { port ->
            val idle = connect(port, "")
            connect(port, "GET /records/export?api_key=valid_key HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n").use { export ->
                // Once the idle connection is closed, the export has outlasted the same limit.
                assertEquals(-1, idle.getInputStream().read())
                connect(port, "").use { assertEquals(-1, it.getInputStream().read()) }
                mayEnd.complete(Unit)
                assertTrue(export.getInputStream().readAllBytes().decodeToString().endsWith("0\r\n\r\n"))
            }
        }
    }

    @Test
    fun `more strangers wait until one goes, and clients with a key do not count`() =
        strangersTest(StrangerLimits(wait = 1.minutes, connections = 2)) { port ->
            val read = "GET /read/1?api_key=valid_key HTTP/1.1\r\nHost: test\r\n\r\n"
            val known = List(3) { connect(port, read).apply { status() } }
            val strangers = List(2) { connect(port, health).apply { status() } }
            val next = connect(port, health)
            next.soTimeout = 500
            assertTrue(runCatching { next.status() }.exceptionOrNull() is SocketTimeoutException)
            next.soTimeout = 5_000
            strangers.first().close()
            assertEquals("HTTP/1.1 200 OK", next.status())
            (known + strangers + next).forEach { it.close() }
        }

    @Test
    fun `a target may name the host, which reaches no log`() =
        strangersTest(StrangerLimits()) { port ->
            for ((target, status) in listOf(
                "http://user:pass@test/health" to "200 OK",
                "HTTP://test?x" to "404 Not Found",
                "https://test/read/1?api_key=valid_key" to "200 OK",
            )) {
                connect(port, "GET $target HTTP/1.1\r\nHost: test\r\n\r\n").use { assertEquals("HTTP/1.1 $status", it.status(), target) }
            }
        }

    @Test
    fun `a client of HTTP 1_0 is sent no chunks`() =
        strangersTest(StrangerLimits()) { port ->
            val export = "GET /records/export?api_key=valid_key HTTP/1.0\r\n\r\n"
            val answer = connect(port, export).use { it.getInputStream().readAllBytes().decodeToString() }
            val (head, body) = answer.split("\r\n\r\n", limit = 2)
            assertTrue(head.lines().none { it.startsWith("transfer-encoding", ignoreCase = true) }, head)
            assertEquals(5, body.trim().lines().size)
        }

    private fun Socket.status(): String = getInputStream().bufferedReader().readLine()

    private fun connect(
        port: Int,
        sent: String,
    ) = Socket("127.0.0.1", port).apply {
        soTimeout = 10_000
        getOutputStream().write(sent.encodeToByteArray())
    }

    private fun strangersTest(
        limits: StrangerLimits,
        records: RecordRepository = FakeRecords(),
        test: suspend (port: Int) -> Unit,
    ) {
        val server = testEngine(records, strangers = limits)
        server.start(wait = false)
        try {
            runBlocking { test(server.port) }
        } finally {
            server.stop()
        }
    }
}
