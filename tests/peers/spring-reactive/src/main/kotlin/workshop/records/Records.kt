// The records, as R2DBC reads them.
package workshop.records

import com.fasterxml.jackson.annotation.JsonProperty
import com.fasterxml.jackson.annotation.JsonPropertyOrder
import io.r2dbc.spi.Readable
import org.springframework.stereotype.Component

@JsonPropertyOrder("id", "value", "odd", "divisible_by_3", "visited")
data class Record(
    val id: Int,
    val value: String,
    val odd: Boolean,
    @get:JsonProperty("divisible_by_3") val divisibleBy3: Boolean,
    val visited: Boolean,
)

@Component
class Records(
    private val database: Database,
) {
    suspend fun find(id: Int): Record? =
        database.query { connection ->
            val statement = connection.createStatement("SELECT id, value, odd, divisible_by_3, visited FROM records WHERE id = $1")
            statement.bind(0, id).execute().flatMap { it.map(::record) }.singleOrEmpty()
        }
}

private fun record(row: Readable) =
    Record(
        id = row.get("id", Int::class.javaObjectType)!!,
        value = row.get("value", String::class.java)!!,
        odd = row.get("odd", Boolean::class.javaObjectType)!!,
        divisibleBy3 = row.get("divisible_by_3", Boolean::class.javaObjectType)!!,
        visited = row.get("visited", Boolean::class.javaObjectType)!!,
    )
