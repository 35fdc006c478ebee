// Turns everything that goes wrong into a problem document (RFC 9457).
package workshop.records

import io.r2dbc.spi.R2dbcException
import org.springframework.http.ResponseEntity
import org.springframework.http.server.reactive.ServerHttpRequest
import org.springframework.web.bind.annotation.ExceptionHandler
import org.springframework.web.bind.annotation.RestControllerAdvice
import java.io.IOException
import java.util.concurrent.TimeoutException

@RestControllerAdvice
class Problems {
    private val failures = Failures { failure -> isOutage(failure) }

    @ExceptionHandler
    fun answer(
        failure: Throwable,
        request: ServerHttpRequest,
    ): ResponseEntity<Problem> = failures.answer(failure, request.method.name())
}

private fun isOutage(failure: Throwable): Boolean =
    generateSequence(failure) { it.cause }.any {
        when (it) {
            is R2dbcException -> isOutage(it.sqlState)
            is TimeoutException, is IOException -> true
            else -> false
        }
    }
