// What an instance of release 2 does beside its requests, until every visit has a time.
package workshop.releases

import kotlinx.coroutines.delay
import org.flywaydb.core.Flyway
import org.flywaydb.core.api.FlywayException
import org.postgresql.util.PSQLException
import org.postgresql.util.PSQLState
import org.slf4j.LoggerFactory
import workshop.service.DatabaseSettings
import java.sql.Connection
import java.sql.SQLException
import kotlin.time.Duration.Companion.milliseconds

// ANCHOR: flyway

/**
 * Runs the scripts in `db/migration` that this database has not had yet.
 *
 * Flyway tolerates what a later release has added: its default is `ignoreMigrationPatterns("*:future")`, and to set another pattern
 * takes that away. Release 1 notes no scripts, so what it has left is the baseline.
 */
private fun expand(database: DatabaseSettings) {
    Flyway
        .configure()
        .dataSource(database.sessions(lockTimeout = "1s"))
        .baselineOnMigrate(true)
        .baselineVersion("0")
        // By default Flyway holds its lock in a transaction of its own, on a second connection. So a script may have run and not be noted,
        // and CREATE INDEX CONCURRENTLY would wait for that transaction, which waits for the script.
        .configuration(mapOf("flyway.postgresql.transactional.lock" to "false"))
        .load()
        .migrate()
}
// ANCHOR_END: flyway

/** The schema on its way from one column to the other. It may not be up to date yet: the service does not wait for that to start. */
class Move(
    private val database: DatabaseSettings,
    private val visitedFrom: VisitedFrom,
) {
    @Volatile
    var isUpToDate = false
        private set

    private val log = LoggerFactory.getLogger(Move::class.java)

    /** Returns when every visit has a time. An instance that reads the new column is not ready before. */
    suspend fun run() {
        val left =
            retrying {
                expand(database)
                database.sessions(lockTimeout = "1s").connection.use {
                    it.execute("SELECT id, value, odd, divisible_by_3, ${visitedFrom.name.lowercase()} FROM records LIMIT 0")
                    if (it.hasColumn("visited")) it.undated() else 0
                }
            }
        if (left > 0) {
            if (visitedFrom == VisitedFrom.VISITED) {
                isUpToDate = true
            } else {
                log.warn("VISITED_FROM is visited_at, and {} visits have no time yet: not ready before", left)
            }
            retrying {
                // No lock timeout here: unlike a migration, this session blocks no other while it waits.
                database.sessions(lockTimeout = "0").connection.use {
                    it.buildIndex()
                    it.backfill()
                }
            }
        }
        isUpToDate = true
    }

    private suspend fun <T> retrying(attempt: suspend () -> T): T {
        var lastLine = ""
        while (true) {
            try {
                return attempt()
            } catch (failure: Exception) {
                if (failure !is SQLException && failure !is FlywayException) throw failure
                // Logs a line only if it differs from the last one, to log a long outage only once.
                val line = failure.inWords()
                if (line != lastLine) log.warn(line)
                lastLine = line
                delay(PAUSE)
            }
        }
    }

    private fun Exception.inWords(): String {
        val causes = generateSequence<Throwable>(this) { it.cause }
        val said = causes.firstNotNullOfOrNull { (it as? PSQLException)?.serverErrorMessage?.message } ?: message.orEmpty()
        return when (causes.firstNotNullOfOrNull { (it as? SQLException)?.sqlState }) {
            PSQLState.UNDEFINED_COLUMN.state, PSQLState.UNDEFINED_TABLE.state -> {
                "the database no longer has what this release needs, trying again: $said"
            }

            LOCK_NOT_AVAILABLE -> {
                "the migrations wait for a lock, trying again: $said; in the way: ${blockers()}"
            }

            else -> {
                "the move has not come to its end, trying again: ${said.lineSequence().first()}"
            }
        }
    }

    private fun blockers(): String =
        try {
            database.sessions(lockTimeout = "1s").connection.use(Connection::inTheWay)
        } catch (failure: SQLException) {
            "unknown, since ${failure.message}"
        }
}

internal const val LOCK_NOT_AVAILABLE = "55P03"
private val PAUSE = 500.milliseconds
