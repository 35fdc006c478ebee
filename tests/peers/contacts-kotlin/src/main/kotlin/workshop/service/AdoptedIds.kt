// Gives every request an id.
package workshop.service

import io.ktor.server.application.createApplicationPlugin
import io.ktor.server.application.hooks.CallSetup
import io.ktor.server.response.header

/** Adopts the id that the request brings, or gives it one. Without Ktor's CallId. */
val RequestIds =
    createApplicationPlugin("RequestIds") {
        on(CallSetup) { call ->
            val id = call.request.headers[REQUEST_ID_HEADER]?.takeIf(::isUsableRequestId) ?: newRequestId()
            call.response.header(REQUEST_ID_HEADER, id)
        }
    }
