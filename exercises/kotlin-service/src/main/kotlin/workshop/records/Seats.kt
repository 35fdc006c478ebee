// Reserves a peer's seat in the room before its connection is upgraded.
//
// After the upgrade, it would be too late to refuse: a client whose name was taken saw its WebSocket open and close at once,
// and reconnected all night. Before the upgrade, the service can still respond with 409.
package workshop.records

import io.ktor.http.HttpHeaders
import io.ktor.http.HttpMethod
import io.ktor.http.HttpStatusCode
import io.ktor.server.application.ApplicationCall
import io.ktor.server.application.ApplicationCallPipeline
import io.ktor.server.application.call
import io.ktor.server.routing.Route
import io.ktor.server.routing.RouteSelector
import io.ktor.server.routing.RouteSelectorEvaluation
import io.ktor.server.routing.RoutingNode
import io.ktor.server.routing.RoutingResolveContext
import io.ktor.util.AttributeKey
import workshop.service.ProblemException

/** The peer of this call has a seat while the routes that [build] adds handle it. */
fun Route.withSeat(
    room: Room,
    build: Route.() -> Unit,
) {
    val seated = createChild(Seated) as RoutingNode
    seated.intercept(ApplicationCallPipeline.Call) {
        val name = call.peerName()
        if (!call.wantsToUpgrade()) throw upgradeRequired()
        val peer = room.enter(name) ?: throw ProblemException(HttpStatusCode.Conflict, "another peer has this name")
        try {
            call.attributes.put(PEER, peer)
            proceed()
        } finally {
            room.leave(peer)
        }
    }
    seated.build()
}

/** The peer that has the seat. */
val ApplicationCall.peer: Peer get() = attributes[PEER]

private val PEER = AttributeKey<Peer>("peer")

/** The `{name}` of the path. */
fun ApplicationCall.peerName(): String =
    parameters["name"]?.takeIf { NAME.matches(it) }
        ?: throw ProblemException(
            HttpStatusCode.BadRequest,
            "name must be 1 to 32 letters, digits, hyphens and underscores",
        )

private val NAME = Regex("[A-Za-z0-9_-]{1,32}")

/** Ktor upgrades without these headers, too, and AutoHeadResponse hands it a HEAD as a GET. */
private fun ApplicationCall.wantsToUpgrade(): Boolean =
    request.local.method == HttpMethod.Get &&
        request.headers[HttpHeaders.SecWebSocketVersion] == "13" &&
        HttpHeaders.SecWebSocketKey in request.headers

/** Adds nothing to the path: it only sets these routes apart from the others. */
private object Seated : RouteSelector() {
    override suspend fun evaluate(
        context: RoutingResolveContext,
        segmentIndex: Int,
    ) = RouteSelectorEvaluation.Transparent

    override fun toString() = "(seated)"
}
