// Lets a request pass that brings a valid API key.
package workshop.records

import io.ktor.http.HttpHeaders
import io.ktor.http.HttpStatusCode
import io.ktor.server.application.createRouteScopedPlugin
import io.ktor.server.request.ApplicationRequest
import java.security.MessageDigest

// ANCHOR: api-key
class ApiKeyConfig {
    /** The keys that are accepted. */
    var keys: List<String> = emptyList()
}

/** Guards the routes below the one that it is installed in. It runs before their handlers, so it judges before they do. */
val ApiKey =
    createRouteScopedPlugin("ApiKey", ::ApiKeyConfig) {
        val accepted = pluginConfig.keys.map { it.encodeToByteArray() }
        onCall { call ->
            val key = call.request.apiKey()?.encodeToByteArray()
            if (key == null || !accepted.containsInConstantTime(key)) {
                throw ProblemException(
                    HttpStatusCode.Unauthorized,
                    "a valid API key is required, in the header X-API-Key or the query parameter api_key",
                    HttpHeaders.WWWAuthenticate to "ApiKey",
                )
            }
        }
    }

/** The query counts only where there is no header: a wrong header is not rescued by a right query. */
private fun ApplicationRequest.apiKey(): String? = headers["X-API-Key"] ?: queryParameters["api_key"]

/** Compares with every key, whatever the result so far: the time taken says nothing about how close a guess is. */
private fun List<ByteArray>.containsInConstantTime(key: ByteArray): Boolean =
    fold(false) { found, accepted -> found or MessageDigest.isEqual(accepted, key) }
// ANCHOR_END: api-key
