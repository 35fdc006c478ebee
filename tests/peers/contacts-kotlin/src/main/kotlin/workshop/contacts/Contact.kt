// What the address book consists of.
package workshop.contacts

import java.time.Instant
import java.util.UUID

/** An address book as it is now. Each change has a revision of its own, one more than the change before. */
class Book(
    val owner: String,
    life: UUID,
    revision: Long,
) {
    val token = SyncToken(life, revision)
}

/**
 * A contact. Its [etag] is in quotes, [length] is that of its vCard in bytes, and [vcard] is null where nobody has asked for it.
 *
 * [changed] is null while the second of the last change lasts: until it is over, another version may come that has the same date.
 */
class Contact(
    val owner: String,
    val name: String,
    val etag: String,
    val changed: Instant?,
    val length: Int,
    val vcard: String?,
) {
    /** Whether a client that knows a version by this date knows this one. In seconds since 1970. */
    fun isUnchangedSince(date: Long) = changed != null && changed.epochSecond <= date
}

/** What has become of a contact. */
class Change(
    val name: String,
    val revision: Long,
    val isRemoved: Boolean,
)

/** The changes since a client has asked the last time, and the token to ask with the next time. */
class Changes(
    val changes: List<Change>,
    val token: SyncToken,
    /** True when this is a page, and there is more. */
    val isPage: Boolean,
)

/** The contact of this name has the UID, or has another one that it keeps. */
class UidConflict(
    val with: String,
) : Exception()
