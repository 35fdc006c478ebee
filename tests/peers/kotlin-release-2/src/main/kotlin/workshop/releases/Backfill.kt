// Gives the visits from before a time.
package workshop.releases

import kotlinx.coroutines.delay
import org.slf4j.LoggerFactory
import java.sql.Connection
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.measureTimedValue

// ANCHOR: backfill

/** Returns when every visit has a time. What is left to do is in the rows: it resumes after a kill, and instances share the work. */
internal suspend fun Connection.backfill() {
    while (true) {
        val left = undated()
        if (left == 0L) return
        log.info("{} visits have no time yet", left)
        var after = Long.MIN_VALUE
        while (true) {
            val (last, duration) = measureTimedValue { batch(after) }
            after = last?.toLong() ?: break
            // Pauses at least as long as the batch took, so that requests can make their own changes.
            delay(maxOf(duration, REST))
        }
        // Another pass may be needed: the batches skipped rows that other transactions had locked.
        delay(AGAIN)
    }
}

/** One statement, so one transaction. Returns the last id, or null when there is no visit left that nobody holds. */
private fun Connection.batch(after: Long): Int? =
    query(
        """
        WITH batch AS (
            SELECT id FROM records WHERE visited AND visited_at IS NULL AND id > ? ORDER BY id LIMIT $BATCH FOR UPDATE SKIP LOCKED)
        UPDATE records
        SET visited_at = (SELECT installed_on AT TIME ZONE 'UTC' FROM flyway_schema_history WHERE version = '2')
        FROM batch WHERE records.id = batch.id RETURNING records.id
        """,
        after,
    ) { getInt(1) }.maxOrNull()
// ANCHOR_END: backfill

private const val BATCH = 1_000
private val REST = 20.milliseconds
private val AGAIN = 500.milliseconds
private val log = LoggerFactory.getLogger("workshop.releases.backfill")
