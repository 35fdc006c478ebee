// Gives every request an id: in the answer, and in what is logged about it, so that a user's report leads to its line.
package workshop.service

import io.ktor.server.application.ApplicationCall
import io.ktor.server.application.createApplicationPlugin
import io.ktor.server.application.hooks.CallSetup
import io.ktor.server.application.hooks.ResponseSent
import io.ktor.server.request.httpMethod
import io.ktor.server.request.path
import io.ktor.server.response.header
import io.ktor.util.AttributeKey
import org.slf4j.LoggerFactory
import java.util.HexFormat
import java.util.concurrent.ThreadLocalRandom
import kotlin.time.DurationUnit
import kotlin.time.TimeMark
import kotlin.time.TimeSource.Monotonic.markNow

private const val HEADER = "X-Request-Id"

// ANCHOR: request-id

/**
 * Adopts the id that the request brings, from a proxy for example, or gives it one.
 *
 * Ktor's CallId does the same. These lines save a dependency.
 */
val RequestIds =
    createApplicationPlugin("RequestIds") {
        on(CallSetup) { call ->
            val id = call.request.headers[HEADER]?.takeIf(::isUsable) ?: newId()
            call.attributes.put(REQUEST_ID, id)
            call.response.header(HEADER, id)
        }
    }

private val REQUEST_ID = AttributeKey<String>("request id")

internal val ApplicationCall.requestId: String get() = attributes[REQUEST_ID]

/** What a client sends ends up in the log: only an id that cannot be mistaken for anything else is adopted. */
private fun isUsable(id: String) =
    id.length in 1..64 && id.all { it in 'a'..'z' || it in 'A'..'Z' || it in '0'..'9' || it == '-' || it == '_' }

/** 128 random bits, as in a UUID. They need not be secret, and those of `UUID.randomUUID` are: that takes a lock. */
private fun newId(): String =
    ThreadLocalRandom.current().run { HEX.toHexDigits(nextLong()) + HEX.toHexDigits(nextLong()) }

private val HEX = HexFormat.of()
// ANCHOR_END: request-id

// ANCHOR: request-log

/**
 * Logs every request. Without its query, which may hold a key.
 *
 * By hand, since Ktor's CallLogging writes a sentence. Here each part is a member of the JSON object, and a number stays one.
 */
val RequestLog =
    createApplicationPlugin("RequestLog") {
        val log = LoggerFactory.getLogger("workshop.service.requests")
        // Otherwise a request that is not logged would pay for it.
        if (log.isInfoEnabled) {
            on(CallSetup) { call -> call.attributes.put(STARTED_AT, markNow()) }
            on(ResponseSent) { call ->
                log
                    .atInfo()
                    .addKeyValue("request_id", call.requestId)
                    .addKeyValue("method", call.request.httpMethod.value)
                    .addKeyValue("path", call.request.path())
                    .addKeyValue("status", call.response.status()?.value)
                    .addKeyValue("milliseconds", call.attributes[STARTED_AT].elapsedNow().toDouble(DurationUnit.MILLISECONDS))
                    .log("answered")
            }
        }
    }

private val STARTED_AT = AttributeKey<TimeMark>("started at")
// ANCHOR_END: request-log
