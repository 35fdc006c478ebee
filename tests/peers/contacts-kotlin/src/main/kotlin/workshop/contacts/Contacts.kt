// The contacts in the database: read, and changed only as the conditions of a request allow.
package workshop.contacts

import workshop.service.DatabaseUnavailable
import workshop.service.ProblemException
import java.sql.Connection
import java.sql.ResultSet
import java.sql.SQLException
import java.time.OffsetDateTime
import java.util.UUID

/** Every function throws [DatabaseUnavailable] when the database does not answer in time. */
class Contacts(
    private val database: PostgresDatabase,
) {
    /** Returns when the database has answered a ping. */
    suspend fun ping() {
        database.withConnection { query("SELECT 1") {} }
    }

    /** The book of this user, which is made when it is first needed. */
    suspend fun book(owner: String): Book = database.withConnection { findOrMakeBook(owner) }

    /** The book, and all contacts in it without their vCards. Seen later than the book, so its token misses nothing. */
    suspend fun bookWithContacts(owner: String): Pair<Book, List<Contact>> =
        database.withConnection { findOrMakeBook(owner) to findAll(owner) }

    /** All contacts, without their vCards. */
    suspend fun all(owner: String): List<Contact> = database.withConnection { findAll(owner) }

    /** The contact of this name, or null when there is none. */
    suspend fun find(
        owner: String,
        name: String,
    ): Contact? = named(owner, listOf(name), withVCards = true).singleOrNull()

    /** Those of these contacts that there are; with their vCards where these are asked for, as long as there is room for one more. */
    suspend fun named(
        owner: String,
        names: Collection<String>,
        withVCards: Boolean,
    ): List<Contact> =
        database.withConnection {
            query(
                """
                SELECT name, etag, changed, length, CASE WHEN before < ? THEN vcard END AS vcard FROM (
                    SELECT name, etag, $LAST_CHANGE AS changed, octet_length(vcard) AS length, vcard,
                        sum(octet_length(vcard)) OVER (ORDER BY name) - octet_length(vcard) AS before
                    FROM contacts WHERE owner = ? AND name = ANY (?) AND vcard IS NOT NULL) AS found
                """,
                if (withVCards) MAX_READ else 0,
                owner,
                names.toList(),
            ) { it.contact(owner) }
        }

    // ANCHOR: sync-collection

    /**
     * What has changed since, oldest change first and at most [limit] of them. Null [since] is a client that has nothing yet:
     * it need not learn what was removed.
     *
     * A change that comes while this reads has a later revision than the book had, and is left for the next time.
     *
     * @throws InvalidSyncToken when [since] is none of this book
     */
    suspend fun changes(
        owner: String,
        since: SyncToken?,
        limit: Int?,
    ): Changes =
        database.withConnection {
            val now = findOrMakeBook(owner).token
            if (since?.leadsTo(now) == false) throw InvalidSyncToken()
            val found =
                query(
                    """
                    SELECT name, revision, vcard IS NULL AS removed FROM contacts
                    WHERE owner = ? AND revision > ? AND revision <= ? AND (? OR vcard IS NOT NULL) ORDER BY revision LIMIT ?
                    """,
                    owner,
                    since?.revision ?: 0,
                    now.revision,
                    since != null,
                    // One more than asked for tells whether there is more.
                    limit?.plus(1L) ?: Long.MAX_VALUE,
                ) { Change(it.getString("name"), it.getLong("revision"), it.getBoolean("removed")) }
            val page = if (limit == null) found else found.take(limit)
            val isPage = page.size < found.size
            val token = if (isPage) now.copy(revision = page.last().revision) else now
            Changes(page, token, isPage)
        }
    // ANCHOR_END: sync-collection

    /**
     * Creates or replaces a contact, where the [conditions] hold. True when it is new.
     *
     * @throws ProblemException when the conditions do not hold, and [UidConflict] when the UID is another contact's or changes
     */
    suspend fun put(
        owner: String,
        name: String,
        card: NewContact,
        conditions: Conditions,
    ): Boolean =
        try {
            database.transact { write(owner, name, card, conditions) }
        } catch (cause: SQLException) {
            if (cause.sqlState == UNIQUE_VIOLATION) throw uidConflict(owner, name, card)
            throw cause
        } catch (_: OtherUid) {
            throw uidConflict(owner, name, card)
        }

    // ANCHOR: conditional-put

    /**
     * Replaces the contact that is there, or creates it where there is none. What fails undoes the revision as well.
     *
     * The conditions are part of the statement that writes. Between a question and a statement, another request could write. And
     * each version has a second of its own, whatever the clock says: a client that knows it by its date knows no other one by that.
     */
    private fun Connection.write(
        owner: String,
        name: String,
        card: NewContact,
        conditions: Conditions,
    ): Boolean {
        val revision = nextRevision(owner)
        val replaced =
            update(
                """
                UPDATE contacts SET etag = ?, vcard = ?, revision = ?,
                    changed = greatest(now(), date_trunc('second', changed) + interval '1 second')
                WHERE owner = ? AND name = ? AND uid = ? AND vcard IS NOT NULL
                    AND ? && ARRAY[etag::text, '*'] AND NOT ? && ARRAY[etag::text, '*']
                """,
                card.etag,
                card.vcard,
                revision,
                owner,
                name,
                card.uid,
                conditions.mustMatch ?: listOf(ANY_TAG),
                conditions.mustNotMatch,
            )
        if (replaced == 1) return false
        if (conditions.mustMatch != null) throw whyNot(owner, name, card, conditions)
        val created =
            update(
                """
                INSERT INTO contacts AS old (owner, name, uid, etag, vcard, revision, changed) VALUES (?, ?, ?, ?, ?, ?, now())
                ON CONFLICT (owner, name) DO UPDATE
                SET uid = excluded.uid, etag = excluded.etag, vcard = excluded.vcard,
                    revision = excluded.revision, changed = greatest(now(), date_trunc('second', old.changed) + interval '1 second')
                WHERE old.vcard IS NULL
                """,
                owner,
                name,
                card.uid,
                card.etag,
                card.vcard,
                revision,
            )
        if (created == 0) throw whyNot(owner, name, card, conditions)
        return true
    }
    // ANCHOR_END: conditional-put

    /** Why nothing was written: because of the conditions, or else of the UID. */
    private fun Connection.whyNot(
        owner: String,
        name: String,
        card: NewContact,
        conditions: Conditions,
    ): Exception {
        val there =
            query("SELECT etag, uid FROM contacts WHERE owner = ? AND name = ? AND vcard IS NOT NULL", owner, name) {
                it.getString("etag") to it.getString("uid")
            }.singleOrNull()
        val keepsItsUid = there != null && there.second != card.uid && conditions.allow(there.first)
        return if (keepsItsUid) OtherUid() else conditionFailed()
    }

    private suspend fun uidConflict(
        owner: String,
        name: String,
        card: NewContact,
    ) = UidConflict(with = nameOf(owner, card.uid) ?: name)

    // ANCHOR: next-revision

    /**
     * A revision of its own for a change. The book's row stays locked until the end of the transaction, so changes become
     * visible in the order of their revisions, and no client gets a token that is ahead of a change it has not seen.
     */
    private fun Connection.nextRevision(owner: String): Long =
        query(
            """
            INSERT INTO books (owner, revision) VALUES (?, 1)
            ON CONFLICT (owner) DO UPDATE SET revision = books.revision + 1
            RETURNING revision
            """,
            owner,
        ) { it.getLong(1) }.single()
    // ANCHOR_END: next-revision

    /**
     * Removes a contact, where the [conditions] hold. Its row stays, so that other clients learn of it.
     *
     * @throws ProblemException when there is none, and when the conditions do not hold
     */
    suspend fun remove(
        owner: String,
        name: String,
        conditions: Conditions,
    ) {
        database.transact {
            val removed =
                update(
                    """
                    UPDATE contacts SET revision = ?, vcard = NULL
                    WHERE owner = ? AND name = ? AND vcard IS NOT NULL
                        AND ? && ARRAY[etag::text, '*'] AND NOT ? && ARRAY[etag::text, '*']
                    """,
                    nextRevision(owner),
                    owner,
                    name,
                    conditions.mustMatch ?: listOf(ANY_TAG),
                    conditions.mustNotMatch,
                )
            if (removed == 0) {
                val found = query("SELECT 1 FROM contacts WHERE owner = ? AND name = ? AND vcard IS NOT NULL", owner, name) {}
                throw if (found.isEmpty()) noContact() else conditionFailed()
            }
        }
    }

    private suspend fun nameOf(
        owner: String,
        uid: String,
    ): String? =
        database.withConnection {
            query("SELECT name FROM contacts WHERE owner = ? AND uid = ? AND vcard IS NOT NULL", owner, uid) { it.getString(1) }
                .singleOrNull()
        }

    private fun Connection.findOrMakeBook(owner: String): Book = findBook(owner) ?: makeBook(owner)

    private fun Connection.findBook(owner: String): Book? =
        query("SELECT life, revision FROM books WHERE owner = ?", owner) {
            Book(owner, it.getObject(1, UUID::class.java), it.getLong(2))
        }.singleOrNull()

    /** Another request may do the same at this moment. */
    private fun Connection.makeBook(owner: String): Book {
        update("INSERT INTO books (owner) VALUES (?) ON CONFLICT DO NOTHING", owner)
        return checkNotNull(findBook(owner)) { "no book for $owner" }
    }

    private fun Connection.findAll(owner: String): List<Contact> =
        query(
            """
            SELECT name, etag, $LAST_CHANGE AS changed, octet_length(vcard) AS length, NULL::text AS vcard
            FROM contacts WHERE owner = ? AND vcard IS NOT NULL ORDER BY name
            """,
            owner,
        ) { it.contact(owner) }

    private companion object {
        /** How many bytes of vCards are read at once, not counting the last one. */
        const val MAX_READ = 1 shl 20

        /** Nothing while that second lasts. */
        const val LAST_CHANGE = "CASE WHEN date_trunc('second', changed) < date_trunc('second', now()) THEN changed END"
    }
}

/** The contact that is there has another UID, and keeps it. */
private class OtherUid : Exception()

/** A sync token that is none of this book, or of another life of it. */
class InvalidSyncToken : Exception()

private fun ResultSet.contact(owner: String) =
    Contact(
        owner = owner,
        name = getString("name"),
        etag = getString("etag"),
        changed = getObject("changed", OffsetDateTime::class.java)?.toInstant(),
        length = getInt("length"),
        vcard = getString("vcard"),
    )
