// Asks for prices: a bounded number of calls at a time, each once. The client is Jetty's, since a call that is given up must end.
package workshop.records

import org.eclipse.jetty.client.CompletableResponseListener
import org.eclipse.jetty.client.HttpClient
import org.eclipse.jetty.http.HttpCookieStore
import org.springframework.beans.factory.DisposableBean
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty
import org.springframework.stereotype.Component
import java.util.concurrent.CompletableFuture
import java.util.concurrent.Semaphore
import java.util.concurrent.TimeUnit

@Component
@ConditionalOnProperty(UPSTREAM)
class Prices(
    private val settings: PriceSettings,
) : DisposableBean {
    private val places = Semaphore(settings.limit)

    // One client for all requests, because the client holds the pool of connections.
    private val client =
        HttpClient().apply {
            connectTimeout = settings.timeout.toMillis()
            maxConnectionsPerDestination = settings.limit
            isFollowRedirects = false
            httpCookieStore = HttpCookieStore.Empty()
            start()
        }

    /** The price of the record with this [id], in cents. Waits for a place; cancelled, it closes the connection. */
    fun of(id: Int): CompletableFuture<Long> {
        if (!places.tryAcquire(settings.wait.toMillis(), TimeUnit.MILLISECONDS)) throw tooMany()
        val request = client.newRequest("${settings.url}/prices/$id").timeout(settings.timeout.toMillis(), TimeUnit.MILLISECONDS)
        val answer = CompletableResponseListener(request, MAX_PRICE_BYTES).send()
        answer.whenComplete { _, _ -> places.release() }
        return answer.thenApply { centsIn(it.status, it.content, id) ?: throw unusable() }
    }

    override fun destroy() = client.stop()
}
