// Lets a request pass that brings a valid API key.
package workshop.records

import io.ktor.http.HttpHeaders
import io.ktor.http.HttpStatusCode
import io.ktor.server.application.createRouteScopedPlugin
import io.ktor.server.application.install
import io.ktor.server.request.ApplicationRequest
import io.ktor.server.routing.Route
import io.ktor.server.routing.RouteSelector
import io.ktor.server.routing.RouteSelectorEvaluation
import io.ktor.server.routing.RoutingResolveContext
import workshop.service.ProblemException
import java.security.MessageDigest

// ANCHOR: api-key

/**
 * Guards the routes that [build] adds. It runs before their handlers, so the key is judged before the id.
 *
 * By hand, since the `apiKey` provider of Ktor's Authentication knows one place for a key, a header, and this contract has two.
 */
fun Route.requireApiKey(
    accepted: List<String>,
    build: Route.() -> Unit,
) {
    createChild(Guarded).apply {
        install(ApiKey) { this.accepted = accepted }
        build()
    }
}

private class ApiKeyConfig {
    var accepted: List<String> = emptyList()
}

private val ApiKey =
    createRouteScopedPlugin("ApiKey", ::ApiKeyConfig) {
        val accepted = pluginConfig.accepted.map { it.encodeToByteArray() }
        onCall { call ->
            val key = call.request.apiKey()
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
private fun ApplicationRequest.apiKey(): ByteArray? =
    headers.getAll("X-API-Key")?.firstNotNullOfOrNull { it.toUtf8() } ?: queryParameter("api_key")?.encodeToByteArray()

/**
 * Ktor reads a header as ISO 8859-1, a character for each byte. One that is no UTF-8 counts as not there: for compatibility
 * with Rocket, which drops it.
 */
private fun String.toUtf8(): ByteArray? =
    toByteArray(Charsets.ISO_8859_1).takeIf { bytes ->
        try {
            bytes.decodeToString(throwOnInvalidSequence = true)
            true
        } catch (_: CharacterCodingException) {
            false
        }
    }

/** Compares with every key, whatever the result so far: the time taken says nothing about how close a guess is. */
private fun List<ByteArray>.containsInConstantTime(key: ByteArray): Boolean =
    fold(false) { found, accepted -> found or MessageDigest.isEqual(accepted, key) }
// ANCHOR_END: api-key

/** Adds nothing to the path: it only sets the guarded routes apart from the others. */
private object Guarded : RouteSelector() {
    override suspend fun evaluate(
        context: RoutingResolveContext,
        segmentIndex: Int,
    ) = RouteSelectorEvaluation.Transparent

    override fun toString() = "(API key)"
}
