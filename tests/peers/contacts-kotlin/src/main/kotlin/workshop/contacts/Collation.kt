// Which texts count as the same (RFC 4790 and RFC 5051): what differs only in what a collation folds.
package workshop.contacts

import java.text.Normalizer

enum class Collation(
    val fold: (String) -> String,
) {
    /** The letters of every script, and composed characters like those that they consist of. */
    UNICODE_CASEMAP({ Normalizer.normalize(it.lowercase(), Normalizer.Form.NFKD) }),

    /** The letters A to Z only. */
    ASCII_CASEMAP({ text -> text.map { if (it in 'A'..'Z') it.lowercaseChar() else it }.joinToString("") }),
}

/** The collation of this name, or null when it is not known. */
fun collationOf(name: String?): Collation? =
    when (name) {
        null, "default", "i;unicode-casemap" -> Collation.UNICODE_CASEMAP
        "i;ascii-casemap" -> Collation.ASCII_CASEMAP
        else -> null
    }
