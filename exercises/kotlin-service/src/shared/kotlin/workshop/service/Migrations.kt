// Brings the schema of the database up to date, in the background, as soon as the database is there.
package workshop.service

import org.slf4j.LoggerFactory
import java.sql.Connection
import java.sql.SQLException
import javax.sql.DataSource
import kotlin.concurrent.thread

// ANCHOR: migrations

/**
 * Runs all scripts, in one transaction. Of two services that start at the same time, one waits for the other.
 *
 * By hand, since Flyway takes 0.8 s to find out that there is nothing to do: nearly as long as this service to start.
 */
private fun Connection.migrate(
    scripts: List<String>,
    lock: Long,
) {
    autoCommit = false
    createStatement().use { statement ->
        // Some databases are read-only for those who do not ask otherwise.
        statement.execute("SET TRANSACTION READ WRITE")
        // When the line falls silent, the database ends the session, and with it the lock.
        statement.execute("SET LOCAL idle_in_transaction_session_timeout = '10s'")
        statement.execute("SELECT pg_advisory_xact_lock($lock)")
        scripts.forEach { statement.execute(resource(it)) }
    }
    commit()
}
// ANCHOR_END: migrations

private fun resource(path: String): String = checkNotNull(Schema::class.java.getResource(path)) { "no resource $path" }.readText()

/**
 * The schema. It may not be up to date yet: the service does not wait for that to start.
 *
 * The [scripts] are in the resources, oldest first. Each changes nothing where it has run before. The [lock] is any number
 * that nobody else locks.
 */
class Schema(
    private val scripts: List<String>,
    private val lock: Long,
) {
    @Volatile
    var isUpToDate = false
        private set

    private val log = LoggerFactory.getLogger(Schema::class.java)

    /**
     * Begins to migrate the [database], and tries again until it has worked.
     *
     * On a connection that the requests do not share: a migration may take longer than they may.
     */
    fun migrate(database: DataSource) {
        thread(isDaemon = true, name = "migrations") {
            var lastReason: String? = null
            while (!isUpToDate) {
                try {
                    database.connection.use { it.migrate(scripts, lock) }
                    isUpToDate = true
                } catch (failure: SQLException) {
                    // One line, however long it lasts.
                    if (failure.message != lastReason) logged(failure)
                    lastReason = failure.message
                    Thread.sleep(RETRY_INTERVAL_MS)
                }
            }
        }
    }

    private fun logged(failure: SQLException) =
        if (failure.orUnavailable() is DatabaseUnavailable) {
            log.warn("the migrations have not run, trying again: {}", failure.message)
        } else {
            log.error("the database rejects a migration, trying again: {}", failure.message)
        }

    private companion object {
        const val RETRY_INTERVAL_MS = 100L
    }
}
