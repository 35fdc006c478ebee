// What the client is told of a failure.
package workshop.records

import org.slf4j.LoggerFactory
import org.springframework.http.HttpStatus
import org.springframework.http.MediaType
import org.springframework.http.ResponseEntity
import org.springframework.web.ErrorResponse

/** Makes problems of failures. Each stack has its own way to tell that the database cannot be reached, or refuses the login. */
class Failures(
    private val isOutage: (Throwable) -> Boolean,
) {
    private val log = LoggerFactory.getLogger(Failures::class.java)

    /** The answer to a request with this [method]. */
    fun answer(
        failure: Throwable,
        method: String,
    ): ResponseEntity<Problem> {
        val problem = if (isUnknown(method)) malformed() else problemOf(failure)
        val answer = ResponseEntity.status(problem.status).contentType(MediaType.APPLICATION_PROBLEM_JSON)
        problem.headers.forEach { (name, value) -> answer.header(name, value) }
        return answer.body(Problem(problem.status, problem.detail))
    }

    /** What the client cannot know is logged, and not told. */
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
}
