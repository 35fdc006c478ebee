// Answers one record by its id, with its price.
package workshop.records

import io.ktor.server.routing.Route
import kotlinx.coroutines.async
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.withTimeoutOrNull
import kotlinx.serialization.Serializable
import workshop.service.getOrHead
import workshop.service.readOnlyPath
import workshop.service.respondJson

// ANCHOR: price

/** `/price/{id}`: the record with this id and its price in cents. A request needs one of the [apiKeys]. */
fun Route.price(
    records: RecordRepository,
    prices: Prices,
    apiKeys: List<String>,
) {
    readOnlyPath("/price/{id}") {
        requireApiKey(apiKeys) {
            getOrHead {
                val id = call.recordId()
                val priced = withTimeoutOrNull(prices.deadline) { pricedRecord(id, records, prices) }
                call.respondJson(priced ?: throw PriceUnavailable.late())
            }
        }
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
    coroutineScope {
        // As a result, or a price that fails would end the scope before the record is known.
        val price = async { runCatching { prices.of(id) } }
        val record = records.find(id) ?: throw noRecord(id)
        PricedRecord(record, price.await().getOrThrow())
    }
// ANCHOR_END: price
