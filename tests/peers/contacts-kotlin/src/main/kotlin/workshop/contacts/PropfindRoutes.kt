// Answers PROPFIND: the properties of a resource, and of those that are directly in it.
package workshop.contacts

import io.ktor.http.HttpHeaders
import io.ktor.http.HttpStatusCode
import io.ktor.server.application.ApplicationCall
import io.ktor.server.request.path
import io.ktor.server.routing.Route
import workshop.service.ProblemException

private const val PROPFIND = "PROPFIND"

/** What a request asks about a resource, and perhaps about what is directly in it. */
private class Propfind(
    val wanted: Wanted,
    val isDeep: Boolean,
)

fun Route.propfindEntry() {
    on(PROPFIND) {
        val propfind = call.receivePropfind()
        call.respondMultistatus(propfind.wanted) { found(ENTRY, call.user, entryProperties.select(propfind.wanted)) }
    }
}

fun Route.propfindPrincipal() {
    on(PROPFIND) {
        val propfind = call.receivePropfind()
        call.respondMultistatus(propfind.wanted) { found(principalOf(call.user), call.user, principalProperties.select(propfind.wanted)) }
    }
}

fun Route.propfindHome(contacts: Contacts) {
    on(PROPFIND) {
        val propfind = call.receivePropfind()
        val book = if (propfind.isDeep) contacts.book(call.user) else null
        call.respondMultistatus(propfind.wanted) {
            found(homeOf(call.user), call.user, homeProperties.select(propfind.wanted))
            book?.let { found(bookOf(call.user), it, bookProperties.select(propfind.wanted)) }
        }
    }
}

fun Route.propfindBook(contacts: Contacts) {
    on(PROPFIND) {
        val propfind = call.receivePropfind()
        val (book, inIt) = if (propfind.isDeep) contacts.bookWithContacts(call.user) else contacts.book(call.user) to emptyList<Contact>()
        call.respondMultistatus(propfind.wanted) {
            found(bookOf(call.user), book, bookProperties.select(propfind.wanted))
            val selection = contactProperties.select(propfind.wanted)
            inIt.forEach { found(contactOf(call.user, it.name), it, selection) }
        }
    }
}

fun Route.propfindContact(contacts: Contacts) {
    on(PROPFIND) {
        val name = call.contactName
        val propfind = call.receivePropfind(hasChildren = false)
        val contact = contacts.find(call.user, name) ?: throw noContact()
        call.respondMultistatus(propfind.wanted) { found(contactOf(call.user, name), contact, contactProperties.select(propfind.wanted)) }
    }
}

/** Without a body, all properties are asked for. */
private suspend fun ApplicationCall.receivePropfind(hasChildren: Boolean = true): Propfind {
    val isDeep = isDeep(hasChildren)
    val root = receiveXml() ?: return Propfind(Wanted.All, isDeep)
    val wanted =
        root.takeIf { it.name == Dav.PROPFIND }?.wanted()
            ?: throw ProblemException(HttpStatusCode.BadRequest, "the body must be a propfind with allprop, propname or prop")
    return Propfind(wanted, isDeep)
}

/** Without a `Depth`, a request asks for everything, however deep it is. That is refused, but for a contact, which has no depth. */
private fun ApplicationCall.isDeep(hasChildren: Boolean): Boolean =
    when (request.headers[HttpHeaders.Depth]?.trim()?.lowercase()) {
        "0" -> false
        "1" -> true
        null, "infinity" -> if (hasChildren) throw DavException(HttpStatusCode.Forbidden, Dav.PROPFIND_FINITE_DEPTH) else false
        else -> throw ProblemException(HttpStatusCode.BadRequest, "Depth must be 0, 1 or infinity")
    }

/** Answers PROPPATCH: no property can be changed by a client, and the answer says so of each. */
fun Route.proppatch() {
    on("PROPPATCH") {
        val update =
            call.receiveXml()?.takeIf { it.name == Dav.PROPERTYUPDATE }
                ?: throw ProblemException(HttpStatusCode.BadRequest, "the body must be a propertyupdate")
        val names = namesOf(update.children.mapNotNull { it.child(Dav.PROP) }.flatMap { it.children })
        call.respondMultistatus(Wanted.Only(names)) { protected(call.request.path(), names) }
    }
}
