// The routes.
package workshop.ceiling

import io.netty.handler.codec.http.HttpHeaderNames
import io.vertx.core.Future
import io.vertx.core.VerticleBase
import io.vertx.core.http.HttpHeaders
import io.vertx.core.http.HttpMethod
import io.vertx.core.http.HttpServerRequest
import kotlinx.serialization.json.Json

private const val READ = "/read/"

/** An HTTP server on an event loop of its own. All servers of this program listen on the same [port], and Vert.x deals the connections. */
class Server(
    private val address: String,
    private val port: Int,
    private val keys: ApiKeys,
    private val records: Records,
) : VerticleBase() {
    override fun start(): Future<*> = vertx.createHttpServer().requestHandler(::handle).listen(port, address)

    private fun handle(request: HttpServerRequest) {
        val path = request.path().orEmpty()
        when {
            request.method() != HttpMethod.GET -> request.respond(METHOD_NOT_ALLOWED)
            path == "/health" -> request.respond("""{"status":"ok"}""")
            path == "/ready" -> request.respondWith(records.ping()) { request.respond("""{"status":"ready"}""") }
            path.startsWith(READ) -> read(request, path.removePrefix(READ))
            else -> request.respond(NO_SUCH_PATH)
        }
    }

    private fun read(
        request: HttpServerRequest,
        text: String,
    ) {
        if (!keys.accept(request)) {
            request.response().putHeader(HttpHeaderNames.WWW_AUTHENTICATE, "ApiKey")
            request.respond(NO_KEY)
            return
        }
        val id = text.toIntOrNull()
        if (id == null) {
            request.respond(NO_INTEGER)
            return
        }
        request.respondWith(records.find(id)) { record ->
            if (record == null) request.respond(noRecord(id)) else request.respond(Json.encodeToString(record))
        }
    }
}

private fun <T> HttpServerRequest.respondWith(
    found: Future<T>,
    success: (T) -> Unit,
) {
    found.onComplete(success) { failure ->
        System.err.println("a query failed: $failure")
        respond(DATABASE_DOES_NOT_ANSWER)
    }
}

private fun HttpServerRequest.respond(json: String) {
    response().putHeader(HttpHeaders.CONTENT_TYPE, "application/json").end(json)
}

private fun HttpServerRequest.respond(problem: Problem) {
    response()
        .setStatusCode(problem.status)
        .putHeader(HttpHeaders.CONTENT_TYPE, "application/problem+json")
        .end(Json.encodeToString(problem))
}
