// Access to the database: Exposed transactions, single statements, and streams of rows, all from one pool.
package workshop.records

import kotlinx.coroutines.channels.ProducerScope
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.buffer
import kotlinx.coroutines.flow.channelFlow
import kotlinx.coroutines.withContext
import org.jetbrains.exposed.v1.core.DatabaseConfig
import org.jetbrains.exposed.v1.core.vendors.PostgreSQLDialect
import org.jetbrains.exposed.v1.jdbc.Database
import org.jetbrains.exposed.v1.jdbc.JdbcTransaction
import org.jetbrains.exposed.v1.jdbc.transactions.suspendTransaction
import org.jetbrains.exposed.v1.jdbc.transactions.transaction
import workshop.service.ConnectionPool
import workshop.service.DatabaseObserver
import workshop.service.DatabaseSettings
import workshop.service.NoObserver
import workshop.service.againWithNewPlan
import workshop.service.around
import workshop.service.asking
import workshop.service.orUnavailable
import java.sql.Connection
import java.sql.SQLException

// ANCHOR: database
class PostgresDatabase(
    settings: DatabaseSettings,
    private val observer: DatabaseObserver = NoObserver,
) : AutoCloseable {
    private val pool = ConnectionPool(settings, observer)

    private val exposed =
        Database.connect(
            pool.connections,
            databaseConfig =
                DatabaseConfig {
                    // Without this, Exposed opens a connection to detect the SQL dialect.
                    explicitDialect = PostgreSQLDialect()
                    // The default of three attempts would triple the wait when the database is down.
                    defaultMaxAttempts = 1
                },
        )

    // ANCHOR: transact
    /**
     * Runs [statement] in a transaction: two round trips for one query, since pgjdbc sends BEGIN along with the query,
     * and then COMMIT. The [summary] names it in traces.
     */
    suspend fun <T> transact(
        summary: String,
        statement: JdbcTransaction.() -> T,
    ): T =
        pool.withinLimits { connected ->
            transaction(exposed) {
                // Exposed takes a connection from the pool only at this first use.
                connection
                connected()
                observer.asking(summary) { statement() }
            }
        }
    // ANCHOR_END: transact

    /** Like [transact], for a [query] that only reads: it survives a change of the schema. A transaction that writes fails once. */
    suspend fun <T> read(
        summary: String,
        query: JdbcTransaction.() -> T,
    ): T = transact(summary) { againWithNewPlan(::rollback) { query() } }

    /** Runs [statement] on a connection. Each query in it is a transaction of its own, unless it turns `autoCommit` off. */
    suspend fun <T> withConnection(
        summary: String,
        statement: Connection.() -> T,
    ): T = pool.withConnection { observer.asking(summary) { statement() } }

    /**
     * Runs [query] in a transaction, as a flow of what it emits. It is at most one element ahead of the collector, and
     * holds no thread while it waits.
     */
    fun <T> stream(
        summary: String,
        query: suspend ProducerScope<T>.() -> Unit,
    ): Flow<T> =
        flowFromThread {
            val wait = observer.waits()
            suspendTransaction(exposed) {
                wait.around { connection }
                observer.asking(summary) { againWithNewPlan(::rollback) { this@flowFromThread.query() } }
            }
        }

    /** Like [stream], with nothing around the connection. */
    fun <T> streamFromConnection(
        summary: String,
        query: suspend ProducerScope<T>.(Connection) -> Unit,
    ): Flow<T> =
        flowFromThread {
            observer.waits().around { pool.connections.connection }.use {
                // pgjdbc fetches rows in batches only in a transaction. Otherwise it loads all of them at once.
                it.autoCommit = false
                observer.asking(summary) { againWithNewPlan(it::rollback) { query(it) } }
            }
        }

    private fun <T> flowFromThread(produce: suspend ProducerScope<T>.() -> Unit): Flow<T> =
        channelFlow {
            try {
                withContext(pool.dispatcher) { this@channelFlow.produce() }
            } catch (cause: SQLException) {
                throw cause.orUnavailable()
            }
        }.buffer(1)

    override fun close() = pool.close()
}
// ANCHOR_END: database
