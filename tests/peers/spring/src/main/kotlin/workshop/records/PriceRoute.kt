// Returns one record by its id, with its price.
package workshop.records

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty
import org.springframework.core.task.AsyncTaskExecutor
import org.springframework.data.repository.findByIdOrNull
import org.springframework.web.bind.annotation.GetMapping
import org.springframework.web.bind.annotation.PathVariable
import org.springframework.web.bind.annotation.RequestMapping
import org.springframework.web.bind.annotation.RequestMethod.DELETE
import org.springframework.web.bind.annotation.RequestMethod.OPTIONS
import org.springframework.web.bind.annotation.RequestMethod.PATCH
import org.springframework.web.bind.annotation.RequestMethod.POST
import org.springframework.web.bind.annotation.RequestMethod.PUT
import org.springframework.web.bind.annotation.RestController
import java.util.concurrent.CompletableFuture
import java.util.concurrent.ExecutionException
import java.util.concurrent.TimeUnit.NANOSECONDS
import java.util.concurrent.TimeoutException

@RestController
@ConditionalOnProperty(UPSTREAM)
class PriceRoute(
    private val records: Records,
    private val prices: Prices,
    private val executor: AsyncTaskExecutor,
    private val settings: PriceSettings,
) {
    /** Waits for both at the same time. Without a record, the price is of no use. */
    @GetMapping("/price/{id}")
    fun price(
        @Suppress("unused") key: ApiKey,
        @PathVariable("id") text: String,
    ): PricedRecord {
        val id = idOf(text)
        val end = System.nanoTime() + settings.deadline.toNanos()
        val record = executor.submitCompletable<Record> { records.findByIdOrNull(id) ?: throw unknown(id) }
        val price = prices.of(id)
        try {
            return PricedRecord(record.before(end), priceOf(price, end))
        } catch (_: TimeoutException) {
            throw late()
        } finally {
            price.cancel(true)
        }
    }

    private fun priceOf(
        price: CompletableFuture<Long>,
        end: Long,
    ): Long =
        try {
            price.before(end)
        } catch (failure: TimeoutException) {
            throw failure
        } catch (failure: ProblemException) {
            throw failure
        } catch (_: Exception) {
            throw unusable()
        }

    @RequestMapping("/price/{id}", method = [POST, PUT, PATCH, DELETE, OPTIONS])
    fun otherMethods(): Nothing = throw notAllowed()
}

/** What comes of it before that moment. A failure is thrown as it is. */
private fun <T> CompletableFuture<T>.before(end: Long): T =
    try {
        get(end - System.nanoTime(), NANOSECONDS)
    } catch (failure: ExecutionException) {
        throw failure.cause ?: failure
    }
