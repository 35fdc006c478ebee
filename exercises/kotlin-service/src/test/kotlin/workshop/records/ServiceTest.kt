// What the tests share: the whole service on Ktor's test host, above records that need no database.
package workshop.records

import io.ktor.client.HttpClient
import io.ktor.client.statement.HttpResponse
import io.ktor.client.statement.bodyAsText
import io.ktor.http.HttpStatusCode
import io.ktor.server.testing.testApplication
import org.junit.jupiter.api.Assertions.assertEquals

/** Records 1 to 5, or [failure] for every question. Remembers the [asked] ids. */
class FakeRecords(
    private val failure: Throwable? = null,
) : RecordRepository {
    val asked = mutableListOf<Int>()

    override suspend fun ping() {
        failure?.let { throw it }
    }

    override suspend fun find(id: Int): Record? {
        asked += id
        failure?.let { throw it }
        return Record(id, "value $id", odd = id % 2 == 1, divisibleBy3 = id % 3 == 0, visited = id == 4)
            .takeIf { id in 1..5 }
    }
}

fun serviceTest(
    records: RecordRepository = FakeRecords(),
    apiKeys: List<String> = listOf("valid_key"),
    qrCodes: QrCodes = ZxingQrCodes(),
    test: suspend (HttpClient) -> Unit,
) = testApplication {
    application { service(records, apiKeys, qrCodes) }
    test(client)
}

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
