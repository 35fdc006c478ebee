// Turns what goes wrong with the contacts into an answer: a problem document, or the precondition of WebDAV that fails.
package workshop.contacts

import io.ktor.http.HttpStatusCode
import io.ktor.server.application.ApplicationCall
import io.ktor.server.plugins.statuspages.StatusPagesConfig
import workshop.service.Problem
import workshop.service.logOutage
import workshop.service.problem
import workshop.service.usualProblemOf
import javax.xml.namespace.QName

/** Thrown by a route to answer [status] with the [precondition] that fails, and with the resource that it fails for. */
class DavException(
    val status: HttpStatusCode,
    val precondition: QName,
    val href: String? = null,
) : RuntimeException(precondition.localPart, null, false, false)

/** Answers with the precondition that fails, which no problem document can name: for [workshop.service.problems]. */
fun StatusPagesConfig.failedPreconditions() {
    exception<DavException> { call, failure -> call.respondXml(failure.status, Dav.ERROR) { failed(failure) } }
}

private fun XmlWriter.failed(failure: DavException) {
    element(failure.precondition) { failure.href?.let { element(Dav.HREF, it) } }
}

/** What the client is told of a [failure]. */
fun ApplicationCall.problemOf(failure: Throwable): Problem =
    when (failure) {
        is DatabaseFull -> {
            problem(HttpStatusCode.InsufficientStorage, "the database has no room for this").also { logOutage(failure, it) }
        }

        else -> {
            usualProblemOf(failure)
        }
    }
