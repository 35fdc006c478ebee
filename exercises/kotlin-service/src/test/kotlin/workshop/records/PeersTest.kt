// /peers/{name}, for a client with a valid key, and the room behind it.
package workshop.records

import io.ktor.client.HttpClient
import io.ktor.client.request.get
import io.ktor.client.request.header
import io.ktor.client.statement.HttpResponse
import io.ktor.http.HttpStatusCode
import io.ktor.websocket.CloseReason
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertFalse
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.params.ParameterizedTest
import org.junit.jupiter.params.provider.ValueSource
import kotlin.time.Duration.Companion.seconds

class PeersTest {
    private val room = Room(PeerSettings(queue = 2, pingPeriod = 20.seconds))

    @Test
    fun `a request without an upgrade answers 426`() =
        serviceTest { client ->
            val answer = client.peer("ada")
            assertProblem(HttpStatusCode.UpgradeRequired, "this path needs a WebSocket of version 13", answer)
            assertEquals("websocket", answer.headers["Upgrade"])
        }

    @ParameterizedTest
    @ValueSource(strings = ["a.b", "a%20b", "%C3%A4", "123456789012345678901234567890123"])
    fun `a name that cannot be one answers 400`(name: String) =
        serviceTest { client ->
            val detail = "name must be 1 to 32 letters, digits, hyphens and underscores"
            assertProblem(HttpStatusCode.BadRequest, detail, client.peer(name))
        }

    @Test
    fun `the key is judged before the name`() =
        serviceTest { client -> assertEquals(HttpStatusCode.Unauthorized, client.get("/peers/a.b").status) }

    @Test
    fun `a name is given once, until its peer has left`() {
        val ada = checkNotNull(room.enter("ada"))
        assertNull(room.enter("ada"))
        room.leave(ada)
        checkNotNull(room.enter("ada"))
    }

    @Test
    fun `a peer whose inbox is full is removed, and not its successor`() =
        runBlocking {
            val ada = checkNotNull(room.enter("ada"))
            repeat(2) { assertTrue(room.send("ada", "message $it")) }
            assertFalse(room.send("ada", "one too many"))
            assertEquals(CloseReason.Codes.TRY_AGAIN_LATER, ada.removed.await().knownReason)
            checkNotNull(room.enter("ada"))
            room.leave(ada)
            assertTrue(room.send("ada", "for the successor"))
        }

    @Test
    fun `a message to all goes to all others`() =
        runBlocking {
            val (ada, ben, cleo) = listOf("ada", "ben", "cleo").map { checkNotNull(room.enter(it)) }
            room.broadcast(ada, "hello")
            assertEquals(listOf("hello", "hello"), listOf(ben, cleo).map { it.inbox.receive() })
            assertTrue(ada.inbox.tryReceive().isFailure)
        }

    @Test
    fun `who comes while the service stops is asked to leave`() =
        runBlocking {
            room.close()
            val late = checkNotNull(room.enter("late"))
            assertEquals(CloseReason.Codes.GOING_AWAY, late.removed.await().knownReason)
        }

    private suspend fun HttpClient.peer(name: String): HttpResponse = get("/peers/$name") { header("X-API-Key", "valid_key") }
}
