// Gives every request an id: in the answer, and in what is logged about it, so that a user's report leads to its line.
package workshop.records

import io.ktor.server.plugins.callid.CallIdConfig
import workshop.service.REQUEST_ID_HEADER
import workshop.service.isUsableRequestId
import workshop.service.newRequestId

// ANCHOR: request-id

/** Adopts the id that the request brings, from a proxy for example, or gives it one. */
fun CallIdConfig.requestIds() {
    header(REQUEST_ID_HEADER)
    verify(::isUsableRequestId)
    generate { newRequestId() }
}
// ANCHOR_END: request-id
