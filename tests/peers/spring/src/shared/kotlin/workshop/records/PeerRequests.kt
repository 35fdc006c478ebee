// What a request for a place in the room has to bring.
package workshop.records

import org.springframework.http.HttpMethod
import org.springframework.http.HttpRequest
import org.springframework.http.HttpStatus

private val NAME = Regex("[A-Za-z0-9_-]{1,32}")

/** The name of a peer, from the path. */
fun peerNameOf(text: String): String =
    text.takeIf(NAME::matches)
        ?: throw ProblemException(HttpStatus.BAD_REQUEST, "name must be 1 to 32 letters, digits, hyphens and underscores")

// 16 bytes in Base64.
private val KEY = Regex("[A-Za-z0-9+/]{22}==")

/** Refuses what both stacks would refuse as well, but not as a problem. */
fun requireUpgrade(request: HttpRequest) {
    val headers = request.headers
    val isUpgrade =
        request.method == HttpMethod.GET &&
            headers.connection.any { it.equals("Upgrade", ignoreCase = true) } &&
            headers.upgrade.equals("websocket", ignoreCase = true) &&
            headers.getFirst("Sec-WebSocket-Version") == "13" &&
            headers.getFirst("Sec-WebSocket-Key")?.matches(KEY) == true
    if (!isUpgrade) {
        throw ProblemException(
            HttpStatus.UPGRADE_REQUIRED,
            "this path needs a WebSocket of version 13",
            "Connection" to "upgrade",
            "Upgrade" to "websocket",
            "Sec-WebSocket-Version" to "13",
        )
    }
}
