// Starts the service, says what it is made of, and stops it.
package workshop.records

import io.ktor.server.application.Application
import io.ktor.server.application.ApplicationStopped
import io.ktor.server.application.ServerReady
import io.ktor.server.engine.connector
import io.ktor.server.engine.embeddedServer
import io.ktor.server.netty.Netty
import io.ktor.server.routing.routing
import io.netty.handler.timeout.WriteTimeoutHandler
import kotlinx.coroutines.runBlocking
import java.io.IOException
import java.nio.channels.UnresolvedAddressException
import java.util.concurrent.TimeUnit
import kotlin.system.exitProcess
import kotlin.time.Duration.Companion.seconds

// ANCHOR: main
fun main() = serve(ZxingQrCodes())

/** Runs the service until it is told to stop, with [qrCodes] to draw its QR codes. */
fun serve(qrCodes: QrCodes) {
    val settings =
        try {
            Settings.from(System.getenv())
        } catch (invalid: InvalidSettings) {
            refuse(invalid.complaints)
        }
    val schema = Schema()
    schema.migrate(patientDataSource(settings.database))
    val database = PostgresDatabase(settings.database)
    val server =
        embeddedServer(
            Netty,
            configure = {
                connector {
                    host = settings.address
                    port = settings.port
                }
                // Milliseconds. Waiting for requests is the business of drainOnStop.
                shutdownGracePeriod = 0
                shutdownTimeout = 2_000
                // Ktor's own limit for a client that takes nothing counts in seconds.
                channelPipelineConfig = {
                    val timeout = settings.exportTimeout.inWholeMilliseconds
                    replace(WriteTimeoutHandler::class.java, "timeout", WriteTimeoutHandler(timeout, TimeUnit.MILLISECONDS))
                }
            },
        ) {
            drainOnStop(atMost = 1.seconds)
            service(
                ExposedRecordRepository(database),
                schema::isUpToDate,
                settings.exportLimits,
                settings.apiKeys,
                qrCodes,
            )
        }
    server.monitor.subscribe(ServerReady) {
        val connector = runBlocking { server.engine.resolvedConnectors().single() }
        println("listening on ${connector.host}, port ${connector.port}")
    }
    server.monitor.subscribe(ApplicationStopped) { database.close() }
    try {
        server.start(wait = true)
    } catch (cause: IOException) {
        refuse(settings.cannotListen(cause.message))
    } catch (_: UnresolvedAddressException) {
        refuse(settings.cannotListen("no such address"))
    }
}

/** The whole service, without the engine and the database below it: this is what the tests run. */
fun Application.service(
    records: RecordRepository,
    schemaIsUpToDate: () -> Boolean,
    exportLimits: ExportLimits,
    apiKeys: List<String>,
    qrCodes: QrCodes = ZxingQrCodes(),
) {
    problems()
    requests()
    routing {
        health()
        ready(records, schemaIsUpToDate)
        read(records, apiKeys)
        records(records, apiKeys)
        export(records, exportLimits, apiKeys)
        visit(records, apiKeys)
        visits(records, apiKeys)
        qrCode(qrCodes)
    }
}
// ANCHOR_END: main

private fun Settings.cannotListen(reason: String?) =
    listOf("Cannot listen on $address, port $port ($reason): set ADDRESS and PORT to a free one.")

/** A wrong setting is no bug: the reader gets the sentences, not a stack trace. */
private fun refuse(complaints: List<String>): Nothing {
    complaints.forEach(System.err::println)
    exitProcess(1)
}
