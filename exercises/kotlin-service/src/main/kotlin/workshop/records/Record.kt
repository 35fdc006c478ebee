// The record, as a table for Exposed and as JSON for the client.
package workshop.records

import kotlinx.serialization.SerialName
import kotlinx.serialization.Serializable
import org.jetbrains.exposed.v1.core.Table

// ANCHOR: table
object Records : Table("records") {
    val id = integer("id")
    val value = text("value")
    val odd = bool("odd")
    val divisibleBy3 = bool("divisible_by_3")
    val visited = bool("visited").default(false)

    override val primaryKey = PrimaryKey(id)
}

@Serializable
data class Record(
    val id: Int,
    val value: String,
    val odd: Boolean,
    @SerialName("divisible_by_3")
    val divisibleBy3: Boolean,
    val visited: Boolean,
)
// ANCHOR_END: table
