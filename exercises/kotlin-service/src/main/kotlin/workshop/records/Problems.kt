// Turns everything that goes wrong into a problem document (RFC 9457).
package workshop.records

import io.ktor.http.ContentType
import io.ktor.http.HttpStatusCode
import io.ktor.server.application.Application
import io.ktor.server.application.ApplicationCall
import io.ktor.server.application.install
import io.ktor.server.application.log
import io.ktor.server.plugins.statuspages.StatusPages
import io.ktor.server.response.header
import io.ktor.server.response.respondText
import kotlinx.coroutines.CancellationException
import kotlinx.io.IOException
import kotlinx.serialization.Serializable
import kotlinx.serialization.json.Json

// ANCHOR: problems

/** Thrown by a route to answer [status] with [detail], a sentence for the client. Has no stack trace: it is no surprise. */
class ProblemException(
    val status: HttpStatusCode,
    val detail: String,
    vararg val headers: Pair<String, String>,
) : RuntimeException(detail, null, false, false)

@Serializable
private data class Problem(
    val type: String,
    val title: String,
    val status: Int,
    val detail: String,
)

fun Application.problems() {
    install(StatusPages) {
        exception<ProblemException> { call, problem ->
            problem.headers.forEach { (name, value) -> call.response.header(name, value) }
            call.respondProblem(problem.status, problem.detail)
        }
        exception<DatabaseUnavailable> { call, _ ->
            call.respondProblem(HttpStatusCode.ServiceUnavailable, "the database does not answer")
        }
        exception<QrCodesUnavailable> { call, cause ->
            call.application.log.warn("no QR code: {}", cause.message, cause.cause)
            call.respondProblem(HttpStatusCode.ServiceUnavailable, "QR codes cannot be made now")
        }
        // The client has left: there is nobody to answer.
        exception<CancellationException> { _, cause -> throw cause }
        exception<IOException> { _, cause -> throw cause }
        exception<Throwable> { call, cause ->
            call.application.log.error("unexpected error", cause)
            call.respondProblem(HttpStatusCode.InternalServerError, "an unexpected error occurred")
        }
        // Ktor's own answer when no route matches.
        status(HttpStatusCode.NotFound) { call, status ->
            call.respondProblem(status, "there is nothing at this path")
        }
    }
}

private suspend fun ApplicationCall.respondProblem(
    status: HttpStatusCode,
    detail: String,
) {
    if (response.isCommitted) {
        application.log.warn("a response broke off: {}", detail)
        return
    }
    val problem = Problem("about:blank", status.description, status.value, detail)
    respondText(Json.encodeToString(problem), ContentType.Application.ProblemJson, status)
}
// ANCHOR_END: problems
