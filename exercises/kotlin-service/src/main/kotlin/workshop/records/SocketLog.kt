// The log lines of a WebSocket: when it was opened, and when and why it ended.
package workshop.records

import io.ktor.server.application.ApplicationCall
import io.ktor.websocket.CloseReason
import org.slf4j.LoggerFactory
import workshop.service.about
import workshop.service.logAnswer
import kotlin.time.DurationUnit
import kotlin.time.TimeSource.Monotonic.markNow

/** Logs the answer that has opened the socket, and the end of the [conversation], which returns its close reason. */
suspend fun ApplicationCall.logged(conversation: suspend () -> CloseReason?) {
    val openedAt = markNow()
    logAnswer()
    var reason: CloseReason? = null
    try {
        reason = conversation()
    } finally {
        log
            .atInfo()
            .about(this)
            .addKeyValue("milliseconds", openedAt.elapsedNow().toDouble(DurationUnit.MILLISECONDS))
            .addKeyValue("reason", why(reason))
            .log("the socket has ended")
    }
}

/** Why a socket was closed, by its close reason. */
private fun why(reason: CloseReason?) =
    when (reason?.knownReason) {
        CloseReason.Codes.GOING_AWAY -> "the service stops"
        CloseReason.Codes.TRY_AGAIN_LATER -> "the peer does not read"
        CloseReason.Codes.CANNOT_ACCEPT -> "the peer has sent a binary message"
        CloseReason.Codes.NOT_CONSISTENT -> "the peer has sent a text that is not UTF-8"
        CloseReason.Codes.TOO_BIG -> "the peer has sent too large a message"
        null -> "the peer is gone"
        else -> "the peer has broken the protocol"
    }

private val log = LoggerFactory.getLogger("workshop.service.sockets")
