// Answers REPORT on an address book: the contacts that are named, those that match, or what has changed.
package workshop.contacts

import io.ktor.http.HttpHeaders
import io.ktor.http.HttpStatusCode
import io.ktor.server.application.ApplicationCall
import io.ktor.server.routing.Route
import workshop.service.ProblemException
import javax.xml.namespace.QName

fun Route.reports(contacts: Contacts) {
    on("REPORT") {
        val report = call.receiveXml() ?: throw ProblemException(HttpStatusCode.BadRequest, "the body must be a report")
        when (report.name) {
            CardDav.ADDRESSBOOK_MULTIGET -> call.multiget(contacts, report)
            CardDav.ADDRESSBOOK_QUERY -> call.query(contacts, report)
            Dav.SYNC_COLLECTION -> call.syncCollection(contacts, report)
            else -> throw DavException(HttpStatusCode.Forbidden, Dav.SUPPORTED_REPORT)
        }
    }
}

/** The contacts that the client names, in its order. */
private suspend fun ApplicationCall.multiget(
    contacts: Contacts,
    report: XmlElement,
) {
    val names = report.children(Dav.HREF).map { it.text.trim() }.associateWith { contactNameIn(it, owner = user) }
    val byName = contacts.named(user, names.values.filterNotNull()).associateBy { it.name }
    val selection = reportedProperties.select(report.wanted() ?: Wanted.All)
    respondMultistatus {
        names.forEach { (href, name) ->
            val contact = byName[name]
            if (contact == null) notFound(href) else found(contactOf(user, contact.name), contact, selection)
        }
    }
}

/** The contacts that match a filter. */
private suspend fun ApplicationCall.query(
    contacts: Contacts,
    report: XmlElement,
) {
    val filter =
        report.child(CardDav.FILTER)?.let { filterIn(it) }
            ?: throw ProblemException(HttpStatusCode.BadRequest, "a query needs a filter")
    val limit = report.limit(CardDav.LIMIT, CardDav.NRESULTS) ?: Int.MAX_VALUE
    val matching = contacts.all(user).filter { contact -> parseVCard(contact.vcard.orEmpty())?.let(filter::matches) == true }
    val selection = reportedProperties.select(report.wanted() ?: Wanted.All)
    respondMultistatus {
        matching.take(limit).forEach { found(contactOf(user, it.name), it, selection) }
        if (matching.size > limit) cutOff(bookOf(user))
    }
}

/** What has changed since the client's token, and the next token (RFC 6578). */
private suspend fun ApplicationCall.syncCollection(
    contacts: Contacts,
    report: XmlElement,
) {
    if ((request.headers[HttpHeaders.Depth]?.trim() ?: "0") != "0") {
        throw ProblemException(HttpStatusCode.BadRequest, "Depth must be 0")
    }
    if (report.child(Dav.SYNC_LEVEL)?.text?.trim() != "1") {
        throw ProblemException(HttpStatusCode.BadRequest, "sync-level must be 1")
    }
    val wanted = report.wanted() ?: throw ProblemException(HttpStatusCode.BadRequest, "a sync-collection needs a prop")
    val limit = report.limit(Dav.LIMIT, Dav.NRESULTS)
    val changes =
        try {
            contacts.changes(user, report.syncToken(), limit, withVCards = CardDav.ADDRESS_DATA in wanted)
        } catch (_: InvalidSyncToken) {
            throw DavException(HttpStatusCode.Forbidden, Dav.VALID_SYNC_TOKEN)
        }
    val selection = reportedProperties.select(wanted)
    respondMultistatus {
        changes.changes.forEach { change ->
            val href = contactOf(user, change.name)
            if (change.contact == null) notFound(href) else found(href, change.contact, selection)
        }
        if (changes.isPage) cutOff(bookOf(user))
        element(Dav.SYNC_TOKEN, changes.token.toString())
    }
}

/** Null for a client that has nothing yet: it sends an empty token. */
private fun XmlElement.syncToken(): SyncToken? {
    val text = child(Dav.SYNC_TOKEN)?.text?.trim().orEmpty()
    return if (text.isEmpty()) null else SyncToken.parse(text) ?: throw InvalidSyncToken()
}

private operator fun Wanted.contains(name: QName) = this is Wanted.Only && name in names
