// The route on which peers join the room, over a WebSocket.
package workshop.records

import io.ktor.http.HttpHeaders
import io.ktor.http.HttpMethod
import io.ktor.http.HttpStatusCode
import io.ktor.server.routing.Route
import io.ktor.server.routing.get
import io.ktor.server.routing.method
import io.ktor.server.routing.route
import io.ktor.server.websocket.WebSockets
import io.ktor.server.websocket.webSocketRaw
import kotlinx.coroutines.CancellationException
import workshop.service.ProblemException

// ANCHOR: web-sockets

/** The memory limits of one connection: by default Ktor keeps frames of any size, in queues of any length. */
fun WebSockets.WebSocketOptions.limits() {
    maxFrameSize = MAX_MESSAGE_BYTES
    channels {
        incoming = bounded(FRAMES)
        outgoing = bounded(FRAMES)
    }
}

private const val FRAMES = 4
// ANCHOR_END: web-sockets

// ANCHOR: peers

/** A WebSocket to all other peers. */
fun Route.peers(room: Room) {
    route("/peers/{name}") {
        get {
            call.peerName()
            throw upgradeRequired()
        }
        method(HttpMethod.Get) {
            withSeat(room) {
                // Ktor's default sessions hide ping and close frames, but `converse` has to see these frames.
                webSocketRaw {
                    call.logged { converse(call.peer, room) }
                    // Closes the connection, whether or not the peer has confirmed the close.
                    throw CancellationException("the conversation is over")
                }
            }
        }
    }
}

fun upgradeRequired() =
    ProblemException(
        HttpStatusCode.UpgradeRequired,
        "this path needs a WebSocket of version 13",
        HttpHeaders.Connection to "upgrade",
        HttpHeaders.Upgrade to "websocket",
        HttpHeaders.SecWebSocketVersion to "13",
    )
// ANCHOR_END: peers
