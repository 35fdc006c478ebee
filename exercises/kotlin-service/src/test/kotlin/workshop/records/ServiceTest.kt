// Shared by the tests: the whole service on Ktor's test host, with records that need no database.
package workshop.records

import io.ktor.client.HttpClient
import io.ktor.client.statement.HttpResponse
import io.ktor.client.statement.bodyAsText
import io.ktor.http.HttpStatusCode
import io.ktor.server.engine.EmbeddedServer
import io.ktor.server.engine.connector
import io.ktor.server.engine.embeddedServer
import io.ktor.server.netty.Netty
import io.ktor.server.testing.testApplication
import io.netty.bootstrap.ServerBootstrap
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Assertions.assertEquals
import workshop.service.Connections
import workshop.service.StrangerLimits
import workshop.service.drainOnStop
import workshop.service.track
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds

/** Records 1 to 5, or [failure] for every call. Remembers the [asked] ids, and which records are [visited]. */
class FakeRecords(
    private val failure: Throwable? = null,
) : RecordRepository {
    val asked = mutableListOf<Int>()
    val visited = mutableSetOf(4)

    override suspend fun ping() {
        failure?.let { throw it }
    }

    override suspend fun find(id: Int): Record? {
        asked += id
        failure?.let { throw it }
        return record(id).takeIf { id in IDS }
    }

    override suspend fun page(
        after: Int,
        limit: Int,
    ): List<Record> {
        asked += after
        failure?.let { throw it }
        return IDS.filter { it > after }.take(limit).map { record(it) }
    }

    override fun all(after: Int?): Flow<List<Record>> =
        flow {
            failure?.let { throw it }
            IDS.filter { after == null || it > after }.chunked(2).forEach { batch -> emit(batch.map { record(it) }) }
        }

    override suspend fun visit(id: Int): Record? {
        asked += id
        failure?.let { throw it }
        if (id !in IDS) return null
        visited += id
        return record(id)
    }

    override suspend fun takeBack(id: Int): Record? {
        asked += id
        failure?.let { throw it }
        if (id !in IDS) return null
        visited -= id
        return record(id)
    }

    override suspend fun visitAll(ids: Set<Int>): List<Int> {
        asked += ids
        failure?.let { throw it }
        val missing = ids.filter { it !in IDS }
        if (missing.isEmpty()) visited += ids
        return missing
    }

    private fun record(id: Int) =
        Record(id, "value $id", odd = id % 2 == 1, divisibleBy3 = id % 3 == 0, visited = id in visited)

    private companion object {
        val IDS = 1..5
    }
}

fun serviceTest(
    records: RecordRepository = FakeRecords(),
    apiKeys: List<String> = listOf("valid_key"),
    schemaIsUpToDate: Boolean = true,
    exportLimits: ExportLimits = exportLimits(),
    qrCodes: QrCodes = ZxingQrCodes(),
    prices: Prices? = null,
    outbox: Outbox = Outbox.OFF,
    tokens: Tokens? = null,
    test: suspend (HttpClient) -> Unit,
) = testApplication {
    application { service(records, { schemaIsUpToDate }, exportLimits, apiKeys, qrCodes, prices, outbox = outbox, tokens = tokens) }
    test(client)
}

fun exportLimits(
    turnTimeout: Duration = 1.seconds,
    clientTimeout: Duration = 1.seconds,
    deadline: Duration = 10.seconds,
) = ExportLimits(concurrent = 1, turnTimeout, clientTimeout, deadline)

/** The service on the real engine, for what the test host cannot show. It is not started yet. */
fun testEngine(
    records: RecordRepository = FakeRecords(),
    exportLimits: ExportLimits = exportLimits(),
    strangers: StrangerLimits = StrangerLimits(),
    configure: ServerBootstrap.() -> Unit = {},
): EmbeddedServer<*, *> {
    val connections = Connections(strangers)
    return embeddedServer(
        Netty,
        configure = {
            connector {
                host = "127.0.0.1"
                port = 0
            }
            shutdownGracePeriod = 0
            configureBootstrap = configure
            track(connections)
        },
    ) {
        drainOnStop(connections, atMost = 10.seconds)
        service(records, { true }, exportLimits, listOf("valid_key"))
    }
}

/** The port that a started engine listens on. */
val EmbeddedServer<*, *>.port: Int
    get() = runBlocking { engine.resolvedConnectors().single().port }

suspend fun assertProblem(
    status: HttpStatusCode,
    detail: String,
    response: HttpResponse,
) {
    assertEquals(status, response.status)
    assertEquals("application/problem+json", response.headers["Content-Type"])
    assertEquals(
        """{"type":"about:blank","title":"${status.description}","status":${status.value},"detail":"$detail"}""",
        response.bodyAsText(),
    )
}
