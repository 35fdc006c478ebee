// The database as the contacts see it: single statements, transactions, and what PostgreSQL says when it has no room.
package workshop.contacts

import workshop.service.ConnectionPool
import workshop.service.DatabaseSettings
import workshop.service.DatabaseUnavailable
import java.sql.Connection
import java.sql.SQLException

/** The database has no room for more. Nothing was changed. */
class DatabaseFull(
    cause: Throwable,
) : Exception("the database has no room", cause)

class PostgresDatabase(
    settings: DatabaseSettings,
) : AutoCloseable {
    private val pool = ConnectionPool(settings)

    /** Runs [statement] on a connection: each query in it is a transaction of its own. */
    suspend fun <T> withConnection(statement: Connection.() -> T): T =
        try {
            pool.withConnection(statement)
        } catch (cause: SQLException) {
            throw cause.translated()
        }

    /** Runs [statements] in one transaction. An exception undoes them: that is what the pool does with what was not committed. */
    suspend fun <T> transact(statements: Connection.() -> T): T =
        withConnection {
            autoCommit = false
            statements().also { commit() }
        }

    override fun close() = pool.close()
}

// SQLSTATE codes, from "Appendix A. PostgreSQL Error Codes" of the PostgreSQL manual.
internal const val UNIQUE_VIOLATION = "23505"
private const val DISK_FULL = "53100"
private const val UNDEFINED_TABLE = "42P01"

private fun SQLException.translated(): Exception =
    when (sqlState) {
        DISK_FULL -> DatabaseFull(this)
        // The schema is still to come.
        UNDEFINED_TABLE -> DatabaseUnavailable(this)
        else -> this
    }
