// Answers REPORT on an address book: the contacts that are named, those that match, or what has changed.
package workshop.contacts

import io.ktor.http.HttpStatusCode
import io.ktor.server.application.ApplicationCall
import io.ktor.server.routing.Route
import workshop.service.ProblemException
import javax.xml.namespace.QName

/** `Depth` is not looked at: there is nothing below a contact. */
fun Route.reports(contacts: Contacts) {
    on("REPORT") {
        val report = call.receiveXml() ?: throw ProblemException(HttpStatusCode.BadRequest, "the body must be a report")
        val data = report.child(Dav.PROP)?.child(CardDav.ADDRESS_DATA)
        if (data != null && !data.isAvailable()) {
            throw DavException(HttpStatusCode.UnsupportedMediaType, CardDav.SUPPORTED_ADDRESS_DATA)
        }
        when (report.name) {
            CardDav.ADDRESSBOOK_MULTIGET -> call.multiget(contacts, report)
            CardDav.ADDRESSBOOK_QUERY -> call.query(contacts, report)
            Dav.SYNC_COLLECTION -> call.syncCollection(contacts, report)
            else -> throw DavException(HttpStatusCode.Forbidden, Dav.SUPPORTED_REPORT)
        }
    }
}

/** The contacts that the client names. One that is named twice is answered once. */
private suspend fun ApplicationCall.multiget(
    contacts: Contacts,
    report: XmlElement,
) {
    val wanted = report.wanted() ?: Wanted.All
    val hrefs = report.children(Dav.HREF).map { it.text.trim() }.distinct()
    val (there, nowhere) = hrefs.map { contactNameIn(it, owner = user) to it }.partition { it.first != null }
    val hrefOf = there.associate { (name, href) -> name.orEmpty() to href }
    val listing = Listing(contacts, user, hrefOf.keys, CardDav.ADDRESS_DATA in wanted)
    val first = listing.next()
    val selection = reportedProperties.select(wanted)
    respondMultistatus(wanted) {
        var page = first
        while (page != null) {
            page.forEach { (name, contact) ->
                if (contact == null) notFound(hrefOf.getValue(name)) else found(contactOf(user, name), contact, selection)
            }
            page = listing.next()
        }
        nowhere.forEach { (_, href) -> notFound(href) }
    }
}

/** The contacts that match a filter. */
private suspend fun ApplicationCall.query(
    contacts: Contacts,
    report: XmlElement,
) {
    val filter = filterIn(report.child(CardDav.FILTER))
    var room = report.limit(CardDav.LIMIT, CardDav.NRESULTS) ?: Int.MAX_VALUE
    val wanted = report.wanted() ?: Wanted.All
    val listing = Listing(contacts, user, contacts.all(user).map { it.name }, withVCards = true)
    val selection = reportedProperties.select(wanted)
    respondMultistatus(wanted) {
        while (true) {
            val page = listing.next()?.mapNotNull { it.second } ?: break
            val judged = computing { page.map { it to filter.matches(it.vcard.orEmpty()) } }
            val matching = judged.filter { it.second == true }.map { it.first }
            matching.take(room).forEach { found(contactOf(user, it.name), it, selection) }
            if (matching.size > room || judged.any { it.second == null }) {
                cutOff(bookOf(user))
                break
            }
            room -= matching.size
        }
    }
}

/** What has changed since the client's token, and the next token (RFC 6578). */
private suspend fun ApplicationCall.syncCollection(
    contacts: Contacts,
    report: XmlElement,
) {
    when (report.child(Dav.SYNC_LEVEL)?.text?.trim()) {
        // Some clients omit `sync-level`, and mean 1.
        "1", null -> {}
        "infinite" -> throw DavException(HttpStatusCode.Forbidden, Dav.SYNC_TRAVERSAL_SUPPORTED)
        else -> throw ProblemException(HttpStatusCode.BadRequest, "sync-level must be 1")
    }
    val wanted = report.wanted() ?: Wanted.All
    val limit = report.limit(Dav.LIMIT, Dav.NRESULTS)
    val changes =
        try {
            contacts.changes(user, report.syncToken(), limit)
        } catch (_: InvalidSyncToken) {
            throw DavException(HttpStatusCode.Forbidden, Dav.VALID_SYNC_TOKEN)
        }
    val removed = changes.changes.filter { it.isRemoved }.mapTo(mutableSetOf()) { it.name }
    val listing = Listing(contacts, user, changes.changes.map { it.name }, CardDav.ADDRESS_DATA in wanted)
    val selection = reportedProperties.select(wanted)
    respondMultistatus(wanted) {
        while (true) {
            val page = listing.next() ?: break
            page.forEach { (name, contact) ->
                val href = contactOf(user, name)
                if (contact == null || name in removed) notFound(href) else found(href, contact, selection)
            }
        }
        if (changes.isPage) cutOff(bookOf(user))
        syncToken(changes.token)
    }
}

/** Null for a client that has nothing yet: it sends an empty token. */
private fun XmlElement.syncToken(): SyncToken? {
    val text = child(Dav.SYNC_TOKEN)?.text?.trim() ?: throw ProblemException(HttpStatusCode.BadRequest, "there must be a sync-token")
    return if (text.isEmpty()) null else SyncToken.parse(text) ?: throw InvalidSyncToken()
}

/** Between the versions nothing is converted: a contact comes as it was put, and the answer says which version it is. */
private fun XmlElement.isAvailable() =
    (this["content-type"] ?: "text/vcard").equals("text/vcard", ignoreCase = true) && (this["version"] ?: "3.0") in setOf("3.0", "4.0")

private operator fun Wanted.contains(name: QName) = this is Wanted.Only && name in names
