// /visits, for a client with a valid key.
package workshop.records

import io.ktor.client.HttpClient
import io.ktor.client.request.header
import io.ktor.client.request.post
import io.ktor.client.request.setBody
import io.ktor.client.statement.HttpResponse
import io.ktor.client.statement.bodyAsText
import io.ktor.http.HttpStatusCode
import io.ktor.http.content.ByteArrayContent
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Test
import org.junit.jupiter.params.ParameterizedTest
import org.junit.jupiter.params.provider.ValueSource
import workshop.service.DatabaseUnavailable
import java.sql.SQLException

class VisitsTest {
    @Test
    fun `the records named are visited, and counted once each`() {
        val records = FakeRecords()
        serviceTest(records) { client ->
            val response = client.visits("""{"ids":[3,1,3]}""")
            assertEquals(HttpStatusCode.OK, response.status)
            assertEquals("application/json", response.headers["Content-Type"])
            assertEquals("""{"visited":2}""", response.bodyAsText())
            assertEquals(setOf(1, 3, 4), records.visited)
        }
    }

    @Test
    fun `no ids are no visits`() =
        serviceTest { client ->
            assertEquals("""{"visited":0}""", client.visits("""{"ids":[]}""").bodyAsText())
        }

    @Test
    fun `the ids without a record are named in order, once each, and nothing is visited`() {
        val records = FakeRecords()
        serviceTest(records) { client ->
            assertProblem(
                HttpStatusCode.NotFound,
                "there are no records with the ids -7, 6, 2147483647",
                client.visits("""{"ids":[6,1,2147483647,6,-7]}"""),
            )
            assertEquals(setOf(4), records.visited)
        }
    }

    @ParameterizedTest
    @ValueSource(
        strings = [
            """ { "ids" : [ 1 ] , "ids2" : { "ids" : [ "1" ] } } """,
            "{\"\\u0069ds\":[1]}",
            """{"a":[1.5e-7,null,true,"\ud83d\ude00"],"ids":[1],"a":0}""",
        ],
    )
    fun `other members of the body are ignored`(body: String) =
        serviceTest { client ->
            assertEquals("""{"visited":1}""", client.visits(body).bodyAsText())
        }

    @ParameterizedTest
    @ValueSource(
        strings = [
            "null", "1", "\"ids\"", "[]", "[[1]]", "{}", """{"ids":null}""", """{"ids":1}""", """{"ids":{}}""",
            """{"ids":["1"]}""", """{"ids":[1.0]}""", """{"ids":[1e0]}""", """{"ids":[null]}""",
            """{"ids":[[1]]}""", """{"ids":[2147483648]}""", """{"ids":[-2147483649]}""", """{"IDS":[1]}""",
        ],
    )
    fun `JSON of another shape answers 422`(body: String) = assertUnprocessable(body)

    @Test
    fun `a thousand ids are accepted, and one more answers 422 though they are equal`() {
        serviceTest { client ->
            assertEquals("""{"visited":1}""", client.visits(idsOf(1_000)).bodyAsText())
        }
        assertUnprocessable(idsOf(1_001))
    }

    @ParameterizedTest
    @ValueSource(
        strings = [
            "", " ", "ids", "{", """{"ids":[1]} x""", """{"ids":[1]}{}""", """{"ids":[1,]}""", """{"ids":[1],}""",
            """{ids:[1]}""", """{'ids':[1]}""", """{"ids":[01]}""", """{"ids":[+1]}""", """{"ids":[1.]}""", """{"ids":[NaN]}""",
            """{"ids":[1]/**/}""", """{"ids":[1],"a":"\x"}""", "{\"ids\":[1],\"a\":\"\t\"}", """{"ids":"1""",
        ],
    )
    fun `what is no JSON answers 400`(body: String) = assertNoJson(body.encodeToByteArray())

    @Test
    fun `bytes that are no UTF-8 answer 400`() =
        assertNoJson("""{"ids":[1],"a":"ä"}""".toByteArray(Charsets.ISO_8859_1))

    @ParameterizedTest
    @ValueSource(strings = ["application/json", "Application/JSON;charset=latin1", "application/json; x=y"])
    fun `the parameters of the media type are ignored`(contentType: String) =
        serviceTest { client ->
            assertEquals(HttpStatusCode.OK, client.visits("""{"ids":[1]}""", contentType).status)
        }

    @ParameterizedTest
    @ValueSource(strings = ["text/plain", "application/jsonx", "application/problem+json"])
    fun `another media type answers 415, however large the body`(contentType: String) =
        serviceTest { client ->
            assertProblem(
                HttpStatusCode.UnsupportedMediaType,
                "the body must be application/json",
                client.visits(" ".repeat(32_769), contentType),
            )
        }

    @Test
    fun `a body of 32768 bytes is read, and a larger one answers 413`() =
        serviceTest { client ->
            assertEquals(HttpStatusCode.OK, client.visits("""{"ids":[1]}""".padEnd(32_768)).status)
            assertProblem(
                HttpStatusCode.PayloadTooLarge,
                "the body must not be larger than 32768 bytes",
                client.visits("""{"ids":[1]}""".padEnd(32_769)),
            )
        }

    @Test
    fun `a database that is away answers 503`() =
        serviceTest(FakeRecords(DatabaseUnavailable(SQLException()))) { client ->
            assertProblem(
                HttpStatusCode.ServiceUnavailable,
                "the database does not answer",
                client.visits("""{"ids":[1]}"""),
            )
        }

    private fun idsOf(count: Int) = """{"ids":[${List(count) { 1 }.joinToString()}]}"""

    private fun assertUnprocessable(body: String) =
        serviceTest { client ->
            assertProblem(
                HttpStatusCode.UnprocessableEntity,
                """the body must be {\"ids\": […]} with at most 1000 32-bit integers""",
                client.visits(body),
            )
        }

    private fun assertNoJson(body: ByteArray) =
        serviceTest { client ->
            assertProblem(HttpStatusCode.BadRequest, "the body must be JSON", client.visits(body))
        }

    private suspend fun HttpClient.visits(
        body: String,
        contentType: String = "application/json",
    ): HttpResponse = visits(body.encodeToByteArray(), contentType)

    private suspend fun HttpClient.visits(
        body: ByteArray,
        contentType: String = "application/json",
    ): HttpResponse =
        post("/visits") {
            header("X-API-Key", "valid_key")
            header("Content-Type", contentType)
            setBody(ByteArrayContent(body))
        }
}
