// Streams all records, however many there are, in a bounded amount of memory.
package workshop.records

import io.ktor.http.ContentType
import io.ktor.http.HttpStatusCode
import io.ktor.server.application.install
import io.ktor.server.http.HttpRequestLifecycle
import io.ktor.server.netty.NettyApplicationCall
import io.ktor.server.response.respondBytesWriter
import io.ktor.server.routing.Route
import io.ktor.server.routing.RoutingCall
import io.ktor.server.routing.get
import io.ktor.server.routing.head
import io.ktor.utils.io.ByteWriteChannel
import io.ktor.utils.io.writeByte
import io.ktor.utils.io.writeStringUtf8
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.produceIn
import kotlinx.coroutines.suspendCancellableCoroutine
import kotlinx.coroutines.sync.Semaphore
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeoutOrNull
import kotlinx.serialization.json.Json
import kotlin.coroutines.resume
import kotlin.time.Duration

/** How many exports run at a time, and how long one more waits for its turn. */
class ExportLimits(
    val concurrent: Int,
    val patience: Duration,
)

// ANCHOR: export

/** `/records/export`: every record on a line of its own, for whoever has one of the [apiKeys]. */
fun Route.export(
    records: RecordRepository,
    limits: ExportLimits,
    apiKeys: List<String>,
) {
    val turns = Semaphore(limits.concurrent)
    readOnlyPath("/records/export") {
        requireApiKey(apiKeys) {
            // A client that leaves cancels its call, and with the call the query.
            install(HttpRequestLifecycle) { cancelCallOnClose = true }
            get {
                turns.withPermitWithin(limits.patience) { call.respondLines(records.all()) }
            }
            head {
                records.ping()
                call.respondBytesWriter(NdJson) {}
            }
        }
    }
}

private val NdJson = ContentType("application", "x-ndjson")

private suspend fun RoutingCall.respondLines(records: Flow<List<Record>>) =
    coroutineScope {
        val batches = records.produceIn(this).iterator()
        // Waits for the first batch: a failure until here is still answered with a problem.
        batches.hasNext()
        respondBytesWriter(NdJson) {
            try {
                while (batches.hasNext()) writeLines(batches.next())
            } catch (failure: Throwable) {
                withContext(NonCancellable) { breakConnection() }
                throw failure
            }
        }
    }

private suspend fun ByteWriteChannel.writeLines(records: List<Record>) {
    records.forEach { record ->
        writeStringUtf8(Json.encodeToString(record))
        writeByte('\n'.code.toByte())
    }
    flush()
}

private suspend fun Semaphore.withPermitWithin(
    patience: Duration,
    block: suspend () -> Unit,
) {
    var acquired = false
    try {
        withTimeoutOrNull(patience) {
            acquire()
            acquired = true
        }
        if (!acquired) throw ProblemException(HttpStatusCode.ServiceUnavailable, "too many exports are running")
        block()
    } finally {
        if (acquired) release()
    }
}

/**
 * Closes the connection under a response that cannot be completed, so that the client notices.
 *
 * Left to itself, Ktor ends such a response as if it were complete, whenever the client is slower than the database.
 */
private suspend fun RoutingCall.breakConnection() {
    val engineCall = pipelineCall.engineCall as? NettyApplicationCall ?: return
    suspendCancellableCoroutine { closed -> engineCall.context.close().addListener { closed.resume(Unit) } }
}
// ANCHOR_END: export
