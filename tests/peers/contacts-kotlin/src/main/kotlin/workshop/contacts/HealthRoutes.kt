// Answers whether the process lives, and whether it can do its work.
package workshop.contacts

import io.ktor.server.routing.Route
import kotlinx.serialization.Serializable

@Serializable
private data class Status(
    val status: String,
)

/** `/health`: the process lives. It touches no database, so that a database outage never gets the process killed. */
fun Route.health() {
    path("/health", "GET", "HEAD") {
        onGetOrHead { call.respondJson(Status("ok")) }
    }
}

/** `/ready`: the database answers and has the schema, so a request sent here now can be served. */
fun Route.ready(
    contacts: Contacts,
    schemaIsUpToDate: () -> Boolean,
) {
    path("/ready", "GET", "HEAD") {
        onGetOrHead {
            contacts.ping()
            if (!schemaIsUpToDate()) throw DatabaseUnavailable()
            call.respondJson(Status("ready"))
        }
    }
}
