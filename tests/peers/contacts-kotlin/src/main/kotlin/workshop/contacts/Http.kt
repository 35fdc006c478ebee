// How the paths of WebDAV listen: with methods that HTTP itself does not have.
package workshop.contacts

import io.ktor.http.HttpHeaders
import io.ktor.http.HttpMethod
import io.ktor.http.HttpStatusCode
import io.ktor.server.response.header
import io.ktor.server.response.respond
import io.ktor.server.routing.Route
import io.ktor.server.routing.RoutingHandler
import io.ktor.server.routing.method
import workshop.service.path

/** A path of WebDAV, which answers [methods]: each needs a handler, which [build] adds. It also tells what it can do. */
fun Route.davPath(
    path: String,
    vararg methods: String,
    build: Route.() -> Unit,
) {
    val allow = "OPTIONS, ${methods.joinToString()}, PROPPATCH"
    path(path, allow) {
        on("OPTIONS") {
            call.response.header("DAV", "1, 3, addressbook")
            call.response.header(HttpHeaders.Allow, allow)
            call.respond(HttpStatusCode.NoContent)
        }
        proppatch()
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
