// Problem documents (RFC 9457): the response bodies of failed requests.
package workshop.ceiling

import io.netty.handler.codec.http.HttpResponseStatus
import kotlinx.serialization.EncodeDefault
import kotlinx.serialization.ExperimentalSerializationApi
import kotlinx.serialization.SerialName
import kotlinx.serialization.Serializable

/** The response to a failed request, with a sentence for a human reader. */
@OptIn(ExperimentalSerializationApi::class)
@Serializable
class Problem(
    @EncodeDefault
    @SerialName("type")
    val problemType: String = "about:blank",
    val title: String,
    val status: Int,
    val detail: String,
)

val NO_KEY =
    problem(
        HttpResponseStatus.UNAUTHORIZED,
        "a valid API key is required, in the header X-API-Key or the query parameter api_key",
    )
val NO_INTEGER = problem(HttpResponseStatus.BAD_REQUEST, "id must be a 32-bit integer")
val NO_SUCH_PATH = problem(HttpResponseStatus.NOT_FOUND, "there is nothing at this path")
val METHOD_NOT_ALLOWED = problem(HttpResponseStatus.METHOD_NOT_ALLOWED, "only GET is allowed here")
val DATABASE_DOES_NOT_ANSWER = problem(HttpResponseStatus.SERVICE_UNAVAILABLE, "the database does not answer")

fun noRecord(id: Int) = problem(HttpResponseStatus.NOT_FOUND, "there is no record with id $id")

private fun problem(
    status: HttpResponseStatus,
    detail: String,
) = Problem(title = status.reasonPhrase(), status = status.code(), detail = detail)
