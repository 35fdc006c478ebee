// The accepted API keys, and the places in a request where a client can send one.
package workshop.ceiling

import io.vertx.core.http.HttpServerRequest
import java.security.MessageDigest

class ApiKeys(
    accepted: List<String>,
) {
    private val accepted = accepted.map { it.encodeToByteArray() }

    /** A valid key in the query doesn't make up for a wrong header. */
    fun accept(request: HttpServerRequest): Boolean {
        val key = request.getHeader("X-API-Key") ?: request.getParam("api_key") ?: return false
        val given = key.encodeToByteArray()
        // Compares with every key, whatever the result so far: the time taken says nothing about how close a guess is.
        return accepted.fold(false) { found, other -> found or MessageDigest.isEqual(other, given) }
    }
}
