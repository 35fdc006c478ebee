// The index of the visits without a time: the backfill walks along it, and it tells at once how many are left.
package workshop.releases

import kotlinx.coroutines.delay
import java.sql.Connection
import kotlin.time.Duration.Companion.milliseconds

// ANCHOR: index

/**
 * Makes sure that there is an index, and that it is valid. Not by a script of Flyway's: that notes that a build was begun and ended without an
 * error, and whether the index is whole is something to ask the database, at each start.
 *
 * Of several instances one builds. The others look again later, and hold no snapshot meanwhile: the build waits for all of these.
 */
internal suspend fun Connection.buildIndex() {
    while (!query("SELECT pg_try_advisory_lock($BUILDING)") { getBoolean(1) }.single()) delay(PAUSE)
    val isValid = query("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('records_undated')") { getBoolean(1) }.singleOrNull()
    if (isValid == false) execute("DROP INDEX CONCURRENTLY records_undated")
    if (isValid != true) {
        execute("CREATE INDEX CONCURRENTLY records_undated ON records (id) WHERE visited AND visited_at IS NULL")
    }
    execute("SELECT pg_advisory_unlock($BUILDING)")
}
// ANCHOR_END: index

/** Nobody else may lock this number. */
private const val BUILDING = 19
private val PAUSE = 200.milliseconds
