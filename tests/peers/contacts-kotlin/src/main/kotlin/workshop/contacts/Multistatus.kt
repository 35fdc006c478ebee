// The answer about many resources at once (RFC 4918, section 13), sent while it is written.
package workshop.contacts

import io.ktor.http.HttpStatusCode
import io.ktor.server.application.ApplicationCall
import io.ktor.server.response.respondOutputStream
import workshop.service.ProblemException
import javax.xml.namespace.QName

/**
 * The answer may be as long as a book, and there is never more of it here than a part. What fails after its beginning breaks the
 * connection: a client must not take half an answer for the whole.
 */
suspend fun ApplicationCall.respondMultistatus(
    wanted: Wanted,
    content: suspend XmlWriter.() -> Unit,
) = respondOutputStream(XML, HttpStatusCode.MultiStatus) {
    val writer = XmlWriter(this, wanted.namespaces)
    writer.begin(Dav.MULTISTATUS)
    writer.content()
    writer.end()
}

/** A resource that is there. */
fun <R> XmlWriter.found(
    href: String,
    resource: R,
    selection: Selection<R>,
) = element(Dav.RESPONSE) {
    element(Dav.HREF, href)
    if (selection.found.isNotEmpty() || selection.missing.isEmpty()) {
        propstat(HttpStatusCode.OK) {
            selection.found.forEach { (name, write) -> element(name) { write(resource) } }
        }
    }
    if (selection.missing.isNotEmpty()) {
        propstat(HttpStatusCode.NotFound) { selection.missing.forEach { element(it) } }
    }
}

/** A resource whose properties cannot be changed by a client. */
fun XmlWriter.protected(
    href: String,
    properties: List<QName>,
) = element(Dav.RESPONSE) {
    element(Dav.HREF, href)
    element(Dav.PROPSTAT) {
        element(Dav.PROP) { properties.forEach { element(it) } }
        status(HttpStatusCode.Forbidden)
        element(Dav.ERROR) { element(Dav.CANNOT_MODIFY_PROTECTED_PROPERTY) }
    }
}

/** A resource that is not there, or no longer. */
fun XmlWriter.notFound(href: String) =
    element(Dav.RESPONSE) {
        element(Dav.HREF, href)
        status(HttpStatusCode.NotFound)
    }

/** What was asked for has more results than the client wants, or than are looked for in one request. */
fun XmlWriter.cutOff(href: String) =
    element(Dav.RESPONSE) {
        element(Dav.HREF, href)
        status(HttpStatusCode.InsufficientStorage)
        element(Dav.ERROR) { element(Dav.NUMBER_OF_MATCHES_WITHIN_LIMITS) }
    }

private fun XmlWriter.propstat(
    status: HttpStatusCode,
    properties: XmlWriter.() -> Unit,
) = element(Dav.PROPSTAT) {
    element(Dav.PROP, properties)
    status(status)
}

private fun XmlWriter.status(status: HttpStatusCode) = element(Dav.STATUS, "HTTP/1.1 ${status.value} ${status.description}")

/** How many results a client wants at most; null for all of them. */
fun XmlElement.limit(
    limit: QName,
    results: QName,
): Int? {
    val text = child(limit)?.let { it.child(results)?.text?.trim().orEmpty() } ?: return null
    return text.toIntOrNull()?.takeIf { it > 0 }
        ?: throw ProblemException(HttpStatusCode.BadRequest, "nresults must be a whole number, 1 to 2147483647")
}
