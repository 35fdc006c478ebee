// /price/{id}, for a client with a valid key.
package workshop.records

import io.ktor.client.HttpClient
import io.ktor.client.request.get
import io.ktor.client.request.header
import io.ktor.client.statement.HttpResponse
import io.ktor.client.statement.bodyAsText
import io.ktor.http.HttpStatusCode
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.coroutineScope
import kotlinx.io.IOException
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Test
import org.junit.jupiter.params.ParameterizedTest
import org.junit.jupiter.params.provider.ValueSource
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds

class PriceTest {
    @Test
    fun `a record comes with its price`() =
        priceTest({ path -> answer("""{"id":${path.substringAfterLast('/')},"cents":1999,"currency":"EUR"}""") }) { client ->
            assertEquals(
                """{"record":{"id":3,"value":"value 3","odd":true,"divisible_by_3":true,"visited":false},"cents":1999}""",
                client.price("3").bodyAsText(),
            )
        }

    @Test
    fun `without a service of prices there is no such path`() =
        serviceTest { client -> assertProblem(HttpStatusCode.NotFound, "there is nothing at this path", client.price("3")) }

    @ParameterizedTest
    @ValueSource(
        strings = ["", "3", "[]", "{}", """{"id":4,"cents":1}""", """{"id":3,"cents":"1"}""", """{"id":3,"cents":1.5}""", """{"id":3"""],
    )
    fun `an answer without a price answers 502`(body: String) =
        priceTest({ answer(body) }) { client ->
            assertProblem(HttpStatusCode.BadGateway, "the price service gave no usable answer", client.price("3"))
        }

    @Test
    fun `an answer with another status answers 502`() =
        priceTest({ UpstreamAnswer(500, """{"id":3,"cents":1}""".encodeToByteArray()) }) { client ->
            assertProblem(HttpStatusCode.BadGateway, "the price service gave no usable answer", client.price("3"))
        }

    @Test
    fun `a connection that breaks answers 502`() =
        priceTest({ throw IOException("connection reset") }) { client ->
            assertProblem(HttpStatusCode.BadGateway, "the price service gave no usable answer", client.price("3"))
        }

    @Test
    fun `a price that is late answers 504`() =
        priceTest({ awaitCancellation() }, timeout = 20.milliseconds) { client ->
            assertProblem(HttpStatusCode.GatewayTimeout, "the price did not come in time", client.price("3"))
        }

    @Test
    fun `an unknown id does not wait for a price`() =
        priceTest({ awaitCancellation() }) { client ->
            assertProblem(HttpStatusCode.NotFound, "there is no record with id 6", client.price("6"))
        }

    @Test
    fun `a request that gets no place in time answers 503`() {
        val asked = CompletableDeferred<Unit>()
        val answered = CompletableDeferred<Unit>()
        val upstream =
            Upstream {
                asked.complete(Unit)
                answered.await()
                answer("""{"id":3,"cents":1}""")
            }
        priceTest(upstream) { client ->
            coroutineScope {
                val first = async { client.price("3") }
                asked.await()
                assertProblem(HttpStatusCode.ServiceUnavailable, "too many requests wait for prices", client.price("3"))
                answered.complete(Unit)
                assertEquals(HttpStatusCode.OK, first.await().status)
            }
        }
    }

    private fun priceTest(
        upstream: Upstream,
        timeout: Duration = 10.seconds,
        test: suspend (HttpClient) -> Unit,
    ) {
        val settings = PriceSettings("", limit = 1, wait = 20.milliseconds, timeout, deadline = 10.seconds, Waiting.COROUTINES)
        serviceTest(prices = Prices(upstream, settings), test = test)
    }

    private fun answer(body: String) = UpstreamAnswer(200, body.encodeToByteArray())

    private suspend fun HttpClient.price(id: String): HttpResponse = get("/price/$id") { header("X-API-Key", "valid_key") }
}
