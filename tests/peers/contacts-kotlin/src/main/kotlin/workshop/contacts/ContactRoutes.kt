// Answers and changes single contacts.
package workshop.contacts

import io.ktor.http.HttpHeaders
import io.ktor.http.HttpStatusCode
import io.ktor.server.response.header
import io.ktor.server.response.respond
import io.ktor.server.response.respondText
import io.ktor.server.routing.Route
import workshop.service.ProblemException
import workshop.service.getOrHead

fun noContact() = ProblemException(HttpStatusCode.NotFound, "there is no contact with this name")

/** The vCard, as it was put. */
fun Route.getContact(contacts: Contacts) {
    getOrHead {
        val name = call.contactName
        val contact = contacts.find(call.user, name) ?: throw noContact()
        if (!call.request.wants(contact)) throw conditionFailed()
        call.response.header(HttpHeaders.ETag, contact.etag)
        contact.lastModified?.let { call.response.header(HttpHeaders.LastModified, it) }
        if (call.request.alreadyHas(contact)) {
            call.respond(HttpStatusCode.NotModified)
        } else {
            call.respondText(contact.vcard.orEmpty(), VCARD_AS_UTF_8)
        }
    }
}

fun Route.putContact(contacts: Contacts) {
    on("PUT") {
        val name = call.contactName
        val conditions = call.request.conditionsFor(contacts, call.user, name)
        val body = call.receiveVCard()
        val card = computing { newContact(body) }
        val isNew =
            try {
                contacts.put(call.user, name, card, conditions)
            } catch (conflict: UidConflict) {
                throw DavException(HttpStatusCode.Conflict, CardDav.NO_UID_CONFLICT, contactOf(call.user, conflict.with))
            }
        // A client assumes that the tag belongs to the exact bytes that it sent.
        if (card.isAsSent) call.response.header(HttpHeaders.ETag, card.etag)
        call.respond(if (isNew) HttpStatusCode.Created else HttpStatusCode.NoContent)
    }
}

fun Route.deleteContact(contacts: Contacts) {
    on("DELETE") {
        val name = call.contactName
        contacts.remove(call.user, name, call.request.conditionsFor(contacts, call.user, name))
        call.respond(HttpStatusCode.NoContent)
    }
}

private val VCARD_AS_UTF_8 = VCARD.withParameter("charset", "utf-8")
