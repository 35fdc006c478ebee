// Starts release 2, or runs one of its commands. What it shares with release 1 is in the package of the records.
package workshop.releases

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import workshop.records.ExposedRecordRepository
import workshop.records.PostgresDatabase
import workshop.records.Room
import workshop.records.healthComplaint
import workshop.records.service
import workshop.service.drainOnStop
import workshop.service.listen
import workshop.service.logFrom
import workshop.service.readSettings
import workshop.service.refuse
import kotlin.time.Duration.Companion.seconds

fun main(arguments: Array<String>) {
    val settings = readSettings(Release2Settings::from)
    when (arguments.firstOrNull()) {
        "health" -> healthComplaint(settings.service)?.let { refuse(listOf(it)) }
        "contract" -> runBlocking { contract(settings.database) }?.let { refuse(listOf(it)) } ?: println("records.visited is gone")
        else -> serve(settings)
    }
}

/** Runs the service until it is told to stop. The schema is brought up to date beside the requests. */
private fun serve(settings: Release2Settings) {
    logFrom(settings.service.logLevel)
    val move = Move(settings.database, settings.visitedFrom)
    CoroutineScope(Dispatchers.IO).launch { move.run() }
    val database = PostgresDatabase(settings.database)
    val records =
        when (settings.visitedFrom) {
            VisitedFrom.VISITED -> ExposedRecordRepository(database)
            VisitedFrom.VISITED_AT -> DatedRecordRepository(database)
        }
    with(settings.service) {
        listen(address, port, stopped = database::close) { connections ->
            val room = Room(peers)
            drainOnStop(connections, atMost = settings.database.timeout * 2 + 1.seconds)
            service(records, move::isUpToDate, exportLimits, apiKeys, room = room)
        }
    }
}
