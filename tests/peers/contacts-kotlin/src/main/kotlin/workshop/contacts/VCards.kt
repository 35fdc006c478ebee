// Judges vCards before they are stored, and finds in them what a query asks for.
package workshop.contacts

import ezvcard.VCard
import ezvcard.VCardVersion
import ezvcard.io.text.VCardReader
import ezvcard.property.StructuredName
import ezvcard.property.Uid
import io.ktor.http.HttpStatusCode
import java.security.MessageDigest
import java.util.HexFormat

/** A contact that may be stored: its vCard is kept as it came, to the byte, so that its strong entity tag is true. */
class NewContact(
    val vcard: String,
    val uid: String,
    val etag: String,
)

/**
 * One whole vCard, of a version that is supported, with a name and an id.
 *
 * @throws DavException for anything else
 */
fun newContact(body: ByteArray): NewContact {
    val text = body.toText()?.takeIf { it.isOneVCard() } ?: throw invalid()
    val card = VCardReader(text).use { reader -> reader.readNext()?.takeIf { reader.warnings.none { it.code == MALFORMED_LINE } } }
    if (card == null || card.version !in VERSIONS || card.formattedName == null) throw invalid()
    val uid = card.getProperties(Uid::class.java).singleOrNull()?.value
    if (uid.isNullOrBlank() || uid.length > MAX_UID) throw invalid()
    return NewContact(text, uid, etagOf(body))
}

/** A vCard that was stored. */
fun parseVCard(text: String): VCard? = VCardReader(text).use { it.readNext() }

/** Whether a query can ask for a property of this name. */
fun isQueryable(property: String) = property in TEXTS

/** The texts of a property that a query compares: one for each time that the vCard has it. */
fun VCard.texts(property: String): List<String> = TEXTS.getValue(property)(this)

private val TEXTS: Map<String, (VCard) -> List<String>> =
    mapOf(
        "FN" to { card -> card.formattedNames.map { it.value } },
        "N" to { card -> card.structuredNames.map { it.text() } },
        "EMAIL" to { card -> card.emails.map { it.value } },
        "TEL" to { card -> card.telephoneNumbers.map { it.text ?: it.uri.toString() } },
        "UID" to { card -> listOfNotNull(card.uid?.value) },
        "NICKNAME" to { card -> card.nicknames.map { it.values.joined() } },
        "ORG" to { card -> card.organizations.map { it.values.joined() } },
    )

private fun StructuredName.text() = (listOf(family, given) + additionalNames + prefixes + suffixes).joined()

private fun List<String?>.joined() = filterNotNull().joinToString(";")

private val VERSIONS = setOf(VCardVersion.V3_0, VCardVersion.V4_0)

/** What ez-vcard warns of a line by that it skips, since there is no colon in it. */
private const val MALFORMED_LINE = 27

/** As many characters as an index has room for. */
private const val MAX_UID = 500

private fun invalid() = DavException(HttpStatusCode.Forbidden, CardDav.VALID_ADDRESS_DATA)

/** ez-vcard reads whatever it can, half of a vCard as well. What is stored has a beginning and an end, once. */
private fun String.isOneVCard(): Boolean {
    val lines = lineSequence().map { it.trimEnd() }.filter { it.isNotEmpty() }.toList()
    return lines.size > 2 &&
        lines.indices.filter { lines[it].equals("BEGIN:VCARD", ignoreCase = true) } == listOf(0) &&
        lines.indices.filter { lines[it].equals("END:VCARD", ignoreCase = true) } == listOf(lines.lastIndex) &&
        none { it.isNoText() }
}

/** What a vCard must not have, and what XML cannot carry in a report. */
private fun Char.isNoText() = (isISOControl() && this < '\u0080' && this !in "\t\r\n") || this == '\uFFFE' || this == '\uFFFF'

/** In quotes, as it is sent. */
private fun etagOf(body: ByteArray): String {
    val digest = MessageDigest.getInstance("SHA-256").digest(body)
    return "\"${HexFormat.of().formatHex(digest, 0, ETAG_BYTES)}\""
}

private const val ETAG_BYTES = 16
