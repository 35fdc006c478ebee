// The answer about many resources at once (RFC 4918, section 13).
package workshop.contacts

import io.ktor.http.HttpStatusCode
import io.ktor.server.application.ApplicationCall
import workshop.service.ProblemException
import javax.xml.namespace.QName

suspend fun ApplicationCall.respondMultistatus(content: XmlWriter.() -> Unit) =
    respondXml(HttpStatusCode.MultiStatus, Dav.MULTISTATUS, content)

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

/** A resource that is not there, or no longer. */
fun XmlWriter.notFound(href: String) =
    element(Dav.RESPONSE) {
        element(Dav.HREF, href)
        status(HttpStatusCode.NotFound)
    }

/** What was asked for has more results than the client wants. */
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
    val text = child(limit)?.child(results)?.text?.trim() ?: return null
    return text.toIntOrNull()?.takeIf { it > 0 }
        ?: throw ProblemException(HttpStatusCode.BadRequest, "nresults must be a whole number, and at least 1")
}
