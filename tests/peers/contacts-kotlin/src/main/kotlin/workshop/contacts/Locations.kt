// Where everything is: the paths of the service, written and read.
package workshop.contacts

import io.ktor.http.HttpStatusCode
import io.ktor.http.URLDecodeException
import io.ktor.http.decodeURLPart
import io.ktor.server.request.path
import io.ktor.server.routing.RoutingCall
import workshop.service.ProblemException

const val ENTRY = "/"

fun principalOf(user: String) = "/principals/$user/"

fun homeOf(user: String) = "/addressbooks/$user/"

fun bookOf(user: String) = "/addressbooks/$user/contacts/"

/** A client compares paths as texts, so this is the same always: encoded is all but what RFC 3986 lets a segment have. */
fun contactOf(
    user: String,
    name: String,
) = "/addressbooks/$user/contacts/" + name.encodeToByteArray().joinToString("") { encoded(it.toInt() and 0xFF) }

private fun encoded(byte: Int): String = if (byte.toChar() in IN_SEGMENTS) "${byte.toChar()}" else "%%%02X".format(byte)

private val IN_SEGMENTS = (('A'..'Z') + ('a'..'z') + ('0'..'9') + "-._~!$&'()*+,;=:@".toList()).toSet()

/**
 * A client makes up the names of its contacts. Here they are values only, never paths of files. But `.` and `..` are directions
 * to every client and every proxy, so such a contact could not be reached.
 */
private fun isName(name: String) =
    name.encodeToByteArray().size in 1..MAX_NAME &&
        name != "." &&
        name != ".." &&
        name.none { it.isISOControl() || it == REPLACEMENT || it == '\uFFFE' || it == '\uFFFF' }

/** The longest name, in bytes. */
private const val MAX_NAME = 255

/** What comes of bytes that are no UTF-8. */
private const val REPLACEMENT = '\uFFFD'

/** The name of the contact that a request is for. Collections may have a slash at their end; contacts have none. */
val RoutingCall.contactName: String
    get() {
        if (request.path().endsWith('/')) throw ProblemException(HttpStatusCode.NotFound, "there is nothing at this path")
        return pathParameters["name"]?.takeIf(::isName)
            ?: throw ProblemException(
                HttpStatusCode.BadRequest,
                "the name must be 1 to 255 bytes of UTF-8, without control characters, and not . or ..",
            )
    }

/** The name of a contact of this owner, as a URL or a path in a report has it; null for anything else. */
fun contactNameIn(
    href: String,
    owner: String,
): String? {
    val path = href.replace(ORIGIN, "")
    if (!path.startsWith('/') || path.endsWith('/')) return null
    val segments = segmentsOf(path)
    val isInBook = segments.size == 4 && segments.take(3) == listOf("addressbooks", owner, "contacts")
    return segments.lastOrNull()?.takeIf { isInBook && isName(it) }
}

/** Whose path this is; null when it is nobody's. */
fun ownerIn(path: String): String? {
    val segments = segmentsOf(path)
    return segments.getOrNull(1)?.takeIf { segments.first() in OWNED }
}

/** The segments of a path as the routes see them: decoded, and without empty ones. */
fun segmentsOf(path: String): List<String> =
    path.split('/').filter { it.isNotEmpty() }.map {
        try {
            it.decodeURLPart()
        } catch (_: URLDecodeException) {
            it
        }
    }

private val OWNED = setOf("principals", "addressbooks")

private val ORIGIN = Regex("^https?://[^/]*", RegexOption.IGNORE_CASE)
