// Starts the service, wires its parts together, and stops it.
package workshop.records

import io.ktor.serialization.kotlinx.json.json
import io.ktor.server.application.Application
import io.ktor.server.application.ApplicationCall
import io.ktor.server.application.ApplicationStopPreparing
import io.ktor.server.application.install
import io.ktor.server.auth.Authentication
import io.ktor.server.auth.authenticate
import io.ktor.server.plugins.autohead.AutoHeadResponse
import io.ktor.server.plugins.callid.CallId
import io.ktor.server.plugins.contentnegotiation.ContentNegotiation
import io.ktor.server.plugins.statuspages.StatusPages
import io.ktor.server.routing.routing
import io.ktor.server.websocket.WebSockets
import kotlinx.serialization.json.Json
import workshop.service.NoObserver
import workshop.service.RequestLog
import workshop.service.Schema
import workshop.service.drainOnStop
import workshop.service.listen
import workshop.service.logFrom
import workshop.service.problems
import workshop.service.readSettings
import workshop.service.refuse
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds

// ANCHOR: main
// ANCHOR: entry
fun main(arguments: Array<String>) {
    if (arguments.firstOrNull() == "health") {
        healthComplaint(readSettings(Settings::from))?.let { refuse(listOf(it)) }
    } else {
        serve(ZxingQrCodes())
    }
}
// ANCHOR_END: entry

/** Runs the service until it is told to stop, with [qrCodes] to draw its QR codes. */
fun serve(qrCodes: QrCodes) {
    val settings = readSettings(Settings::from)
    logFrom(settings.logLevel)
    val schema =
        Schema(
            migrations(settings.outbox),
            lock = 7_263_001,
            reads = listOf("SELECT id, value, odd, divisible_by_3, visited FROM records LIMIT 0"),
        )
    schema.migrate(settings.database)
    val telemetry = if (settings.isObserved) Telemetry() else null
    val database = PostgresDatabase(settings.database, telemetry?.databaseSpans ?: NoObserver)
    val records =
        when (settings.repository) {
            Repository.EXPOSED -> ExposedRecordRepository(database, settings.outbox)
            Repository.JDBC -> JdbcRecordRepository(database, settings.outbox)
        }
    val stopped = {
        database.close()
        // Close this after the last requests, so that their spans are exported, too.
        telemetry?.close()
        Unit
    }
    listen(settings.address, settings.port, stopped = stopped) { connections ->
        // A request can wait up to the timeout for a connection, and again for its query; one with a price, until its deadline.
        val longestRequest = maxOf(settings.database.timeout * 2, settings.prices?.deadline ?: Duration.ZERO)
        val room = Room(settings.peers)
        val tokens = settings.tokens?.let { tokens(it) }
        monitor.subscribe(ApplicationStopPreparing) { room.close() }
        drainOnStop(connections, atMost = longestRequest + 1.seconds)
        val prices = settings.prices?.let { Prices(telemetry?.upstream(it) ?: upstream(it), it) }
        service(
            records,
            schema::isUpToDate,
            settings.exportLimits,
            settings.apiKeys,
            qrCodes,
            prices,
            room,
            settings.outbox,
            tokens,
            telemetry,
        )
    }
}

private fun migrations(outbox: Outbox): List<String> =
    listOfNotNull(
        "/migrations/0001_create_records.sql",
        "/migrations/0002_share_visits.sql".takeIf { outbox == Outbox.ON },
    )

/** The whole service, without the engine and the database below it: this is what the tests run. */
fun Application.service(
    records: RecordRepository,
    schemaIsUpToDate: () -> Boolean,
    exportLimits: ExportLimits,
    apiKeys: List<String>,
    qrCodes: QrCodes = ZxingQrCodes(),
    prices: Prices? = null,
    room: Room = Room(PeerSettings(queue = 256, pingPeriod = 20.seconds)),
    outbox: Outbox = Outbox.OFF,
    tokens: Tokens? = null,
    telemetry: Telemetry? = null,
) {
    // ANCHOR: routes
    telemetry?.let { traceRequests(it.openTelemetry) }
    install(CallId) { requestIds() }
    install(RequestLog)
    install(StatusPages) { problems(ApplicationCall::problemOf) }
    // Ktor's default `Json` would also write properties that have their default values.
    install(ContentNegotiation) { json(Json) }
    install(AutoHeadResponse)
    install(WebSockets) { limits() }
    install(Authentication) { credentials(apiKeys, tokens) }
    routing {
        telemetry?.let { metrics(it.metrics) }
        health()
        ready(records, schemaIsUpToDate)
        qrCode(qrCodes)
        authenticate(*placesFor(tokens)) {
            allowed(READ, tokens) {
                read(records)
                records(records)
                export(records, exportLimits)
                prices?.let { price(records, it) }
                peers(room)
            }
            allowed(WRITE, tokens) {
                visit(records)
                visits(records)
                if (outbox == Outbox.ON) takeBack(records)
            }
        }
    }
    // ANCHOR_END: routes
}
// ANCHOR_END: main
