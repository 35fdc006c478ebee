// The conditions of a request: what the contact must be, or must not be, as it is now (RFC 9110, section 13).
package workshop.contacts

import io.ktor.http.HttpHeaders
import io.ktor.http.HttpStatusCode
import io.ktor.server.request.ApplicationRequest
import workshop.service.ProblemException

/** Stands for every entity tag. */
const val ANY_TAG = "*"

/**
 * The entity tags, in their quotes, of which the contact must have one, and of which it must have none.
 * [mustMatch] is null where the request does not care.
 */
class Conditions(
    val mustMatch: List<String>?,
    val mustNotMatch: List<String>,
)

/** `If-Match` compares strongly: a weak tag never matches. */
fun ApplicationRequest.conditions() =
    Conditions(
        mustMatch = tagsIn(HttpHeaders.IfMatch)?.filterNot { it.isWeak }?.map { it.text },
        mustNotMatch = tagsIn(HttpHeaders.IfNoneMatch).orEmpty().map { it.text },
    )

/** Whether the client has this version already. */
fun ApplicationRequest.alreadyHas(etag: String): Boolean = conditions().mustNotMatch.any { it == etag || it == ANY_TAG }

fun conditionFailed() = ProblemException(HttpStatusCode.PreconditionFailed, "the condition does not hold")

private class EntityTag(
    val text: String,
    val isWeak: Boolean,
)

private fun ApplicationRequest.tagsIn(header: String): List<EntityTag>? {
    val text = headers.getAll(header)?.joinToString(",") ?: return null
    if (text.trim() == ANY_TAG) return listOf(EntityTag(ANY_TAG, isWeak = false))
    if (!TAGS.matches(text)) throw ProblemException(HttpStatusCode.BadRequest, "$header must be * or a list of entity tags")
    return TAG.findAll(text).map { EntityTag(it.groupValues[2], isWeak = it.groupValues[1].isNotEmpty()) }.toList()
}

private val TAG = Regex("(W/)?(\"[^\"]*\")")

private val TAGS = Regex("[\\s,]*$TAG(\\s*,[\\s,]*$TAG)*[\\s,]*")
