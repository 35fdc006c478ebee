// Turns everything that goes wrong into a problem document (RFC 9457).
package workshop.records

import com.fasterxml.jackson.annotation.JsonPropertyOrder
import jakarta.servlet.http.HttpServletRequest
import org.slf4j.LoggerFactory
import org.springframework.http.HttpMethod
import org.springframework.http.HttpStatus
import org.springframework.http.MediaType
import org.springframework.http.ResponseEntity
import org.springframework.web.ErrorResponse
import org.springframework.web.bind.annotation.ExceptionHandler
import org.springframework.web.bind.annotation.RestControllerAdvice
import java.sql.SQLException

/** Thrown by a route to answer [status] with [detail], a sentence for the client. Has no stack trace: it is no surprise. */
class ProblemException(
    val status: HttpStatus,
    val detail: String,
    vararg val headers: Pair<String, String>,
) : RuntimeException(detail, null, false, false)

/** Spring's own `ProblemDetail` has one member more than the contract. */
@JsonPropertyOrder("type", "title", "status", "detail")
class Problem(
    status: HttpStatus,
    val detail: String,
) {
    val type = "about:blank"
    val title = status.reasonPhrase
    val status = status.value()
}

@RestControllerAdvice
class Problems {
    private val log = LoggerFactory.getLogger(Problems::class.java)

    @ExceptionHandler
    fun answer(
        failure: Throwable,
        request: HttpServletRequest,
    ): ResponseEntity<Problem> {
        val problem = if (isUnknown(request.method)) malformed() else problemOf(failure)
        val answer = ResponseEntity.status(problem.status).contentType(MediaType.APPLICATION_PROBLEM_JSON)
        problem.headers.forEach { (name, value) -> answer.header(name, value) }
        return answer.body(Problem(problem.status, problem.detail))
    }

    /** What the client is told of a [failure]. What it cannot know is logged, and not told. */
    private fun problemOf(failure: Throwable): ProblemException =
        when {
            failure is ProblemException -> {
                failure
            }

            failure is ErrorResponse && failure.statusCode == HttpStatus.NOT_FOUND -> {
                ProblemException(HttpStatus.NOT_FOUND, "there is nothing at this path")
            }

            failure is ErrorResponse && failure.statusCode.is4xxClientError -> {
                malformed()
            }

            isOutage(failure) -> {
                log.info("the database does not answer: {}", failure.message)
                ProblemException(HttpStatus.SERVICE_UNAVAILABLE, "the database does not answer")
            }

            else -> {
                log.error("unexpected error: {}", failure.message, failure)
                ProblemException(HttpStatus.INTERNAL_SERVER_ERROR, "an unexpected error occurred")
            }
        }

    private fun malformed() = ProblemException(HttpStatus.BAD_REQUEST, "the request is malformed")

    private fun isUnknown(method: String) = HttpMethod.valueOf(method) !in HttpMethod.values()
}

// From "Appendix A. PostgreSQL Error Codes": too many connections, closed to connections, query took too long; connection
// lost, login refused, no such database, stopping.
private val OUTAGE = Regex("(53300|55000|57014|08|28|3D|57P).*")

/** Whether the database cannot be reached or refuses the login, rather than rejects the query. */
private fun isOutage(failure: Throwable): Boolean {
    val cause = generateSequence(failure) { it.cause }.filterIsInstance<SQLException>().firstOrNull() ?: return false
    return cause.sqlState?.matches(OUTAGE) ?: true
}
