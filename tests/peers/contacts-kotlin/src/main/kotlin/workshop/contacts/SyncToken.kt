// The token by which a client asks what has changed since (RFC 6578).
package workshop.contacts

import java.util.UUID

// ANCHOR: sync-token

/** The [revision] of a book in one [life] of it: a book that was lost and made anew begins to count from 0, in another life. */
data class SyncToken(
    val life: UUID,
    val revision: Long,
) {
    override fun toString() = "urn:contacts:sync:$life:$revision"

    /** Whether it leads to a book that is at [now] today: one of another life does not, and neither does one from the future. */
    fun leadsTo(now: SyncToken) = life == now.life && revision <= now.revision

    companion object {
        private val SHAPE = Regex("urn:contacts:sync:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}):(0|[1-9][0-9]*)")

        /** Null when this service has never given such a token. */
        fun parse(text: String): SyncToken? {
            val (life, revision) = SHAPE.matchEntire(text)?.destructured ?: return null
            return revision.toLongOrNull()?.let { SyncToken(UUID.fromString(life), it) }
        }
    }
}
// ANCHOR_END: sync-token
