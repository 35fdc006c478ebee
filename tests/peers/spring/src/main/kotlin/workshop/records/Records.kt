// The records, as Spring Data JDBC reads them.
package workshop.records

import com.fasterxml.jackson.annotation.JsonProperty
import com.fasterxml.jackson.annotation.JsonPropertyOrder
import org.springframework.data.annotation.Id
import org.springframework.data.relational.core.mapping.Column
import org.springframework.data.relational.core.mapping.Table
import org.springframework.data.repository.CrudRepository

@Table("records")
@JsonPropertyOrder("id", "value", "odd", "divisible_by_3", "visited")
data class Record(
    @Id val id: Int,
    val value: String,
    val odd: Boolean,
    @Column("divisible_by_3") @get:JsonProperty("divisible_by_3") val divisibleBy3: Boolean,
    val visited: Boolean,
)

interface Records : CrudRepository<Record, Int>
