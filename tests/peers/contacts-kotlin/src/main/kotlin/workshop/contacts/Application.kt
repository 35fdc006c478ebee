// Starts the service, wires its parts together, and stops it.
package workshop.contacts

import io.ktor.server.application.Application
import io.ktor.server.application.ApplicationCall
import io.ktor.server.application.install
import io.ktor.server.routing.IgnoreTrailingSlash
import io.ktor.server.routing.routing
import workshop.service.RequestIds
import workshop.service.RequestLog
import workshop.service.Schema
import workshop.service.drainOnStop
import workshop.service.health
import workshop.service.listen
import workshop.service.logFrom
import workshop.service.problems
import workshop.service.readSettings
import workshop.service.ready
import kotlin.time.Duration.Companion.seconds

fun main() {
    val settings = readSettings(Settings::from)
    logFrom(settings.logLevel)
    val schema = Schema(listOf("/migrations/0001_create_the_address_books.sql"), lock = 7_263_016, reads = READ)
    schema.migrate(settings.database)
    val database = PostgresDatabase(settings.database)
    listen(settings.address, settings.port, stopped = database::close) { connections ->
        // A request may wait that long for a connection, and as long again for its queries; and some do that twice.
        drainOnStop(connections, atMost = settings.database.timeout * 4 + 1.seconds)
        service(Contacts(database), schema::isUpToDate, settings.users)
    }
}

/** What this release reads, by name: a later one may have added to it, and must not have taken it away. */
private val READ =
    listOf(
        "SELECT owner, life, revision FROM books LIMIT 0",
        "SELECT owner, name, uid, etag, revision, changed, vcard FROM contacts LIMIT 0",
    )

/** The whole service, without the engine and the database below it. */
private fun Application.service(
    contacts: Contacts,
    schemaIsUpToDate: () -> Boolean,
    users: List<User>,
) {
    install(RequestIds)
    install(RequestLog)
    problems(ApplicationCall::problemOf) { failedPreconditions() }
    install(Authentication) { this.users = users }
    install(IgnoreTrailingSlash)
    routing {
        health()
        ready(contacts::ping, schemaIsUpToDate)
        addressBook(contacts)
    }
}
