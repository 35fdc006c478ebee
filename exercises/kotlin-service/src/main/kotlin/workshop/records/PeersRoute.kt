// Lets a peer into the room, over a WebSocket.
package workshop.records

import io.ktor.http.HttpHeaders
import io.ktor.http.HttpMethod
import io.ktor.http.HttpStatusCode
import io.ktor.server.application.Application
import io.ktor.server.application.ApplicationCall
import io.ktor.server.application.ApplicationCallPipeline
import io.ktor.server.application.call
import io.ktor.server.application.install
import io.ktor.server.routing.Route
import io.ktor.server.routing.RouteSelector
import io.ktor.server.routing.RouteSelectorEvaluation
import io.ktor.server.routing.RoutingNode
import io.ktor.server.routing.RoutingResolveContext
import io.ktor.server.routing.method
import io.ktor.server.websocket.WebSockets
import io.ktor.server.websocket.webSocket
import io.ktor.util.AttributeKey
import workshop.service.ProblemException
import workshop.service.getOrHead
import workshop.service.readOnlyPath

// ANCHOR: web-sockets

/** What one connection may take of the memory: by default Ktor keeps frames of any size, in queues of any length. */
fun Application.webSockets(room: Room) {
    install(WebSockets) {
        pingPeriodMillis = room.pingPeriod.inWholeMilliseconds
        timeoutMillis = room.pingPeriod.inWholeMilliseconds
        maxFrameSize = MAX_MESSAGE_BYTES
        channels {
            incoming = bounded(FRAMES)
            outgoing = bounded(FRAMES)
        }
    }
}

private const val FRAMES = 4
// ANCHOR_END: web-sockets

// ANCHOR: peers

/** `/peers/{name}`: a WebSocket to all other peers. A request needs one of the [apiKeys]. */
fun Route.peers(
    room: Room,
    apiKeys: List<String>,
) {
    readOnlyPath("/peers/{name}") {
        requireApiKey(apiKeys) {
            getOrHead {
                call.peerName()
                throw upgradeRequired()
            }
            method(HttpMethod.Get) {
                entering(room) {
                    webSocket { converse(call.attributes[PEER], room) }
                }
            }
        }
    }
}

/** Lets the peer in before its connection is upgraded: until then a request can be answered with a problem. */
private fun Route.entering(
    room: Room,
    build: Route.() -> Unit,
) {
    val entering = createChild(Entering) as RoutingNode
    entering.intercept(ApplicationCallPipeline.Plugins) {
        val name = call.peerName()
        if (!call.wantsThisVersion()) throw upgradeRequired()
        val peer = room.enter(name) ?: throw ProblemException(HttpStatusCode.Conflict, "another peer has this name")
        try {
            call.attributes.put(PEER, peer)
            proceed()
        } finally {
            room.leave(peer)
        }
    }
    entering.build()
}

private val PEER = AttributeKey<Peer>("peer")

/** The `{name}` of the path. */
private fun ApplicationCall.peerName(): String =
    parameters["name"]?.takeIf { NAME.matches(it) }
        ?: throw ProblemException(
            HttpStatusCode.BadRequest,
            "name must be 1 to 32 letters, digits, hyphens and underscores",
        )

private val NAME = Regex("[A-Za-z0-9_-]{1,32}")

/** Ktor upgrades without these, too. */
private fun ApplicationCall.wantsThisVersion(): Boolean =
    request.headers[HttpHeaders.SecWebSocketVersion] == "13" && HttpHeaders.SecWebSocketKey in request.headers

private fun upgradeRequired() =
    ProblemException(
        HttpStatusCode.UpgradeRequired,
        "this path needs a WebSocket of version 13",
        HttpHeaders.Upgrade to "websocket",
    )
// ANCHOR_END: peers

/** Adds nothing to the path: it only sets the upgrade apart from other requests. */
private object Entering : RouteSelector() {
    override suspend fun evaluate(
        context: RoutingResolveContext,
        segmentIndex: Int,
    ) = RouteSelectorEvaluation.Transparent

    override fun toString() = "(entering)"
}
