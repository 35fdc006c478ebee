// How every path of the service listens and answers: its methods, and JSON.
package workshop.service

import io.ktor.http.ContentType
import io.ktor.http.HttpHeaders
import io.ktor.http.HttpMethod
import io.ktor.http.HttpStatusCode
import io.ktor.server.application.ApplicationCall
import io.ktor.server.response.respondText
import io.ktor.server.routing.Route
import io.ktor.server.routing.RoutingHandler
import io.ktor.server.routing.method
import io.ktor.server.routing.route
import kotlinx.serialization.json.Json

/** A path that is read and nothing else. */
fun Route.readOnlyPath(
    path: String,
    build: Route.() -> Unit,
) = path(path, allow = "GET, HEAD", build)

/** A path that is posted to and nothing else. */
fun Route.postOnlyPath(
    path: String,
    build: Route.() -> Unit,
) = path(path, allow = "POST", build)

/** Any method without a handler is a 405. Ktor by itself answers that only on paths without a parameter, and no `Allow`. */
fun Route.path(
    path: String,
    allow: String,
    build: Route.() -> Unit,
) {
    route(path) {
        handle {
            throw ProblemException(
                HttpStatusCode.MethodNotAllowed,
                "this path does not support that method",
                HttpHeaders.Allow to allow,
            )
        }
        build()
    }
}

/**
 * A HEAD is a GET without the body, which the engine leaves out.
 *
 * Not with Ktor's AutoHeadResponse: that turns every HEAD into a GET, and an export would read all records for nothing.
 */
fun Route.getOrHead(handler: RoutingHandler) {
    method(HttpMethod.Get) { handle(handler) }
    method(HttpMethod.Head) { handle(handler) }
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
