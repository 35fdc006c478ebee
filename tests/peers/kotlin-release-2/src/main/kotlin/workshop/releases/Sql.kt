// Plain JDBC, for what is asked beside the requests.
package workshop.releases

import org.postgresql.ds.PGSimpleDataSource
import workshop.service.DatabaseSettings
import workshop.service.migrationDataSource
import java.sql.Connection
import java.sql.ResultSet
import javax.sql.DataSource

/** Connections past the pool, which wait so long for a lock: 0 is as long as it takes. When a line falls silent, the database ends the session. */
internal fun DatabaseSettings.sessions(lockTimeout: String): DataSource =
    (migrationDataSource(this) as PGSimpleDataSource).also {
        it.options =
            "-c lock_timeout=$lockTimeout -c statement_timeout=${migrationTimeout.inWholeMilliseconds} " +
            "-c idle_session_timeout=10s -c idle_in_transaction_session_timeout=10s -c default_transaction_read_only=off"
    }

internal fun <T> Connection.query(
    sql: String,
    vararg values: Any,
    read: ResultSet.() -> T,
): List<T> =
    prepareStatement(sql).use { statement ->
        values.forEachIndexed { index, value -> statement.setObject(index + 1, value) }
        statement.executeQuery().use { rows -> buildList { while (rows.next()) add(rows.read()) } }
    }

internal fun Connection.execute(sql: String) {
    createStatement().use { it.execute(sql) }
}

/** How many visits have no time yet. */
internal fun Connection.undated(): Long =
    query("SELECT count(*) FROM records WHERE visited AND visited_at IS NULL") { getLong(1) }.single()

internal fun Connection.hasColumn(name: String): Boolean =
    query(
        "SELECT FROM pg_attribute WHERE attrelid = to_regclass('records') AND attname = ? AND NOT attisdropped",
        name,
    ) {}.isNotEmpty()

/** The sessions that hold a lock on `records`, the oldest transaction first. */
internal fun Connection.inTheWay(): String =
    query(
        """
        SELECT format('pid %s (%s), since %s', pid, coalesce(nullif(application_name, ''), 'without a name'), xact_start)
        FROM pg_locks JOIN pg_stat_activity USING (pid)
        WHERE relation = to_regclass('records') AND granted AND pid <> pg_backend_pid()
        GROUP BY pid, application_name, xact_start ORDER BY xact_start
        """,
    ) { getString(1) }.joinToString("; ")
