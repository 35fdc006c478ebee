// The database access for the routes, in plain JDBC: only the pool is between the SQL and pgjdbc.
package workshop.records

import kotlinx.coroutines.flow.Flow
import java.sql.Connection
import java.sql.PreparedStatement
import java.sql.ResultSet

// ANCHOR: jdbc

/**
 * The fastest way on the JVM, to compare Exposed with: a query is one round trip, since a single statement needs no
 * transaction around it, and pgjdbc keeps statements prepared that it sees repeatedly.
 */
class JdbcRecordRepository(
    private val database: PostgresDatabase,
    private val outbox: Outbox = Outbox.OFF,
) : RecordRepository {
    override suspend fun ping() {
        database.withConnection("SELECT") { query("SELECT 1") {} }
    }

    override suspend fun find(id: Int): Record? =
        database.withConnection(READS) {
            query("SELECT $COLUMNS FROM records WHERE id = ?", id) { it.records().singleOrNull() }
        }
    // ANCHOR_END: jdbc

    override suspend fun page(
        after: Int,
        limit: Int,
    ): List<Record> =
        database.withConnection(READS) {
            query("SELECT $COLUMNS FROM records WHERE id > ? ORDER BY id LIMIT ?", after, limit) { it.records().toList() }
        }

    override fun all(after: Int?): Flow<List<Record>> =
        database.streamFromConnection(READS) { connection ->
            connection.prepareStatement("SELECT $COLUMNS FROM records WHERE id > ? ORDER BY id").use { statement ->
                // Without `after`, start below every possible id.
                statement.setLong(1, after?.toLong() ?: Long.MIN_VALUE)
                statement.fetchSize = EXPORT_BATCH
                for (batch in statement.executeQuery().records().chunked(EXPORT_BATCH)) send(batch)
            }
        }

    override suspend fun visit(id: Int): Record? = mark(id, "UPDATE records SET visited = true WHERE id = ? RETURNING $COLUMNS")

    override suspend fun takeBack(id: Int): Record? = mark(id, "UPDATE records SET visited = false WHERE id = ? RETURNING $COLUMNS")

    private suspend fun mark(
        id: Int,
        update: String,
    ): Record? =
        database.withConnection(WRITES) {
            // One statement, so one transaction. It adds the outbox row after the update has locked the record.
            val statement = if (outbox == Outbox.ON) "WITH marked AS ($update), $NOTED SELECT $COLUMNS FROM marked" else update
            query(statement, id) { it.records().singleOrNull() }
        }

    override suspend fun visitAll(ids: Set<Int>): List<Int> =
        database.withConnection(WRITES) {
            autoCommit = false
            val named = createArrayOf("int4", ids.toTypedArray())
            val found =
                query("SELECT id FROM records WHERE id = ANY (?) ORDER BY id FOR UPDATE", named) { rows ->
                    generateSequence { if (rows.next()) rows.getInt(1) else null }.toSet()
                }
            val missing = ids - found
            if (missing.isEmpty()) {
                update("UPDATE records SET visited = true WHERE id = ANY (?) AND NOT visited", named)
                if (outbox == Outbox.ON) update("INSERT INTO visits_outbox (id, visited) SELECT id, true FROM unnest(?) AS id", named)
            }
            commit()
            missing.sorted()
        }

    private companion object {
        const val COLUMNS = "id, value, odd, divisible_by_3, visited"
        const val NOTED = "noted AS (INSERT INTO visits_outbox (id, visited) SELECT id, visited FROM marked)"
    }
}

private fun <T> Connection.query(
    sql: String,
    vararg parameters: Any,
    read: (ResultSet) -> T,
): T = prepared(sql, parameters) { read(it.executeQuery()) }

private fun Connection.update(
    sql: String,
    vararg parameters: Any,
) = prepared(sql, parameters) { it.executeUpdate() }

private inline fun <T> Connection.prepared(
    sql: String,
    parameters: Array<out Any>,
    run: (PreparedStatement) -> T,
): T =
    prepareStatement(sql).use { statement ->
        parameters.forEachIndexed { index, value -> statement.setObject(index + 1, value) }
        run(statement)
    }

/** The remaining rows, each read on demand. */
private fun ResultSet.records(): Sequence<Record> =
    generateSequence {
        if (next()) {
            Record(
                id = getInt(1),
                value = getString(2),
                odd = getBoolean(3),
                divisibleBy3 = getBoolean(4),
                visited = getBoolean(5),
            )
        } else {
            null
        }
    }
