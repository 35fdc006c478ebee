// What the routes ask of the database, and how Exposed answers it.
package workshop.records

import org.jetbrains.exposed.v1.core.ResultRow
import org.jetbrains.exposed.v1.core.eq
import org.jetbrains.exposed.v1.jdbc.selectAll

// ANCHOR: repository

/** Every function throws [DatabaseUnavailable] when the database does not answer in time. */
interface RecordRepository {
    /** Returns when the database has answered a question. */
    suspend fun ping()

    /** The record with this id, or null when there is none. */
    suspend fun find(id: Int): Record?
}

class ExposedRecordRepository(
    private val database: PostgresDatabase,
) : RecordRepository {
    override suspend fun ping() {
        database.transact { exec("SELECT 1") }
    }

    override suspend fun find(id: Int): Record? =
        database.transact {
            Records
                .selectAll()
                .where { Records.id eq id }
                .singleOrNull()
                ?.toRecord()
        }
}

private fun ResultRow.toRecord() =
    Record(
        id = this[Records.id],
        value = this[Records.value],
        odd = this[Records.odd],
        divisibleBy3 = this[Records.divisibleBy3],
        visited = this[Records.visited],
    )
// ANCHOR_END: repository
