// Returns one record by its id, with its price.
package workshop.records

import io.ktor.server.response.respond
import io.ktor.server.routing.Route
import io.ktor.server.routing.get
import kotlinx.coroutines.async
import kotlinx.coroutines.supervisorScope
import kotlinx.coroutines.withTimeoutOrNull
import kotlinx.serialization.Serializable

// ANCHOR: price

/** The record with this id and its price in cents. */
fun Route.price(
    records: RecordRepository,
    prices: Prices,
) {
    get("/price/{id}") {
        val id = call.recordId()
        val priced = withTimeoutOrNull(prices.deadline) { pricedRecord(id, records, prices) }
        call.respond(priced ?: throw PriceUnavailable.late())
    }
}

@Serializable
data class PricedRecord(
    val record: Record,
    val cents: Long,
)

/** Waits for both at the same time. Without a record, the price is of no use: leaving the scope cancels the call. */
private suspend fun pricedRecord(
    id: Int,
    records: RecordRepository,
    prices: Prices,
): PricedRecord =
    // Not `coroutineScope`: there, a failed price call would cancel the query for the record.
    supervisorScope {
        val price = async { prices.of(id) }
        val record = records.find(id) ?: throw noRecord(id)
        PricedRecord(record, price.await())
    }
// ANCHOR_END: price
