// Streams all records, however many there are, with bounded memory.
package workshop.records

import io.ktor.http.ContentType
import io.ktor.http.HttpMethod
import io.ktor.http.HttpStatusCode
import io.ktor.server.application.install
import io.ktor.server.http.HttpRequestLifecycle
import io.ktor.server.request.httpMethod
import io.ktor.server.response.respondBytesWriter
import io.ktor.server.routing.Route
import io.ktor.server.routing.RoutingCall
import io.ktor.server.routing.get
import io.ktor.server.routing.route
import io.ktor.utils.io.ByteWriteChannel
import io.ktor.utils.io.writeFully
import io.ktor.utils.io.writeStringUtf8
import kotlinx.coroutines.channels.ChannelIterator
import kotlinx.coroutines.channels.consume
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.produceIn
import kotlinx.coroutines.supervisorScope
import kotlinx.coroutines.sync.Semaphore
import kotlinx.coroutines.withTimeoutOrNull
import kotlinx.serialization.json.Json
import workshop.service.ProblemException
import kotlin.time.Duration
import kotlin.time.TimeSource.Monotonic.markNow

/**
 * How many exports run at a time, how long one more waits for its turn, how long each waits for its client to take a chunk, and how
 * long it may take as a whole: until then it holds a connection, and keeps the database from cleaning up behind it.
 */
class ExportLimits(
    val concurrent: Int,
    val turnTimeout: Duration,
    val clientTimeout: Duration,
    val deadline: Duration,
)

// ANCHOR: export

/** Streams all records, or those after an id, one per line. */
fun Route.export(
    records: RecordRepository,
    limits: ExportLimits,
) {
    val turns = Semaphore(limits.concurrent)
    route("/records/export") {
        // If the client disconnects, this cancels the call, and with it the query.
        install(HttpRequestLifecycle) { cancelCallOnClose = true }
        get {
            val after = call.queryParameters.after()
            turns.withPermitWithin(limits.turnTimeout) { call.respondLines(records.all(after), limits) }
                ?: throw ProblemException(HttpStatusCode.ServiceUnavailable, "too many exports are running")
        }
    }
}

private val NdJson = ContentType("application", "x-ndjson")

/** The supervisor keeps a query that fails from taking the response with it, which has to say so in its last line. */
private suspend fun RoutingCall.respondLines(
    records: Flow<List<Record>>,
    limits: ExportLimits,
) = supervisorScope {
    val begun = markNow()
    val batches = records.produceIn(this)
    val unread = batches.iterator()
    // Wait for the first batch: before it is sent, a failure can still get a status of its own.
    unread.hasNext()
    val delivery = delivery(limits.clientTimeout)
    respondBytesWriter(NdJson) {
        try {
            batches.consume {
                takenWithin(limits.deadline - begun.elapsedNow()) { writeLines(unread, delivery, limits.clientTimeout) }
            }
        } catch (failure: Exception) {
            // Throws if the call was canceled, because the client is gone.
            currentCoroutineContext().ensureActive()
            writeStringUtf8(Json.encodeToString(problemOf(failure)) + "\n")
        }
    }
    // The response to a HEAD has no body, so nothing would consume the batches.
    if (request.httpMethod == HttpMethod.Head) batches.cancel()
}

/** Writes chunk by chunk, the next one when the client has taken the one before. So only a few are ever in memory. */
private suspend fun ByteWriteChannel.writeLines(
    batches: ChannelIterator<List<Record>>,
    delivery: Delivery,
    clientTimeout: Duration,
) {
    var written = 0L
    val lines = StringBuilder()

    suspend fun writeChunk() {
        takenWithin(clientTimeout) { delivery.await(written) }
        val chunk = lines.toString().encodeToByteArray()
        writeFully(chunk)
        flush()
        written += chunk.size
        lines.clear()
    }

    while (batches.hasNext()) {
        for (record in batches.next()) {
            lines.append(Json.encodeToString(record)).append('\n')
            if (lines.length >= CHUNK) writeChunk()
        }
    }
    writeChunk()
}

private suspend fun takenWithin(
    limit: Duration,
    block: suspend () -> Unit,
) {
    withTimeoutOrNull(limit) { block() }
        ?: throw ProblemException(HttpStatusCode.RequestTimeout, "the client did not take the export in time")
}

/** The number of bytes that are sent at once. */
private const val CHUNK = 65_536
// ANCHOR_END: export
