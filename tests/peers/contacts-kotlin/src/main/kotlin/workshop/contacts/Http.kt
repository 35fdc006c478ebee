// How every path of the service listens and answers: its methods, those of WebDAV as well, and JSON.
package workshop.contacts

import io.ktor.http.ContentType
import io.ktor.http.HttpHeaders
import io.ktor.http.HttpMethod
import io.ktor.http.HttpStatusCode
import io.ktor.server.application.ApplicationCall
import io.ktor.server.response.header
import io.ktor.server.response.respond
import io.ktor.server.response.respondText
import io.ktor.server.routing.Route
import io.ktor.server.routing.RoutingHandler
import io.ktor.server.routing.method
import io.ktor.server.routing.route
import kotlinx.serialization.json.Json

/** A path that answers [methods]: each needs a handler, which [build] adds. Any other method is a 405. */
fun Route.path(
    path: String,
    vararg methods: String,
    build: Route.() -> Unit,
) {
    route(path) {
        handle {
            throw ProblemException(
                HttpStatusCode.MethodNotAllowed,
                "this path does not support that method",
                HttpHeaders.Allow to methods.joinToString(),
            )
        }
        build()
    }
}

/** A path of WebDAV: it also tells what it can do. */
fun Route.davPath(
    path: String,
    vararg methods: String,
    build: Route.() -> Unit,
) {
    path(path, "OPTIONS", *methods) {
        on("OPTIONS") {
            call.response.header("DAV", "1, 3, addressbook")
            call.response.header(HttpHeaders.Allow, "OPTIONS, ${methods.joinToString()}")
            call.respond(HttpStatusCode.NoContent)
        }
        build()
    }
}

/** To Ktor a method is a word: it need not know it. */
fun Route.on(
    method: String,
    handler: RoutingHandler,
) {
    method(HttpMethod(method)) { handle(handler) }
}

/** A HEAD is a GET without the body, which the engine leaves out. */
fun Route.onGetOrHead(handler: RoutingHandler) {
    on("GET", handler)
    on("HEAD", handler)
}

suspend inline fun <reified T> ApplicationCall.respondJson(value: T) {
    respondText(Json.encodeToString(value), ContentType.Application.Json)
}
