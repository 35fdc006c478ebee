// Lets a request pass that brings the name and the password of a user, on a path that is theirs.
package workshop.contacts

import io.ktor.http.HttpHeaders
import io.ktor.http.HttpStatusCode
import io.ktor.server.application.ApplicationCall
import io.ktor.server.application.createApplicationPlugin
import io.ktor.server.request.path
import io.ktor.util.AttributeKey
import workshop.service.ProblemException
import workshop.service.isKnown
import java.security.MessageDigest
import java.text.Normalizer
import java.util.Base64

class AuthenticationConfig {
    var users: List<User> = emptyList()
}

/**
 * HTTP's basic authentication (RFC 7617), before anything else is judged.
 *
 * By hand, since Ktor's Authentication guards routes: for a path that is not there it would answer 404 to everybody.
 */
val Authentication =
    createApplicationPlugin("Authentication", ::AuthenticationConfig) {
        val users = Users(pluginConfig.users)
        onCall { call ->
            val path = call.request.path()
            if (segmentsOf(path) in OPEN) return@onCall
            val user = call.request.headers[HttpHeaders.Authorization]?.let(users::find) ?: throw unauthorized()
            call.isKnown()
            val owner = ownerIn(path)
            if (owner != null && owner != user.name) {
                throw ProblemException(HttpStatusCode.Forbidden, "this belongs to another user")
            }
            call.attributes.put(USER, user.name)
        }
    }

/** The name of the user who asks. */
val ApplicationCall.user: String get() = attributes[USER]

private val USER = AttributeKey<String>("user")

private val OPEN = setOf(listOf("health"), listOf("ready"), listOf(".well-known", "carddav"))

private fun unauthorized() =
    ProblemException(
        HttpStatusCode.Unauthorized,
        "a name and its password are required",
        HttpHeaders.WWWAuthenticate to "Basic realm=\"contacts\", charset=\"UTF-8\"",
    )

private class Users(
    users: List<User>,
) {
    /** What a client sends in Base64: the name, a colon, and the password. */
    private val credentials = users.map { it to composed("${it.name}:${it.password}") }

    /** Compares with every user, whatever the result so far: the time taken says nothing about how close a guess is. */
    fun find(authorization: String): User? {
        val given = decoded(authorization) ?: return null
        return credentials.fold<_, User?>(null) { found, (user, expected) ->
            if (MessageDigest.isEqual(expected, given)) user else found
        }
    }

    /** In the form in which it is compared: an ü is one character, or an u and two dots, as it was typed. */
    private fun composed(text: String): ByteArray = Normalizer.normalize(text, Normalizer.Form.NFC).encodeToByteArray()

    private fun decoded(authorization: String): ByteArray? {
        val (scheme, token) = authorization.trim().split(' ', limit = 2).takeIf { it.size == 2 } ?: return null
        if (!scheme.equals("Basic", ignoreCase = true)) return null
        return try {
            val credentials = Base64.getDecoder().decode(token.trim())
            // They are UTF-8, as the challenge says. Some clients have never heard of that, and send Latin-1.
            val text = credentials.toText() ?: String(credentials, Charsets.ISO_8859_1)
            // A phone begins a name with a capital, and puts a space behind it.
            composed(text.substringBefore(':').trim().lowercase() + ":" + text.substringAfter(':', ""))
        } catch (_: IllegalArgumentException) {
            null
        }
    }
}
