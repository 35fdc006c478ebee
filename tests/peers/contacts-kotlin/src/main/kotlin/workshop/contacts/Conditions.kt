// The conditions of a request: what the contact must be, or must not be, as it is now (RFC 9110, section 13).
package workshop.contacts

import io.ktor.http.HttpHeaders
import io.ktor.http.HttpStatusCode
import io.ktor.http.fromHttpToGmtDate
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
) {
    /** Whether a contact with this tag meets them. */
    fun allow(etag: String) = mustMatch?.names(etag) != false && !mustNotMatch.names(etag)
}

fun ApplicationRequest.conditions() =
    Conditions(
        mustMatch = both(tagsIn(HttpHeaders.IfMatch), tagsInLists()),
        mustNotMatch = tagsIn(HttpHeaders.IfNoneMatch).orEmpty(),
    )

/**
 * The conditions of a request that changes this contact. A date is exchanged for the tag of what has not changed since, so that
 * the statement that writes compares a tag in each case. `If-Match` says more than a date, which is ignored beside it.
 */
suspend fun ApplicationRequest.conditionsFor(
    contacts: Contacts,
    user: String,
    name: String,
): Conditions {
    val conditions = conditions()
    val date = dateIn(HttpHeaders.IfUnmodifiedSince)
    if (date == null || conditions.mustMatch != null) return conditions
    // There is no contact yet. If one is created in the meantime, the write must fail.
    val there = contacts.find(user, name) ?: return Conditions(null, mustNotMatch = listOf(ANY_TAG))
    if (!there.isUnchangedSince(date)) throw conditionFailed()
    return Conditions(listOf(there.etag), conditions.mustNotMatch)
}

/** Whether it is the contact that the client wants: by `If-Match`, or else by `If-Unmodified-Since`. */
fun ApplicationRequest.wants(contact: Contact): Boolean =
    conditions().mustMatch?.names(contact.etag)
        ?: dateIn(HttpHeaders.IfUnmodifiedSince).let { it == null || contact.isUnchangedSince(it) }

/** Whether the client has this version already: by `If-None-Match`, or else by `If-Modified-Since`. */
fun ApplicationRequest.alreadyHas(contact: Contact): Boolean =
    tagsIn(HttpHeaders.IfNoneMatch)?.names(contact.etag)
        ?: dateIn(HttpHeaders.IfModifiedSince).let { it != null && contact.isUnchangedSince(it) }

private fun List<String>.names(etag: String) = any { it == etag || it == ANY_TAG }

/** In seconds since 1970. What is no date is ignored, as RFC 9110 wants it. */
private fun ApplicationRequest.dateIn(header: String): Long? =
    try {
        headers[header]?.fromHttpToGmtDate()?.timestamp?.div(1000)
    } catch (_: Exception) {
        null
    }

fun conditionFailed() = ProblemException(HttpStatusCode.PreconditionFailed, "the condition does not hold")

/**
 * A tag of ours is the digest of a text. A proxy that compresses makes it weak on its way to the client, and it still means that
 * text. So it is as good as a strong one: otherwise such a client would be refused at each attempt, forever.
 */
private fun ApplicationRequest.tagsIn(header: String): List<String>? {
    val text = headers.getAll(header)?.joinToString(",") ?: return null
    if (text.trim() == ANY_TAG) return listOf(ANY_TAG)
    if (!TAGS.matches(text)) throw ProblemException(HttpStatusCode.BadRequest, "$header must be * or a list of entity tags")
    return TAG.findAll(text).map { it.groupValues[1] }.toList()
}

/**
 * The tags that the header `If` of WebDAV names, by RFC 4918, section 10.4: `(["a"]) (["b"])`. One of its lists has to hold. There are
 * no locks here, so a list with a lock token does not. Neither does one that says more than a tag, or that is about another path: of
 * what is not understood nothing is overwritten.
 */
private fun ApplicationRequest.tagsInLists(): List<String>? {
    val lists = headers["If"] ?: return null
    if (lists.trimStart().startsWith('<')) return emptyList()
    return lists.split(')').mapNotNull { LIST.matchEntire(it)?.groupValues?.get(1) }
}

/** What two headers want, each of which may want nothing. */
private fun both(
    left: List<String>?,
    right: List<String>?,
): List<String>? = if (left == null || right == null) left ?: right else right.filter(left::names)

/** `(["a"]`, of which the end was a separator. */
private val LIST = Regex("\\s*\\(\\s*\\[(?:W/)?(\"[^\"]*\")]\\s*")

private val TAG = Regex("(?:W/)?(\"[^\"]*\")")

private val TAGS = Regex("[\\s,]*$TAG(\\s*,[\\s,]*$TAG)*[\\s,]*")
