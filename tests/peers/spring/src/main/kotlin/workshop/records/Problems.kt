// Turns everything that goes wrong into a problem document (RFC 9457).
package workshop.records

import jakarta.servlet.http.HttpServletRequest
import org.springframework.http.ResponseEntity
import org.springframework.web.bind.annotation.ExceptionHandler
import org.springframework.web.bind.annotation.RestControllerAdvice
import java.sql.SQLException

@RestControllerAdvice
class Problems {
    private val failures = Failures { failure -> isOutage(failure) }

    @ExceptionHandler
    fun answer(
        failure: Throwable,
        request: HttpServletRequest,
    ): ResponseEntity<Problem> = failures.answer(failure, request.method)
}

private fun isOutage(failure: Throwable): Boolean {
    val cause = generateSequence(failure) { it.cause }.filterIsInstance<SQLException>().firstOrNull() ?: return false
    return isOutage(cause.sqlState)
}
