// The record, and how it is read: in one round trip.
package workshop.ceiling

import io.vertx.core.Future
import io.vertx.sqlclient.Pool
import io.vertx.sqlclient.Row
import io.vertx.sqlclient.Tuple
import kotlinx.serialization.SerialName
import kotlinx.serialization.Serializable

@Serializable
class Record(
    val id: Int,
    val value: String,
    val odd: Boolean,
    @SerialName("divisible_by_3")
    val divisibleBy3: Boolean,
    val visited: Boolean,
)

class Records(
    private val pool: Pool,
) {
    private val byId = pool.preparedQuery("SELECT id, value, odd, divisible_by_3, visited FROM records WHERE id = $1")

    /** Null if there is no such record. */
    fun find(id: Int): Future<Record?> = byId.execute(Tuple.of(id)).map { rows -> rows.firstOrNull()?.let(::record) }

    fun ping(): Future<*> = pool.query("SELECT 1").execute()
}

private fun record(row: Row) =
    Record(
        id = row.getInteger(0),
        value = row.getString(1),
        odd = row.getBoolean(2),
        divisibleBy3 = row.getBoolean(3),
        visited = row.getBoolean(4),
    )
