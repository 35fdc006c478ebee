// Converts the exceptions of the records service into problem documents (RFC 9457).
package workshop.records

import io.ktor.http.HttpStatusCode
import io.ktor.server.application.ApplicationCall
import workshop.service.Problem
import workshop.service.logOutage
import workshop.service.problem
import workshop.service.usualProblemOf

// ANCHOR: problems

/** The problem that the client gets for a [failure]. An unknown failure is logged with the id of the request, and not shown. */
internal fun ApplicationCall.problemOf(failure: Throwable): Problem =
    when (failure) {
        is PriceUnavailable -> {
            problem(failure.status, failure.detail).also { logOutage(failure, it) }
        }

        is KeysUnavailable -> {
            problem(HttpStatusCode.ServiceUnavailable, "the keys of the issuer are not available").also { logOutage(failure, it) }
        }

        is QrCodesUnavailable -> {
            problem(HttpStatusCode.ServiceUnavailable, "QR codes cannot be made now").also { logOutage(failure, it) }
        }

        else -> {
            usualProblemOf(failure)
        }
    }
// ANCHOR_END: problems
