// A problem document (RFC 9457), and how a route answers one.
package workshop.records

import com.fasterxml.jackson.annotation.JsonPropertyOrder
import org.springframework.http.HttpMethod
import org.springframework.http.HttpStatus

/** Thrown by a route to answer [status] with [detail], a sentence for the client. Has no stack trace: it is expected. */
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

fun malformed() = ProblemException(HttpStatus.BAD_REQUEST, "the request is malformed")

fun isUnknown(method: String) = HttpMethod.valueOf(method) !in HttpMethod.values()

// From "Appendix A. PostgreSQL Error Codes": only for reading, out of memory, too many connections, closed to connections,
// query took too long; connection lost, rolled back, login refused, no such database, stopping.
private val OUTAGE = Regex("(25006|53200|53300|55000|57014|08|28|3D|40|57P).*")

/** Whether this error code says that the database cannot be reached or refuses the login, rather than rejects the query. */
fun isOutage(sqlState: String?): Boolean = sqlState?.matches(OUTAGE) ?: true
