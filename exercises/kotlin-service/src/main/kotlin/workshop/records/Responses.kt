// How every route of the service listens and answers: GET with HEAD, and JSON.
package workshop.records

import io.ktor.http.ContentType
import io.ktor.http.HttpMethod
import io.ktor.server.application.ApplicationCall
import io.ktor.server.response.respondText
import io.ktor.server.routing.Route
import io.ktor.server.routing.RoutingHandler
import io.ktor.server.routing.method
import io.ktor.server.routing.route
import kotlinx.serialization.json.Json

/** A HEAD is a GET without the body, which the engine leaves out. */
fun Route.getOrHead(
    path: String,
    handler: RoutingHandler,
) {
    route(path) {
        method(HttpMethod.Get) { handle(handler) }
        method(HttpMethod.Head) { handle(handler) }
    }
}

/**
 * Answers [value] as JSON.
 *
 * Without Ktor's ContentNegotiation on purpose: there is one format to negotiate, the type is known when this is compiled,
 * and a client that asks for another format gets JSON as the contract says, not a 406.
 */
suspend inline fun <reified T> ApplicationCall.respondJson(value: T) {
    respondText(Json.encodeToString(value), ContentType.Application.Json)
}
