// The way to PostgreSQL: a pool of connections, transactions on it, and what happens when the database is away.
package workshop.records

import com.zaxxer.hikari.HikariDataSource
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.TimeoutCancellationException
import kotlinx.coroutines.runInterruptible
import kotlinx.coroutines.withTimeout
import org.jetbrains.exposed.v1.core.DatabaseConfig
import org.jetbrains.exposed.v1.core.vendors.PostgreSQLDialect
import org.jetbrains.exposed.v1.jdbc.Database
import org.jetbrains.exposed.v1.jdbc.JdbcTransaction
import org.jetbrains.exposed.v1.jdbc.transactions.transaction
import org.postgresql.ds.PGSimpleDataSource
import java.sql.SQLException
import java.sql.SQLTransientConnectionException

class DatabaseUnavailable(
    cause: Throwable,
) : Exception("the database does not answer", cause)

// ANCHOR: database
class PostgresDatabase(
    private val settings: DatabaseSettings,
) : AutoCloseable {
    private val pool =
        HikariDataSource().apply {
            dataSource = settings.toDataSource()
            maximumPoolSize = settings.poolSize
            minimumIdle = settings.poolSize
            connectionTimeout = settings.timeout.inWholeMilliseconds
            validationTimeout = settings.timeout.inWholeMilliseconds
            initializationFailTimeout = -1
        }

    private val exposed =
        Database.connect(
            pool,
            databaseConfig =
                DatabaseConfig {
                    explicitDialect = PostgreSQLDialect()
                    defaultMaxAttempts = 1
                },
        )
    private val jdbc = Dispatchers.IO.limitedParallelism(settings.poolSize)

    suspend fun <T> read(statement: JdbcTransaction.() -> T): T =
        try {
            withTimeout(settings.timeout) {
                runInterruptible(jdbc) { transaction(exposed, statement = statement) }
            }
        } catch (cause: TimeoutCancellationException) {
            throw DatabaseUnavailable(cause)
        } catch (cause: SQLException) {
            if (cause.isConnectionFailure()) throw DatabaseUnavailable(cause)
            throw cause
        }

    override fun close() = pool.close()
}
// ANCHOR_END: database

private fun SQLException.isConnectionFailure() =
    this is SQLTransientConnectionException || sqlState.orEmpty().let { it.startsWith("08") || it.startsWith("57P") }

private fun DatabaseSettings.toDataSource() =
    PGSimpleDataSource().also {
        it.serverNames = arrayOf(url.host)
        it.portNumbers = intArrayOf(url.port)
        it.databaseName = url.database
        it.user = url.user
        it.password = url.password
    }
