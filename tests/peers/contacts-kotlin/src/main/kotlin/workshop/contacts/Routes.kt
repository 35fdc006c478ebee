// The paths of the service, and the methods of each.
package workshop.contacts

import io.ktor.server.response.respondRedirect
import io.ktor.server.routing.Route
import io.ktor.server.routing.route

// ANCHOR: router
fun Route.addressBook(contacts: Contacts) {
    route("/.well-known/carddav") {
        handle { call.respondRedirect(ENTRY, permanent = true) }
    }
    davPath("/", "PROPFIND") {
        propfindEntry()
    }
    davPath("/principals/{user}", "PROPFIND") {
        propfindPrincipal()
    }
    davPath("/addressbooks/{user}", "PROPFIND") {
        propfindHome(contacts)
    }
    davPath("/addressbooks/{user}/contacts", "PROPFIND", "REPORT") {
        propfindBook(contacts)
        reports(contacts)
    }
    davPath("/addressbooks/{user}/contacts/{name}", "GET", "HEAD", "PUT", "DELETE", "PROPFIND") {
        getContact(contacts)
        putContact(contacts)
        deleteContact(contacts)
        propfindContact(contacts)
    }
}
// ANCHOR_END: router
