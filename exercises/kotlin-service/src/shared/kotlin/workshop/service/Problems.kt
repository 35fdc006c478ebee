// Converts exceptions into problem documents (RFC 9457).
package workshop.service

import io.ktor.http.ContentType
import io.ktor.http.HttpStatusCode
import io.ktor.http.URLDecodeException
import io.ktor.server.application.Application
import io.ktor.server.application.ApplicationCall
import io.ktor.server.application.install
import io.ktor.server.plugins.BadRequestException
import io.ktor.server.plugins.statuspages.StatusPages
import io.ktor.server.plugins.statuspages.StatusPagesConfig
import io.ktor.server.response.respondText
import kotlinx.coroutines.CancellationException
import kotlinx.io.IOException
import kotlinx.serialization.Serializable
import kotlinx.serialization.json.Json
import org.slf4j.LoggerFactory
import kotlin.time.Duration.Companion.seconds

// ANCHOR: problem

/** Thrown by a route to answer [status] with [detail], a sentence for the client. Has no stack trace: it is expected. */
class ProblemException(
    val status: HttpStatusCode,
    val detail: String,
    vararg val headers: Pair<String, String>,
) : RuntimeException(detail, null, false, false)

/** For `/ready`, while the database answers and the migrations have not run. */
fun schemaIsNotUpToDate() = ProblemException(HttpStatusCode.ServiceUnavailable, "the schema is not up to date yet")

@Serializable
data class Problem(
    val type: String,
    val title: String,
    val status: Int,
    val detail: String,
)
// ANCHOR_END: problem

/** Answers each failure with the problem from [problemOf], and Ktor's own refusals as problems, too. */
fun StatusPagesConfig.problems(problemOf: ApplicationCall.(Throwable) -> Problem) {
    // The client has disconnected, so there is no one to respond to.
    exception<CancellationException> { _, cause -> throw cause }
    exception<IOException> { _, cause -> throw cause }
    exception<BadRequestException> { call, _ -> call.respondProblem(malformed()) }
    exception<URLDecodeException> { call, _ -> call.respondProblem(malformed()) }
    exception<Throwable> { call, failure ->
        if (failure is ProblemException) {
            // Ktor reserves `Upgrade` for itself, and rejects it as unsafe unless `safeOnly` is false.
            failure.headers.forEach { (name, value) -> call.response.headers.append(name, value, safeOnly = false) }
        }
        call.respondProblem(call.problemOf(failure))
    }
    status(HttpStatusCode.NotFound) { call, status ->
        call.respondProblem(problem(status, "there is nothing at this path"))
    }
    status(HttpStatusCode.MethodNotAllowed) { call, status ->
        call.respondProblem(problem(status, "this path does not support that method"))
    }
    status(HttpStatusCode.NotAcceptable) { call, status ->
        call.respondProblem(problem(status, "the answer is JSON, which Accept does not allow"))
    }
}

private fun malformed() = problem(HttpStatusCode.BadRequest, "the request is malformed")

/** The same, installed. If a service has failures that no problem document describes, [others] answers them. */
fun Application.problems(
    problemOf: ApplicationCall.(Throwable) -> Problem,
    others: StatusPagesConfig.() -> Unit = {},
) {
    install(StatusPages) {
        others()
        problems(problemOf)
    }
}

// ANCHOR: usual-problem

/** The problem that the client gets for a [failure] that any service may have. An unknown one is logged, and not shown. */
fun ApplicationCall.usualProblemOf(failure: Throwable): Problem =
    when (failure) {
        is ProblemException -> {
            val told = problem(failure.status, failure.detail)
            if (failure.status == HttpStatusCode.ServiceUnavailable) logOutage(failure, told)
            told
        }

        is DatabaseUnavailable -> {
            problem(HttpStatusCode.ServiceUnavailable, "the database does not answer").also { logOutage(failure, it) }
        }

        else -> {
            log
                .atError()
                .about(this)
                .setCause(failure)
                .log("unexpected error: {}", failure.message)
            problem(HttpStatusCode.InternalServerError, "an unexpected error occurred")
        }
    }
// ANCHOR_END: usual-problem

/** Logs a [failure] that others share, with the id of the request. Those with the same text in [told] have the same cause. */
fun ApplicationCall.logOutage(
    failure: Throwable,
    told: Problem,
) {
    val suppressed = outages.admit(cause = told.detail) ?: return
    log
        .atWarn()
        .about(this)
        .addKeyValue("suppressed", suppressed)
        .log(generateSequence(failure) { it.cause }.mapNotNull { it.message }.joinToString(": "))
}

/** Every request of an outage fails for the same reason, so one line per second and reason is enough. */
private val outages = RateLimit(1.seconds)

private val log = LoggerFactory.getLogger("workshop.service.problems")

/** A problem without a type of its own: its [status] says what it is, and [detail] what is wrong with this request. */
fun problem(
    status: HttpStatusCode,
    detail: String,
) = Problem("about:blank", status.description, status.value, detail)

private suspend fun ApplicationCall.respondProblem(problem: Problem) {
    respondText(Json.encodeToString(problem), ContentType.Application.ProblemJson, HttpStatusCode.fromValue(problem.status))
}
