// How a request is understood before a route sees it: its method, its path and its query.
package workshop.records

import io.ktor.http.HttpStatusCode
import io.ktor.http.decodeURLQueryComponent
import io.ktor.server.application.Application
import io.ktor.server.application.createApplicationPlugin
import io.ktor.server.application.install
import io.ktor.server.plugins.mutableOriginConnectionPoint
import io.ktor.server.request.ApplicationRequest
import io.ktor.server.request.httpMethod
import io.ktor.server.request.queryString
import io.ktor.server.request.uri
import io.ktor.server.routing.IgnoreTrailingSlash

// ANCHOR: requests

/** Refuses the methods that HTTP does not know, and reads paths as generously as browsers write them. */
fun Application.requests() {
    install(KnownMethods)
    install(StrayPercents)
    install(IgnoreTrailingSlash)
}

private val METHODS = setOf("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT")

private val KnownMethods =
    createApplicationPlugin("KnownMethods") {
        onCall { call ->
            if (call.request.httpMethod.value !in METHODS) {
                throw ProblemException(HttpStatusCode.BadRequest, "the request is malformed")
            }
        }
    }

/** A percent sign without two hexadecimal digits stands for itself. Ktor would refuse the whole request. */
private val StrayPercents =
    createApplicationPlugin("StrayPercents") {
        onCall { call ->
            val path = call.request.uri.substringBefore('?')
            if (STRAY_PERCENT in path) {
                call.mutableOriginConnectionPoint.uri = path.withoutStrayPercents() + call.request.uri.drop(path.length)
            }
        }
    }

/** The first parameter of this name. Ktor's own look-up takes `Name` for `name`, and refuses a stray percent sign. */
internal fun ApplicationRequest.queryParameter(name: String): String? = encodedQueryParameter(name)?.decoded()

/** The same as it stands in the query. */
internal fun ApplicationRequest.encodedQueryParameter(name: String): String? =
    queryString()
        .splitToSequence('&')
        .map { it.split('=', limit = 2) }
        .firstOrNull { it.first().decoded() == name }
        ?.let { it.getOrElse(1) { "" } }

private fun String.decoded() = withoutStrayPercents().decodeURLQueryComponent(plusIsSpace = true)

private fun String.withoutStrayPercents() = replace(STRAY_PERCENT, "%25")

internal val STRAY_PERCENT = Regex("%(?![0-9A-Fa-f]{2})")
// ANCHOR_END: requests
