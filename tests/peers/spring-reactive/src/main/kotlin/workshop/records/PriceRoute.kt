// Returns one record by its id, with its price.
package workshop.records

import kotlinx.coroutines.async
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.withTimeoutOrNull
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty
import org.springframework.web.bind.annotation.GetMapping
import org.springframework.web.bind.annotation.PathVariable
import org.springframework.web.bind.annotation.RequestMapping
import org.springframework.web.bind.annotation.RequestMethod.DELETE
import org.springframework.web.bind.annotation.RequestMethod.OPTIONS
import org.springframework.web.bind.annotation.RequestMethod.PATCH
import org.springframework.web.bind.annotation.RequestMethod.POST
import org.springframework.web.bind.annotation.RequestMethod.PUT
import org.springframework.web.bind.annotation.RestController
import kotlin.time.toKotlinDuration

@RestController
@ConditionalOnProperty(UPSTREAM)
class PriceRoute(
    private val records: Records,
    private val prices: Prices,
    settings: PriceSettings,
) {
    private val deadline = settings.deadline.toKotlinDuration()

    @GetMapping("/price/{id}")
    suspend fun price(
        @Suppress("unused") key: ApiKey,
        @PathVariable("id") text: String,
    ): PricedRecord {
        val id = idOf(text)
        return withTimeoutOrNull(deadline) { priced(id) } ?: throw late()
    }

    /** Waits for both at the same time. Without a record, the price is of no use: leaving the scope cancels the call. */
    private suspend fun priced(id: Int): PricedRecord =
        coroutineScope {
            // As a result, or a price that fails would end the scope before the record is known.
            val price = async { runCatching { prices.of(id) } }
            val record = records.find(id) ?: throw unknown(id)
            PricedRecord(record, price.await().getOrThrow())
        }

    @RequestMapping("/price/{id}", method = [POST, PUT, PATCH, DELETE, OPTIONS])
    fun otherMethods(): Nothing = throw notAllowed()
}
