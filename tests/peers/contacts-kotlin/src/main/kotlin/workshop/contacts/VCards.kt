// Judges vCards before they are stored, and finds in them what a query asks for.
//
// By hand, and not with a library of vCards: this service keeps what it was given, byte for byte, and needs to know little of it.
// Programs write the rest in their own ways, and a phone that is refused tries again for ever.
package workshop.contacts

import io.ktor.http.HttpStatusCode
import java.io.ByteArrayOutputStream
import java.security.MessageDigest
import java.util.HexFormat

/** A contact that may be stored: its vCard is kept as it came, to the byte, so that its strong entity tag is true. */
class NewContact(
    val vcard: String,
    val uid: String,
    val etag: String,
    /** False where a line was folded within a character: such a vCard is no text as it came. */
    val isAsSent: Boolean,
)

/**
 * Exactly one vCard, of a version that is supported, with a UID.
 *
 * @throws DavException for anything else
 */
fun newContact(body: ByteArray): NewContact {
    val asSent = body.toText()
    val text = (asSent ?: body.withWholeCharacters().toText())?.takeIf { it.isOneVCard() } ?: throw invalid()
    val version = versionOf(text) ?: throw invalid()
    if (version !in VERSIONS) throw DavException(HttpStatusCode.UnsupportedMediaType, CardDav.SUPPORTED_ADDRESS_DATA)
    val uid = text.values("UID").only { it.trim().replace(URN, "") }
    if (uid.isNullOrEmpty() || uid.codePointCount(0, uid.length) > MAX_UID) throw invalid()
    return NewContact(text, uid, etagOf(text), isAsSent = asSent != null)
}

/** Whether a vCard is of version 4.0. */
fun isVersion4(vcard: String) = versionOf(vcard) == "4.0"

private fun versionOf(vcard: String): String? = vcard.values("VERSION").only { it.trim() }

/** The value that all of these are: a program may say the same twice. */
private fun List<String>.only(transform: (String) -> String): String? = map(transform).distinct().singleOrNull()

/** Leaves out each fold before a byte that goes on with a character: in UTF-8, those begin with the bits 10. */
private fun ByteArray.withWholeCharacters(): ByteArray {
    val whole = ByteArrayOutputStream(size)
    var index = 0
    while (index < size) {
        val fold = FOLDS.firstOrNull { startsAt(index, it) && (getOrNull(index + it.length)?.toInt() ?: 0) and 0xC0 == 0x80 }
        if (fold == null) whole.write(this[index].toInt())
        index += fold?.length ?: 1
    }
    return whole.toByteArray()
}

private fun ByteArray.startsAt(
    index: Int,
    text: String,
) = text.indices.all { getOrNull(index + it) == text[it].code.toByte() }

private val FOLDS = listOf("\r\n ", "\r\n\t", "\n ", "\n\t")

/** Hands over each value of the properties with these names, which are in capitals. */
fun eachValue(
    vcard: String,
    properties: Set<String>,
    take: (property: String, value: String) -> Unit,
) {
    val lines = vcard.lines().iterator()
    var next = if (lines.hasNext()) lines.next() else return
    while (true) {
        val property = nameOf(next).uppercase().takeIf { it in properties }
        val line = StringBuilder(if (property == null) "" else next)
        var following: String? = null
        while (lines.hasNext()) {
            val more = lines.next()
            if (more.isEmpty()) continue
            if (more[0] != ' ' && more[0] != '\t') {
                following = more
                break
            }
            // It goes on where the line before it has ended.
            if (property != null) line.append(more, 1, more.length)
        }
        if (property != null) valueIn(line.toString())?.let { take(property, unescaped(it)) }
        next = following ?: return
    }
}

private fun String.values(property: String): List<String> =
    buildList { eachValue(this@values, setOf(property)) { _, value -> add(value) } }

/** Its lines, whichever way they end, without the mark of the byte order that some programs begin with. */
private fun String.lines() = removePrefix("\uFEFF").lineSequence()

/** The name at the beginning of a line, behind an optional group. */
private fun nameOf(line: String): String {
    val end = line.indexOfAny(charArrayOf(':', ';')).let { if (it < 0) line.length else it }
    return line.substring(0, end).trim().substringAfterLast('.')
}

/** A colon within quotes is a parameter's, unless the quotes do not pair: some programs write a lone one. */
private fun valueIn(line: String): String? {
    var quoted = false
    line.forEachIndexed { index, char ->
        if (char == '"') quoted = !quoted
        if (char == ':' && !quoted) return line.substring(index + 1)
    }
    return line.indexOf(':').takeIf { it >= 0 }?.let { line.substring(it + 1) }
}

/** `\n` is a line break, and a backslash before anything else protects that. */
private fun unescaped(value: String): String {
    if ('\\' !in value) return value
    return ESCAPE.replace(value) { if (it.groupValues[1].lowercase() == "n") "\n" else it.groupValues[1] }
}

private val ESCAPE = Regex("""\\(.?)""", RegexOption.DOT_MATCHES_ALL)

private val VERSIONS = setOf("3.0", "4.0")

/** What a program puts before the UID, some of them twice, when it writes a card of version 3.0 anew as 4.0: the UID stays the same. */
private val URN = Regex("^(urn:uuid:)+(?=.)", RegexOption.IGNORE_CASE)

/** As many characters as an index has room for. */
private const val MAX_UID = 500

private fun invalid() = DavException(HttpStatusCode.Forbidden, CardDav.VALID_ADDRESS_DATA)

/** It has a beginning and an end, once, and nothing that no text has. */
private fun String.isOneVCard(): Boolean {
    val lines = lines().filter { it.isNotBlank() }.toList()
    fun are(name: String) = lines.indices.filter { nameOf(lines[it]).equals(name, true) && valueIn(lines[it])?.trim().equals("VCARD", true) }
    return lines.size > 2 && are("BEGIN") == listOf(0) && are("END") == listOf(lines.lastIndex) && none { it.isNoText() }
}

/** What a vCard must not have, and what XML cannot carry in a report. */
private fun Char.isNoText() = (this < ' ' && this !in "\t\r\n") || this == '\uFFFE' || this == '\uFFFF'

/** In quotes, as it is sent. */
private fun etagOf(text: String): String {
    val digest = MessageDigest.getInstance("SHA-256").digest(text.encodeToByteArray())
    return "\"${HexFormat.of().formatHex(digest, 0, ETAG_BYTES)}\""
}

private const val ETAG_BYTES = 16
