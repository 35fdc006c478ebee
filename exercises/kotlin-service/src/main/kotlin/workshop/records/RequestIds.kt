// Gives every request an id, in its response and its log lines, so that a user's report leads to them.
package workshop.records

import io.ktor.server.plugins.callid.CallIdConfig
import workshop.service.REQUEST_ID_HEADER
import workshop.service.isUsableRequestId
import workshop.service.newRequestId

// ANCHOR: request-id

/** Adopts the id that came with the request, from a proxy for example, or gives it a new one. */
fun CallIdConfig.requestIds() {
    header(REQUEST_ID_HEADER)
    verify(::isUsableRequestId)
    generate { newRequestId() }
}
// ANCHOR_END: request-id
