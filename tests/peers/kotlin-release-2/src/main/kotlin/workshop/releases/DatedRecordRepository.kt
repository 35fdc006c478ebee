// How Exposed answers what the routes ask, from the new column.
package workshop.releases

import java.sql.Timestamp
import java.time.Instant
import kotlinx.coroutines.flow.Flow
import org.jetbrains.exposed.v1.core.ColumnType
import org.jetbrains.exposed.v1.core.CustomFunction
import org.jetbrains.exposed.v1.core.ResultRow
import org.jetbrains.exposed.v1.core.Table
import org.jetbrains.exposed.v1.core.and
import org.jetbrains.exposed.v1.core.anyFrom
import org.jetbrains.exposed.v1.core.coalesce
import org.jetbrains.exposed.v1.core.eq
import org.jetbrains.exposed.v1.core.greater
import org.jetbrains.exposed.v1.core.isNotNull
import org.jetbrains.exposed.v1.core.isNull
import org.jetbrains.exposed.v1.jdbc.select
import org.jetbrains.exposed.v1.jdbc.update
import org.jetbrains.exposed.v1.jdbc.updateReturning
import workshop.records.EXPORT_BATCH
import workshop.records.PostgresDatabase
import workshop.records.READS
import workshop.records.Record
import workshop.records.RecordRepository
import workshop.records.WRITES

// ANCHOR: dated-records

/** The table once the old column is gone. A table object of its own: Exposed names each column that an object declares. */
object DatedRecords : Table("records") {
    val id = integer("id")
    val value = text("value")
    val odd = bool("odd")
    val divisibleBy3 = bool("divisible_by_3")
    val visitedAt = registerColumn("visited_at", Timestamptz).nullable()

    override val primaryKey = PrimaryKey(id)

    /** What clients know as `visited`. */
    val visited = visitedAt.isNotNull()
    val answered = listOf(id, value, odd, divisibleBy3, visited)
}

/** `timestamptz`. Exposed's own columns with times are a module that comes with an older version only. */
private object Timestamptz : ColumnType<Instant>() {
    override fun sqlType() = "timestamptz"

    override fun valueFromDB(value: Any): Instant = (value as Timestamp).toInstant()
}

private val now = CustomFunction("now", Timestamptz)
// ANCHOR_END: dated-records

class DatedRecordRepository(
    private val database: PostgresDatabase,
) : RecordRepository {
    override suspend fun ping() {
        database.transact("SELECT") { exec("SELECT 1") }
    }

    override suspend fun find(id: Int): Record? =
        database.read(READS) {
            DatedRecords
                .select(DatedRecords.answered)
                .where { DatedRecords.id eq id }
                .singleOrNull()
                ?.toRecord()
        }

    override suspend fun page(
        after: Int,
        limit: Int,
    ): List<Record> =
        database.read(READS) {
            DatedRecords
                .select(DatedRecords.answered)
                .where { DatedRecords.id greater after }
                .orderBy(DatedRecords.id)
                .limit(limit)
                .map { it.toRecord() }
        }

    override fun all(after: Int?): Flow<List<Record>> =
        database.stream(READS) {
            DatedRecords
                .select(DatedRecords.answered)
                .apply { if (after != null) where { DatedRecords.id greater after } }
                .orderBy(DatedRecords.id)
                .fetchSize(EXPORT_BATCH)
                .asSequence()
                .map { it.toRecord() }
                .chunked(EXPORT_BATCH)
                .forEach { send(it) }
        }

    // ANCHOR: dated-visit
    /** The first visit counts. */
    override suspend fun visit(id: Int): Record? =
        database.transact(WRITES) {
            DatedRecords
                .updateReturning(DatedRecords.answered, where = { DatedRecords.id eq id }) {
                    it[visitedAt] = coalesce(visitedAt, now)
                }.singleOrNull()
                ?.toRecord()
        }
    // ANCHOR_END: dated-visit

    override suspend fun takeBack(id: Int): Record? =
        database.transact(WRITES) {
            DatedRecords
                .updateReturning(DatedRecords.answered, where = { DatedRecords.id eq id }) { it[visitedAt] = null }
                .singleOrNull()
                ?.toRecord()
        }

    override suspend fun visitAll(ids: Set<Int>): List<Int> =
        database.transact(WRITES) {
            val named = DatedRecords.id eq anyFrom(ids.toList())
            // Locking in id order cannot deadlock.
            val found =
                DatedRecords
                    .select(DatedRecords.id)
                    .where { named }
                    .orderBy(DatedRecords.id)
                    .forUpdate()
                    .map { it[DatedRecords.id] }
            val missing = ids - found.toSet()
            if (missing.isEmpty()) DatedRecords.update({ named and DatedRecords.visitedAt.isNull() }) { it[visitedAt] = now }
            missing.sorted()
        }
}

private fun ResultRow.toRecord() =
    Record(
        id = this[DatedRecords.id],
        value = this[DatedRecords.value],
        odd = this[DatedRecords.odd],
        divisibleBy3 = this[DatedRecords.divisibleBy3],
        visited = this[DatedRecords.visited],
    )
