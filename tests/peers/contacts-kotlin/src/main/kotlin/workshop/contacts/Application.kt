// Starts the service, says what it is made of, and stops it.
package workshop.contacts

import io.ktor.server.application.Application
import io.ktor.server.application.ApplicationStopped
import io.ktor.server.application.ServerReady
import io.ktor.server.application.install
import io.ktor.server.engine.connector
import io.ktor.server.engine.embeddedServer
import io.ktor.server.netty.Netty
import io.ktor.server.routing.IgnoreTrailingSlash
import io.ktor.server.routing.routing
import kotlinx.coroutines.runBlocking
import org.slf4j.LoggerFactory
import sun.misc.Signal
import java.io.IOException
import java.nio.channels.UnresolvedAddressException
import kotlin.system.exitProcess
import kotlin.time.Duration.Companion.seconds

fun main() {
    val settings = readSettings()
    logFrom(settings.logLevel)
    val schema = Schema()
    schema.migrate(migrationDataSource(settings.database))
    val database = PostgresDatabase(settings.database)
    val listener = Listener()
    val server =
        embeddedServer(
            Netty,
            configure = {
                connector {
                    host = settings.address
                    port = settings.port
                }
                configureBootstrap = { handler(listener) }
                // Milliseconds. Waiting for requests is the business of drainOnStop.
                shutdownGracePeriod = 0
                shutdownTimeout = 2_000
            },
        ) {
            // A request may wait that long for a connection, and as long again for its queries.
            drainOnStop(listener, atMost = settings.database.timeout * 2 + 1.seconds)
            service(Contacts(database), schema::isUpToDate, settings.users)
        }
    server.monitor.subscribe(ApplicationStopped) { database.close() }
    server.monitor.subscribe(ServerReady) {
        val connector = runBlocking { server.engine.resolvedConnectors().single() }
        log.info("listening on {}, port {}", connector.host, connector.port)
    }
    exitOnSignals()
    try {
        server.start(wait = true)
    } catch (cause: IOException) {
        refuse(settings.cannotListen(cause.message))
    } catch (_: UnresolvedAddressException) {
        refuse(settings.cannotListen("no such address"))
    }
}

/** The whole service, without the engine and the database below it. */
private fun Application.service(
    contacts: Contacts,
    schemaIsUpToDate: () -> Boolean,
    users: List<User>,
) {
    install(RequestIds)
    install(RequestLog)
    problems()
    install(Authentication) { this.users = users }
    install(IgnoreTrailingSlash)
    routing {
        health()
        ready(contacts, schemaIsUpToDate)
        addressBook(contacts)
    }
}

private val log = LoggerFactory.getLogger("workshop.contacts.start")

/**
 * Makes SIGTERM and Ctrl-C a success: the JVM would exit with 128 and the number of the signal. Its shutdown hooks run all the
 * same, and one of them is Ktor's, which stops the server.
 */
private fun exitOnSignals() {
    listOf("TERM", "INT").forEach { name -> Signal.handle(Signal(name)) { exitProcess(0) } }
}

private fun readSettings(): Settings =
    try {
        Settings.from(System.getenv())
    } catch (invalid: InvalidSettings) {
        refuse(invalid.complaints)
    }

private fun Settings.cannotListen(reason: String?) =
    listOf("Cannot listen on $address, port $port ($reason): set ADDRESS and PORT to a free one.")

/** A wrong setting is no bug: the reader gets the sentences, not a stack trace. */
private fun refuse(complaints: List<String>): Nothing {
    complaints.forEach(System.err::println)
    exitProcess(1)
}
