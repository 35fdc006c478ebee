// The accepted API keys, and the places in a request where a client can send one.
package workshop.records

import io.ktor.http.HttpHeaders
import io.ktor.http.HttpStatusCode
import io.ktor.server.auth.AuthenticationConfig
import io.ktor.server.auth.apikey.apiKey
import workshop.service.ProblemException
import workshop.service.isKnown
import java.security.MessageDigest

// ANCHOR: api-key

/** Where a key can be: in the header, or in the query for a client that cannot set headers, such as a browser's WebSocket. */
const val KEY_IN_HEADER = "key in the header"
const val KEY_IN_QUERY = "key in the query"

private const val HEADER = "X-API-Key"

fun AuthenticationConfig.apiKeys(
    accepted: List<String>,
    ifMissing: () -> ProblemException = ::noKey,
) {
    val keys = ApiKeys(accepted)
    apiKey(KEY_IN_HEADER) {
        headerName = HEADER
        validate { key -> keys.clientWith(key)?.also { isKnown() } }
        challenge { throw ifMissing() }
    }
    // Ktor's API key provider can't read a key from the query.
    provider(KEY_IN_QUERY) {
        authenticate { context ->
            val request = context.call.request
            // A valid key in the query doesn't make up for a wrong header.
            if (HEADER !in request.headers) {
                request.queryParameters["api_key"]?.let(keys::clientWith)?.let {
                    context.call.isKnown()
                    context.principal(it)
                }
            }
        }
    }
}

fun noKey() =
    ProblemException(
        HttpStatusCode.Unauthorized,
        "a valid API key is required, in the header X-API-Key or the query parameter api_key",
        HttpHeaders.WWWAuthenticate to "ApiKey",
    )

/** A client with a valid key. The service doesn't distinguish between them. */
object Client

private class ApiKeys(
    accepted: List<String>,
) {
    private val accepted = accepted.map { it.encodeToByteArray() }

    /** Compares with every key, whatever the result so far: the time taken says nothing about how close a guess is. */
    fun clientWith(key: String): Client? {
        val given = key.encodeToByteArray()
        val isAccepted = accepted.fold(false) { found, other -> found or MessageDigest.isEqual(other, given) }
        return Client.takeIf { isAccepted }
    }
}
// ANCHOR_END: api-key
