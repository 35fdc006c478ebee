// The answer about many resources at once (RFC 4918, section 13), sent while it is written.
package workshop.contacts

import io.ktor.http.HttpStatusCode
import io.ktor.server.application.ApplicationCall
import io.ktor.server.response.respondBytesWriter
import io.ktor.utils.io.ByteWriteChannel
import io.ktor.utils.io.writeFully
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeoutOrNull
import kotlinx.io.IOException
import workshop.service.ProblemException
import java.io.ByteArrayOutputStream
import javax.xml.namespace.QName
import kotlin.time.Duration.Companion.seconds

/** How much is written before it is sent, in bytes. */
private const val PART = 65_536

/** How long a client may take to accept a part. */
private val PATIENCE = 10.seconds

/**
 * The answer may be as long as a book, and there is never more of it here than a part. What fails after its beginning breaks the
 * connection: a client must not take half an answer for the whole.
 *
 * It is written on the threads that compute. While a client is slow, it holds none of them.
 */
suspend fun ApplicationCall.respondMultistatus(
    wanted: Wanted,
    content: suspend Multistatus.() -> Unit,
) = respondBytesWriter(XML, HttpStatusCode.MultiStatus) {
    withContext(Dispatchers.Default) {
        Multistatus(this@respondBytesWriter, wanted.namespaces).whole(content)
    }
}

/** Writes a multistatus to a [client], part by part. */
class Multistatus(
    private val client: ByteWriteChannel,
    namespaces: Collection<String>,
) {
    private val part = ByteArrayOutputStream()
    private val xml = XmlWriter(part, namespaces)

    /** From its beginning to its end. */
    internal suspend fun whole(content: suspend Multistatus.() -> Unit) {
        xml.begin(Dav.MULTISTATUS)
        content()
        xml.end()
        send()
    }

    /** A resource that is there. */
    suspend fun <R> found(
        href: String,
        resource: R,
        selection: Selection<R>,
    ) = response(href) {
        val (found, missing) = selection.foundIn(resource) to selection.missingIn(resource)
        if (found.isNotEmpty() || missing.isEmpty()) {
            propstat(HttpStatusCode.OK) {
                found.forEach { (name, write) -> element(name) { write(resource) } }
            }
        }
        if (missing.isNotEmpty()) {
            propstat(HttpStatusCode.NotFound) { missing.forEach { element(it) } }
        }
    }

    /** A resource whose properties cannot be changed by a client. */
    suspend fun protected(
        href: String,
        properties: List<QName>,
    ) = response(href) {
        element(Dav.PROPSTAT) {
            element(Dav.PROP) { properties.forEach { element(it) } }
            status(HttpStatusCode.Forbidden)
            element(Dav.ERROR) { element(Dav.CANNOT_MODIFY_PROTECTED_PROPERTY) }
        }
    }

    /** A resource that is not there, or no longer. */
    suspend fun notFound(href: String) = response(href) { status(HttpStatusCode.NotFound) }

    /** What was asked for has more results than the client wants, or than are looked for in one request. */
    suspend fun cutOff(href: String) =
        response(href) {
            status(HttpStatusCode.InsufficientStorage)
            element(Dav.ERROR) { element(Dav.NUMBER_OF_MATCHES_WITHIN_LIMITS) }
        }

    /** Up to where the client knows the book now. */
    fun syncToken(token: SyncToken) = xml.element(Dav.SYNC_TOKEN, token.toString())

    private suspend fun response(
        href: String,
        content: XmlWriter.() -> Unit,
    ) {
        xml.element(Dav.RESPONSE) {
            element(Dav.HREF, href)
            content()
        }
        xml.flush()
        if (part.size() >= PART) send()
    }

    private suspend fun send() {
        withTimeoutOrNull(PATIENCE) {
            client.writeFully(part.toByteArray())
            client.flush()
        } ?: throw IOException("the client does not take the answer")
        part.reset()
    }
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
