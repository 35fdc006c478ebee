// Migrates the database in the background, as soon as it's available.
package workshop.service

import org.postgresql.util.PSQLException
import org.postgresql.util.PSQLState
import org.slf4j.LoggerFactory
import java.sql.Connection
import java.sql.SQLException
import kotlin.concurrent.thread
import kotlin.time.Duration

// ANCHOR: migrations

/**
 * Runs all scripts, in one transaction. Of two services that start at the same time, one waits for the other.
 *
 * Written by hand, since Flyway takes 0.8 s to find out that there is nothing to do: nearly as long as this service to start.
 */
private fun Connection.migrate(
    scripts: List<String>,
    lock: Long,
    timeout: Duration,
) {
    autoCommit = false
    createStatement().use { statement ->
        // Overrides the setting of databases that are read-only by default.
        statement.execute("SET TRANSACTION READ WRITE")
        // Requests queue behind an ALTER that waits for its lock, so this limits how long they wait.
        statement.execute("SET LOCAL lock_timeout = '1s'")
        // The same timeout in the database. Otherwise each abandoned attempt would leave a backend running.
        statement.execute("SET LOCAL statement_timeout = ${timeout.inWholeMilliseconds}")
        // If the connection goes silent, the database ends the session, which releases the lock.
        statement.execute("SET LOCAL idle_in_transaction_session_timeout = '10s'")
        statement.execute("SELECT pg_advisory_xact_lock($lock)")
        scripts.forEach { statement.execute(resource(it)) }
    }
    commit()
}
// ANCHOR_END: migrations

// ANCHOR: missing

/** The database lacks a table or a column that this release reads. A later release may have dropped it. */
private class MissingFromSchema(
    cause: SQLException,
) : SQLException(cause)

/** Queries the columns that this release reads, by name: columns that a later release has added do no harm, dropped ones do. */
private fun Connection.requireWhatIsRead(queries: List<String>) {
    createStatement().use { statement ->
        try {
            queries.forEach { statement.execute(it) }
        } catch (failure: SQLException) {
            throw if (failure.sqlState in MISSING) MissingFromSchema(failure) else failure
        }
    }
}

private val MISSING = setOf(PSQLState.UNDEFINED_COLUMN.state, PSQLState.UNDEFINED_TABLE.state)
// ANCHOR_END: missing

private fun resource(path: String): String = checkNotNull(Schema::class.java.getResource(path)) { "no resource $path" }.readText()

/**
 * The schema. It may not be up to date yet: the service does not wait for that to start.
 *
 * The [scripts] are in the resources, oldest first. Each changes nothing where it has run before. The [lock] is any number
 * that nobody else locks. The queries in [reads] name every column that the service reads.
 */
class Schema(
    private val scripts: List<String>,
    private val lock: Long,
    private val reads: List<String> = emptyList(),
) {
    @Volatile
    var isUpToDate = false
        private set

    private val log = LoggerFactory.getLogger(Schema::class.java)

    /**
     * Begins to migrate the database, and retries until it succeeds.
     *
     * On a connection that the requests do not share: a migration may take longer than they may.
     */
    fun migrate(settings: DatabaseSettings) {
        val database = migrationDataSource(settings)
        thread(isDaemon = true, name = "migrations") {
            val told = mutableSetOf<String>()
            while (!isUpToDate) {
                try {
                    database.connection.use {
                        it.migrate(scripts, lock, settings.migrationTimeout)
                        it.requireWhatIsRead(reads)
                    }
                    isUpToDate = true
                } catch (failure: SQLException) {
                    // Log each reason once, however long the outage lasts.
                    if (told.add(failure.reason())) logged(failure)
                    Thread.sleep(RETRY_INTERVAL_MS)
                }
            }
        }
    }

    private fun logged(failure: SQLException) {
        val said = failure.reason()
        when {
            failure is MissingFromSchema -> {
                log.error("the database no longer has what this release needs, trying again: {}", said)
            }

            failure.sqlState == LOCK_NOT_AVAILABLE -> {
                log.warn("the migrations wait for a lock, trying again: {}", said)
            }

            failure.orUnavailable() is DatabaseUnavailable -> {
                log.warn("the migrations have not run, trying again: {}", said)
            }

            else -> {
                log.error("the database rejects a migration, trying again: {}", said)
            }
        }
    }

    /** The database's own message. The exception's message also has the severity, and the position in the statement. */
    private fun SQLException.reason(): String =
        generateSequence<Throwable>(this) { it.cause }.firstNotNullOfOrNull { (it as? PSQLException)?.serverErrorMessage?.message }
            ?: message.orEmpty()

    private companion object {
        const val RETRY_INTERVAL_MS = 100L
        const val LOCK_NOT_AVAILABLE = "55P03"
    }
}
