// The request log, and the id that leads from a response to its log lines.
package workshop.service

import io.ktor.http.HttpStatusCode
import io.ktor.server.application.ApplicationCall
import io.ktor.server.application.createApplicationPlugin
import io.ktor.server.application.hooks.CallSetup
import io.ktor.server.application.hooks.ResponseSent
import io.ktor.server.request.path
import io.ktor.util.AttributeKey
import org.slf4j.LoggerFactory
import org.slf4j.spi.LoggingEventBuilder
import kotlin.time.DurationUnit
import kotlin.time.TimeMark
import kotlin.time.TimeSource.Monotonic.markNow

/** The header that carries the id of a request. */
const val REQUEST_ID_HEADER = "X-Request-Id"

/**
 * The id that the answer carries. Each line about a request takes it from here: an MDC would be set and cleared whenever a coroutine
 * changes its thread, also for the requests that are not logged.
 */
val ApplicationCall.requestId: String? get() = response.headers[REQUEST_ID_HEADER]

/** The caller, once known, by a name that is no secret. */
val SUBJECT = AttributeKey<String>("subject")

/** The trace that a request belongs to, if there are traces. */
val TRACE_ID = AttributeKey<String>("trace id")

/** Adds the fields of each line about a request, so that a user's report leads to it. */
fun LoggingEventBuilder.about(call: ApplicationCall): LoggingEventBuilder {
    addKeyValue("request_id", call.requestId)
    call.attributes.getOrNull(TRACE_ID)?.let { addKeyValue("trace_id", it) }
    call.attributes.getOrNull(SUBJECT)?.let { addKeyValue("subject", it) }
    return this
}

// ANCHOR: request-log

/**
 * Logs every request. Without its query, which may hold a key.
 *
 * Written by hand, since Ktor's CallLogging writes a sentence. Here each part is a member of the JSON object, and a number stays one.
 */
val RequestLog =
    createApplicationPlugin("RequestLog") {
        // Without this check, requests would pay for the hooks even if they aren't logged.
        if (log.isInfoEnabled) {
            on(CallSetup) { call -> call.attributes.put(STARTED_AT, markNow()) }
            // After an upgrade, this hook runs only at the end of the connection: too late for this log line.
            on(ResponseSent) { call -> if (call.response.status() != HttpStatusCode.SwitchingProtocols) call.logAnswer() }
        }
    }

/** Logs the answer, which has a status by now, once: if StatusPages replaces an answer, Ktor runs the hook for both. */
fun ApplicationCall.logAnswer() {
    val started = attributes.takeOrNull(STARTED_AT) ?: return
    log
        .atInfo()
        .about(this)
        .addKeyValue("method", request.local.method.value)
        .addKeyValue("path", request.path())
        .addKeyValue("status", response.status()?.value)
        .addKeyValue("milliseconds", started.elapsedNow().toDouble(DurationUnit.MILLISECONDS))
        .log("answered")
}

private val log = LoggerFactory.getLogger("workshop.service.requests")
private val STARTED_AT = AttributeKey<TimeMark>("started at")
// ANCHOR_END: request-log
