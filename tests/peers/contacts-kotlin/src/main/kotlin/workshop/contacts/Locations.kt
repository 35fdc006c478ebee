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

/** No character of a name needs to be encoded in a path. */
fun contactOf(
    user: String,
    name: String,
) = "/addressbooks/$user/contacts/$name"

private val NAME = Regex("[A-Za-z0-9._~@+-]{1,200}")

/** The name of the contact that a request is for. Collections may have a slash at their end; contacts have none. */
val RoutingCall.contactName: String
    get() {
        if (request.path().endsWith('/')) throw ProblemException(HttpStatusCode.NotFound, "there is nothing at this path")
        return pathParameters["name"]?.takeIf(NAME::matches)
            ?: throw ProblemException(HttpStatusCode.BadRequest, "the name must be 1 to 200 of A-Z, a-z, 0-9 and ._~@+-")
    }

/** The name of a contact of this owner, as a URL or a path in a report has it; null for anything else. */
fun contactNameIn(
    href: String,
    owner: String,
): String? {
    val segments = segmentsOf(href.replace(ORIGIN, ""))
    val isInBook = segments.size == 4 && segments.take(3) == listOf("addressbooks", owner, "contacts")
    return segments.lastOrNull()?.takeIf { isInBook && NAME.matches(it) }
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

private val ORIGIN = Regex("^https?://[^/]*")
