// Starts the service, says what it is made of, and stops it.
package workshop.records

import io.ktor.server.application.Application
import io.ktor.server.application.ApplicationStopPreparing
import io.ktor.server.application.ApplicationStopped
import io.ktor.server.application.ServerReady
import io.ktor.server.application.install
import io.ktor.server.engine.connector
import io.ktor.server.engine.embeddedServer
import io.ktor.server.netty.Netty
import io.ktor.server.routing.routing
import kotlinx.coroutines.runBlocking
import org.slf4j.LoggerFactory
import sun.misc.Signal
import java.io.IOException
import java.nio.channels.UnresolvedAddressException
import kotlin.system.exitProcess
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds

// ANCHOR: main
fun main(arguments: Array<String>) {
    if (arguments.firstOrNull() == "health") {
        healthComplaint(readSettings())?.let { refuse(listOf(it)) }
    } else {
        serve(ZxingQrCodes())
    }
}

/** Runs the service until it is told to stop, with [qrCodes] to draw its QR codes. */
fun serve(qrCodes: QrCodes) {
    val settings = readSettings()
    logFrom(settings.logLevel)
    val schema = Schema()
    schema.migrate(migrationDataSource(settings.database))
    val database = PostgresDatabase(settings.database)
    val records =
        when (settings.repository) {
            Repository.EXPOSED -> ExposedRecordRepository(database)
            Repository.JDBC -> JdbcRecordRepository(database)
        }
    val listener = Listener()
    val server =
        embeddedServer(
            Netty,
            configure = {
                connector {
                    host = settings.address
                    port = settings.port
                }
                acceptUnusualRequests()
                configureBootstrap = { handler(listener) }
                // Milliseconds. Waiting for requests is the business of drainOnStop.
                shutdownGracePeriod = 0
                shutdownTimeout = 2_000
                // For clients that take nothing: late enough for one that reads on to learn why its export has ended.
                responseWriteTimeoutSeconds = settings.exportLimits.clientTimeout.inWholeSeconds.toInt() + 60
            },
        ) {
            // A request may wait that long for a connection, and as long again for its query; one with a price until its deadline.
            val longestRequest = maxOf(settings.database.timeout * 2, settings.prices?.deadline ?: Duration.ZERO)
            val room = Room(settings.peers)
            monitor.subscribe(ApplicationStopPreparing) { room.close() }
            drainOnStop(listener, atMost = longestRequest + 1.seconds)
            val prices = settings.prices?.let { Prices(upstream(it), it) }
            service(records, schema::isUpToDate, settings.exportLimits, settings.apiKeys, qrCodes, prices, room)
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

/** The whole service, without the engine and the database below it: this is what the tests run. */
fun Application.service(
    records: RecordRepository,
    schemaIsUpToDate: () -> Boolean,
    exportLimits: ExportLimits,
    apiKeys: List<String>,
    qrCodes: QrCodes = ZxingQrCodes(),
    prices: Prices? = null,
    room: Room = Room(PeerSettings(queue = 256, pingPeriod = 20.seconds)),
) {
    install(RequestIds)
    install(RequestLog)
    problems()
    requests()
    webSockets(room)
    routing {
        health()
        ready(records, schemaIsUpToDate)
        read(records, apiKeys)
        records(records, apiKeys)
        export(records, exportLimits, apiKeys)
        visit(records, apiKeys)
        visits(records, apiKeys)
        qrCode(qrCodes)
        prices?.let { price(records, it, apiKeys) }
        peers(room, apiKeys)
    }
}
// ANCHOR_END: main

private val log = LoggerFactory.getLogger("workshop.records.start")

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
