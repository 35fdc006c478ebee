// The transactional outbox: one row per visit, in the same transaction, for the other service.
package workshop.records

import org.jetbrains.exposed.v1.core.Table

// ANCHOR: outbox

/** Whether visits go to the outbox. If off, the service neither has nor needs the tables for it. */
enum class Outbox { OFF, ON }

/** The two columns that this service fills. The database adds the number of the row, and the epoch. */
object VisitsOutbox : Table("visits_outbox") {
    val id = integer("id")
    val visited = bool("visited")
}
// ANCHOR_END: outbox
