// The argument `contract`: takes the old column away, for good.
package workshop.releases

import kotlinx.coroutines.delay
import workshop.service.DatabaseSettings
import java.sql.Connection
import java.sql.SQLException
import kotlin.time.Duration.Companion.milliseconds

// ANCHOR: contract

/** Null when the old column is gone, else why it stays. Tries again as long as somebody holds the table. */
internal suspend fun contract(database: DatabaseSettings): String? =
    try {
        database.sessions(lockTimeout = "100ms").connection.use { it.contract() }
        null
    } catch (refusal: Refusal) {
        "records.visited stays: ${refusal.message}"
    } catch (failure: SQLException) {
        "records.visited stays: ${failure.message?.lineSequence()?.first()}"
    }

private suspend fun Connection.contract() {
    if (!hasColumn("visited")) return
    val left = undated()
    if (left > 0) throw Refusal("$left visits have no visited_at yet; the service gives them one")
    while (true) {
        requireNoReader()
        try {
            return takeAway()
        } catch (failure: SQLException) {
            rollback()
            autoCommit = true
            if (failure.sqlState != LOCK_NOT_AVAILABLE) throw failure
            System.err.println("the table is held, trying again; in the way: ${inTheWay()}")
            delay(PAUSE)
        }
    }
}

/** Both at once. Once the table is locked, no session can begin to read the column that was not asked about. */
private fun Connection.takeAway() {
    autoCommit = false
    execute("LOCK TABLE records IN ACCESS EXCLUSIVE MODE")
    requireNoReader()
    execute("DROP TRIGGER note_visit_twice ON records; DROP FUNCTION note_visit_twice(); ALTER TABLE records DROP COLUMN visited")
    commit()
}

/**
 * Every session but those of instances that no longer read the old column may read it: those of release 1, and unknown ones. Of another
 * role's session nobody is told the type; the server's own sessions, autovacuum for instance, have no user.
 */
private fun Connection.requireNoReader() {
    val readers =
        query(
            """
            SELECT format('pid %s (%s)', pid, coalesce(nullif(application_name, ''), 'without a name')) FROM pg_stat_activity
            WHERE datname = current_database() AND usesysid IS NOT NULL
              AND coalesce(backend_type, 'client backend') = 'client backend' AND pid <> pg_backend_pid()
              AND application_name <> ? AND application_name <> ALL (?)
            """,
            VisitedFrom.VISITED_AT.applicationName,
            createArrayOf("text", PEOPLE),
        ) { getString(1) }
    if (readers.isNotEmpty()) throw Refusal("it may still be read by ${readers.joinToString()}; stop these, then run this again")
}
// ANCHOR_END: contract

/** Why the old column stays. */
private class Refusal(
    message: String,
) : Exception(message)

/** What people and tools are called that read no column by themselves. */
private val PEOPLE = arrayOf("psql", "pg_dump", "workshop")
private val PAUSE = 500.milliseconds
