// Request ids: decides which of the clients' ids to adopt, and generates new ones.
package workshop.service

import java.util.HexFormat
import java.util.concurrent.ThreadLocalRandom

// ANCHOR: request-id

/** A client's id ends up in the log, so only an unambiguous one is adopted. */
fun isUsableRequestId(id: String) =
    id.length in 1..64 && id.all { it in 'a'..'z' || it in 'A'..'Z' || it in '0'..'9' || it == '-' || it == '_' }

/** 128 random bits, as in a UUID. They need not be secret, and those of `UUID.randomUUID` are: that takes a lock. */
fun newRequestId(): String =
    ThreadLocalRandom.current().run { HEX.toHexDigits(nextLong()) + HEX.toHexDigits(nextLong()) }

private val HEX = HexFormat.of()
// ANCHOR_END: request-id
