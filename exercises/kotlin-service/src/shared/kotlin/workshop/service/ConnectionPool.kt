// The connections to PostgreSQL: the pool, the time limits, and the behavior while the database is down.
package workshop.service

import com.zaxxer.hikari.HikariDataSource
import com.zaxxer.hikari.HikariPoolMXBean
import com.zaxxer.hikari.SQLExceptionOverride
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.asCoroutineDispatcher
import kotlinx.coroutines.withTimeoutOrNull
import org.postgresql.ds.PGSimpleDataSource
import org.postgresql.util.PSQLException
import org.postgresql.util.PSQLState
import org.slf4j.LoggerFactory
import java.sql.Connection
import java.sql.SQLException
import java.sql.SQLTransientConnectionException
import java.util.concurrent.LinkedBlockingQueue
import java.util.concurrent.ThreadPoolExecutor
import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicReference
import javax.sql.DataSource
import kotlin.math.ceil
import kotlin.time.Duration
import kotlin.time.DurationUnit
import kotlin.time.TimeMark
import kotlin.time.TimeSource.Monotonic.markNow

/** The database is away, had no connection free in time, or has not got its schema yet. */
class DatabaseUnavailable(
    cause: Throwable? = null,
) : Exception("the database does not answer", cause)

// ANCHOR: connection-pool

/** Connections to PostgreSQL, and as many threads to use them on: JDBC blocks the thread that calls it. */
class ConnectionPool(
    private val settings: DatabaseSettings,
    private val observer: DatabaseObserver = NoObserver,
) : AutoCloseable {
    // ANCHOR: pool
    private val source = RetryingDataSource(postgresDataSource(settings))

    // This constructor opens no connections: the pool opens them when it is first used. So the service starts, and
    // reports that it's alive, even if the database is unavailable.
    private val pool =
        HikariDataSource().apply {
            dataSource = source
            maximumPoolSize = settings.poolSize
            minimumIdle = settings.poolSize
            connectionTimeout = settings.timeout.inWholeMilliseconds
            validationTimeout = settings.timeout.inWholeMilliseconds
            initializationFailTimeout = -1
            exceptionOverride = KeepForNewPlan
            // The same timeout in the database. Otherwise it would keep running queries that nobody waits for. Behind a PgBouncer in
            // transaction pooling mode, this setting would leak to other clients: set it with ALTER ROLE there instead.
            connectionInitSql = "SET statement_timeout = ${settings.timeout.inWholeMilliseconds}"
        }

    // JDBC blocks its thread, so there is one thread per connection: any more would only wait. Measured under load, this
    // thread pool was about a third faster than suspendTransaction, or Dispatchers.IO with or without limitedParallelism.
    // A virtual thread per query takes a seventh more CPU time, even with runInterruptible.
    private val tasks = LinkedBlockingQueue<Runnable>()
    private val threads =
        ThreadPoolExecutor(settings.poolSize, settings.poolSize, 0, TimeUnit.SECONDS, tasks) { task ->
            Thread(task, "jdbc").apply { isDaemon = true }
        }

    /** For work that uses a connection longer than [withinLimits] allows. */
    val dispatcher: CoroutineDispatcher = threads.asCoroutineDispatcher()
    // ANCHOR_END: pool

    /** Each connection that is taken from it has to be closed: that returns it. */
    val connections: DataSource get() = pool

    init {
        observer.watches(Figures())
    }

    // ANCHOR: limits
    /** Runs [statement] on a connection. Each query in it is a transaction of its own, unless it turns `autoCommit` off. */
    suspend fun <T> withConnection(statement: Connection.() -> T): T =
        withinLimits { connected ->
            pool.connection.use {
                connected()
                it.statement()
            }
        }

    /**
     * Runs [work] on a thread of its own, and waits for it: for the time limit until [work] says that it is
     * `connected`, and as long again for the rest.
     *
     * Nothing can stop a thread that waits for the database. If abandoned, it ends by the database's own time limit, or at the
     * latest by the socket's.
     */
    suspend fun <T> withinLimits(work: (connected: () -> Unit) -> T): T {
        val answer = CompletableDeferred<T>()
        val connected = AtomicReference<TimeMark>()
        val wait = observer.waits()
        val isConnected = {
            connected.set(markNow())
            wait.end(null)
        }
        val task =
            threads.submit(
                observer.carried {
                    try {
                        answer.complete(work(isConnected))
                    } catch (failure: Exception) {
                        answer.completeExceptionally(failure)
                    } catch (error: Error) {
                        // Don't leave the request waiting. Then rethrow: whether the program survives is up to the JVM.
                        answer.completeExceptionally(error)
                        throw error
                    }
                },
            )
        try {
            withTimeoutOrNull(settings.timeout) { answer.join() }
            if (!answer.isCompleted) {
                connected.get()?.let { withTimeoutOrNull(settings.timeout - it.elapsedNow()) { answer.join() } }
            }
            return if (answer.isCompleted) answer.await() else throw DatabaseUnavailable()
        } catch (cause: SQLException) {
            throw cause.orUnavailable()
        } finally {
            // Has no effect if the request got a connection: the wait ended at that moment.
            wait.end(NO_CONNECTION)
            // An abandoned task must not start later, or keep waiting for a connection.
            if (!answer.isCompleted) task.cancel(true)
        }
    }
    // ANCHOR_END: limits

    override fun close() {
        source.giveUp()
        pool.close()
        threads.shutdown()
    }

    /** HikariCP has no figures until a connection is asked for. */
    private inner class Figures : PoolFigures {
        private val hikari: HikariPoolMXBean? get() = pool.hikariPoolMXBean

        override val max get() = settings.poolSize
        override val used get() = hikari?.activeConnections ?: 0
        override val idle get() = hikari?.idleConnections ?: 0

        /** A request that waits for a thread waits for its connection. */
        override val pending get() = tasks.size + (hikari?.threadsAwaitingConnection ?: 0)
    }

    private companion object {
        val NO_CONNECTION = DatabaseUnavailable()
    }
}
// ANCHOR_END: connection-pool

/** As the exception that says so, if it means that the database is away. */
internal fun SQLException.orUnavailable(): Exception = if (meansUnavailable()) DatabaseUnavailable(this) else this

private fun SQLException.meansUnavailable(): Boolean =
    meansStalePlan() ||
        generateSequence<Throwable>(this) { it.cause }.any {
            when (it) {
                // HikariCP had no connection in time, or the task was interrupted at the time limit.
                is SQLTransientConnectionException, is InterruptedException -> true

                is SQLException -> OUTAGES.any(it.sqlState.orEmpty()::startsWith)

                else -> false
            }
        }

/**
 * From "Appendix A. PostgreSQL Error Codes" of its manual: connection lost, rolled back, server stops or starts or has given up a
 * query that took too long; read-only since a failover, out of memory, too many connections; lock not available
 * in time.
 */
private val OUTAGES = listOf("08", "40", "57", "25006", "53200", "53300", "55P03")

// ANCHOR: stale-plan

/**
 * Runs [query]. If the schema has changed since pgjdbc prepared its statements, it is run once more, after a [rollback].
 *
 * Only for queries that read, in a transaction. PostgreSQL finds out before the first row. A single statement in autocommit needs no
 * help: pgjdbc repeats it by itself. That it does so in a transaction, too, is its `autosave=conservative`, which sends a savepoint
 * before each query, on each request; this costs nothing until the schema changes.
 */
inline fun <T> againWithNewPlan(
    rollback: () -> Unit,
    query: () -> T,
): T =
    try {
        query()
    } catch (cause: SQLException) {
        if (!cause.meansStalePlan()) throw cause
        rollback()
        query()
    }

/** pgjdbc has forgotten all prepared statements of the connection by the time it throws this. Its own check is the same. */
fun SQLException.meansStalePlan(): Boolean =
    generateSequence<Throwable>(this) { it.cause }.filterIsInstance<PSQLException>().any {
        it.sqlState == PSQLState.INVALID_SQL_STATEMENT_NAME.state ||
            it.sqlState == PSQLState.NOT_IMPLEMENTED.state && it.serverErrorMessage?.routine == "RevalidateCachedQuery"
    }

/** HikariCP discards a connection on which something is not implemented. Here it only has to prepare its statements again. */
private object KeepForNewPlan : SQLExceptionOverride {
    override fun adjudicate(failure: SQLException): SQLExceptionOverride.Override =
        if (failure.meansStalePlan()) SQLExceptionOverride.Override.DO_NOT_EVICT else SQLExceptionOverride.Override.CONTINUE_EVICT
}
// ANCHOR_END: stale-plan

/** pgjdbc, set up so that no step can hang: neither connecting nor waiting for an answer. */
private fun postgresDataSource(settings: DatabaseSettings): DataSource =
    dataSource(settings, answersWithin = settings.timeout)

/** pgjdbc for the migrations, which may take longer than a request. */
internal fun migrationDataSource(settings: DatabaseSettings): DataSource =
    dataSource(settings, answersWithin = settings.migrationTimeout)

private fun dataSource(
    settings: DatabaseSettings,
    answersWithin: Duration,
): DataSource =
    PGSimpleDataSource().apply {
        val url = settings.url
        serverNames = arrayOf(url.host)
        portNumbers = intArrayOf(url.port)
        databaseName = url.database
        user = url.user
        password = url.password
        connectTimeout = settings.timeout.inSecondsRoundedUp()
        socketTimeout = answersWithin.inSecondsRoundedUp()
        applicationName = settings.applicationName
        url.options.forEach { (name, value) -> setProperty(name, value) }
    }

/** pgjdbc counts its time limits in whole seconds, and 0 is none at all. */
private fun Duration.inSecondsRoundedUp(): Int = ceil(toDouble(DurationUnit.SECONDS)).toInt()

/**
 * Tries until there is a connection.
 *
 * After a failure HikariCP waits twice as long as the time before, up to five seconds. That is how long a recovered
 * database would look dead. Waiting here instead, at a steady pace on HikariCP's one connecting thread, finds it at once.
 * Requests do not wait any longer for that: they have their own time limit.
 */
private class RetryingDataSource(
    private val target: DataSource,
) : DataSource by target {
    private val log = LoggerFactory.getLogger(ConnectionPool::class.java)

    @Volatile
    private var givenUp = false

    override fun getConnection(): Connection {
        var failures = 0
        while (true) {
            try {
                return target.connection.also { if (failures > 0) log.warn("the database answers again") }
            } catch (cause: SQLException) {
                if (givenUp) throw cause
                if (failures == 0) log.warn("the database does not answer, trying on: {}", cause.message)
                failures += 1
                Thread.sleep(RETRY_INTERVAL_MS)
            }
        }
    }

    fun giveUp() {
        givenUp = true
    }

    private companion object {
        const val RETRY_INTERVAL_MS = 100L
    }
}
