// The database access for the routes, and its implementation with Exposed.
package workshop.records

import kotlinx.coroutines.flow.Flow
import org.jetbrains.exposed.v1.core.ResultRow
import org.jetbrains.exposed.v1.core.and
import org.jetbrains.exposed.v1.core.anyFrom
import org.jetbrains.exposed.v1.core.eq
import org.jetbrains.exposed.v1.core.greater
import org.jetbrains.exposed.v1.core.not
import org.jetbrains.exposed.v1.jdbc.batchInsert
import org.jetbrains.exposed.v1.jdbc.select
import org.jetbrains.exposed.v1.jdbc.selectAll
import org.jetbrains.exposed.v1.jdbc.update
import org.jetbrains.exposed.v1.jdbc.updateReturning
import workshop.service.DatabaseUnavailable

/** Every function throws [DatabaseUnavailable] when the database does not answer in time. */
interface RecordRepository {
    /** Returns when the database has answered a ping. */
    suspend fun ping()

    /** The record with this id, or null when there is none. */
    suspend fun find(id: Int): Record?

    /** The first [limit] records with an id greater than [after], by id. */
    suspend fun page(
        after: Int,
        limit: Int,
    ): List<Record>

    /**
     * The records with an id greater than [after], or all, by id, as they are at the moment when this is collected, in batches.
     *
     * The collection holds a connection from beginning to end, but no thread while the collector is busy.
     */
    fun all(after: Int?): Flow<List<Record>>

    /** Marks the record with this id as visited. Returns it, or null when there is none. */
    suspend fun visit(id: Int): Record?

    /** Marks it as not visited, for a hiker who has scanned the wrong tag. Returns it, or null when there is none. */
    suspend fun takeBack(id: Int): Record?

    /** Marks the records with these ids as visited, if all of them exist. Returns the ids without a record. */
    suspend fun visitAll(ids: Set<Int>): List<Int>
}

/** Rows of an export that are fetched together. */
internal const val EXPORT_BATCH = 1_000

/** The summary of a statement, for a trace. */
internal const val READS = "SELECT records"
internal const val WRITES = "UPDATE records"

// ANCHOR: repository
class ExposedRecordRepository(
    private val database: PostgresDatabase,
    private val outbox: Outbox = Outbox.OFF,
) : RecordRepository {
    override suspend fun ping() {
        database.transact("SELECT") { exec("SELECT 1") }
    }

    override suspend fun find(id: Int): Record? =
        database.read(READS) {
            Records
                .selectAll()
                .where { Records.id eq id }
                .singleOrNull()
                ?.toRecord()
        }
    // ANCHOR_END: repository

    // ANCHOR: page-query
    override suspend fun page(
        after: Int,
        limit: Int,
    ): List<Record> =
        database.read(READS) {
            Records
                .selectAll()
                .where { Records.id greater after }
                .orderBy(Records.id)
                .limit(limit)
                .map { it.toRecord() }
        }
    // ANCHOR_END: page-query

    // ANCHOR: export-query
    override fun all(after: Int?): Flow<List<Record>> =
        database.stream(READS) {
            Records
                .selectAll()
                .apply { if (after != null) where { Records.id greater after } }
                .orderBy(Records.id)
                .fetchSize(EXPORT_BATCH)
                .asSequence()
                .map { it.toRecord() }
                .chunked(EXPORT_BATCH)
                .forEach { send(it) }
        }
    // ANCHOR_END: export-query

    // ANCHOR: visit-query
    override suspend fun visit(id: Int): Record? =
        database.transact(WRITES) {
            Records
                .updateReturning(where = { Records.id eq id }) { it[visited] = true }
                .singleOrNull()
                ?.toRecord()
                ?.also { note(listOf(id), visited = true) }
        }
    // ANCHOR_END: visit-query

    override suspend fun takeBack(id: Int): Record? =
        database.transact(WRITES) {
            Records
                .updateReturning(where = { Records.id eq id }) { it[visited] = false }
                .singleOrNull()
                ?.toRecord()
                ?.also { note(listOf(id), visited = false) }
        }

    // ANCHOR: visits-query
    override suspend fun visitAll(ids: Set<Int>): List<Int> =
        database.transact(WRITES) {
            val named = Records.id eq anyFrom(ids.toList())
            // Locking in id order cannot deadlock.
            val found =
                Records
                    .select(Records.id)
                    .where { named }
                    .orderBy(Records.id)
                    .forUpdate()
                    .map { it[Records.id] }
            val missing = ids - found.toSet()
            if (missing.isEmpty()) {
                Records.update({ named and not(Records.visited) }) { it[visited] = true }
                note(ids, visited = true)
            }
            missing.sorted()
        }
    // ANCHOR_END: visits-query

    // ANCHOR: note

    /** Adds events to the outbox for the service that follows: in the same transaction, and once the rows are locked. */
    private fun note(
        ids: Collection<Int>,
        visited: Boolean,
    ) {
        if (outbox == Outbox.OFF) return
        VisitsOutbox.batchInsert(ids, shouldReturnGeneratedValues = false) {
            this[VisitsOutbox.id] = it
            this[VisitsOutbox.visited] = visited
        }
    }
    // ANCHOR_END: note
}

private fun ResultRow.toRecord() =
    Record(
        id = this[Records.id],
        value = this[Records.value],
        odd = this[Records.odd],
        divisibleBy3 = this[Records.divisibleBy3],
        visited = this[Records.visited],
    )
