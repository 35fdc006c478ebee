// Starts the service, and says what it is made of.
package workshop.records

import io.ktor.server.application.Application
import io.ktor.server.application.install
import io.ktor.server.engine.connector
import io.ktor.server.engine.embeddedServer
import io.ktor.server.netty.Netty
import io.ktor.server.routing.route
import io.ktor.server.routing.routing
import kotlin.system.exitProcess

// ANCHOR: main
fun main() {
    val settings =
        try {
            Settings.from(System.getenv())
        } catch (invalid: InvalidSettings) {
            invalid.complaints.forEach(System.err::println)
            exitProcess(1)
        }
    val database = PostgresDatabase(settings.database)
    embeddedServer(
        Netty,
        configure = {
            connector {
                host = settings.address
                port = settings.port
            }
            shutdownGracePeriod = 0
            shutdownTimeout = 5_000
        },
    ) {
        service(ExposedRecordRepository(database), settings.apiKeys)
    }.start(wait = true)
}

fun Application.service(
    records: RecordRepository,
    apiKeys: List<String>,
) {
    problems()
    routing {
        health()
        ready(records)
        route("") {
            install(ApiKey) { keys = apiKeys }
            read(records)
        }
    }
}
// ANCHOR_END: main
