// The filter of a query (RFC 6352, section 10.5), as far as this service knows it: text in a few properties.
package workshop.contacts

import ezvcard.VCard
import io.ktor.http.HttpStatusCode

/** Matches the contacts for which all of its conditions hold, or any of them. An empty one matches all. */
class Filter(
    private val test: Test,
    private val properties: List<PropertyFilter>,
) {
    fun matches(card: VCard): Boolean = properties.isEmpty() || test.holds(properties) { it.matches(card) }
}

/** How several conditions make one. */
enum class Test {
    ANY_OF,
    ALL_OF,
    ;

    fun <T> holds(
        conditions: List<T>,
        isMet: (T) -> Boolean,
    ): Boolean = if (this == ANY_OF) conditions.any(isMet) else conditions.all(isMet)
}

/** A condition on a property. Where a contact has several of it, one that matches will do. */
class PropertyFilter(
    private val name: String,
    private val isAbsent: Boolean,
    private val test: Test,
    private val matches: List<TextMatch>,
) {
    fun matches(card: VCard): Boolean {
        val texts = card.texts(name)
        if (isAbsent) return texts.isEmpty()
        return texts.isNotEmpty() && (matches.isEmpty() || test.holds(matches) { it.matches(texts) })
    }
}

class TextMatch(
    text: String,
    private val collation: Collation,
    private val kind: MatchKind,
    private val isNegated: Boolean,
) {
    private val wanted = collation.fold(text)

    fun matches(texts: List<String>): Boolean = texts.any { kind.matches(collation.fold(it), wanted) } != isNegated
}

enum class MatchKind(
    val matches: (text: String, wanted: String) -> Boolean,
) {
    EQUALS({ text, wanted -> text == wanted }),
    CONTAINS({ text, wanted -> wanted in text }),
    STARTS_WITH({ text, wanted -> text.startsWith(wanted) }),
    ENDS_WITH({ text, wanted -> text.endsWith(wanted) }),
}

/**
 * Reads a filter.
 *
 * @throws DavException when it asks for something that this service does not know
 */
fun filterIn(element: XmlElement): Filter {
    val properties =
        element.children.map { child ->
            if (child.name != CardDav.PROP_FILTER) throw unsupportedFilter()
            propertyFilterIn(child)
        }
    return Filter(testIn(element), properties)
}

private fun propertyFilterIn(element: XmlElement): PropertyFilter {
    val name = element["name"]?.uppercase()
    if (name == null || !isQueryable(name)) throw unsupportedFilter()
    val known = setOf(CardDav.TEXT_MATCH, CardDav.IS_NOT_DEFINED)
    if (element.children.any { it.name !in known }) throw unsupportedFilter()
    return PropertyFilter(
        name = name,
        isAbsent = element.child(CardDav.IS_NOT_DEFINED) != null,
        test = testIn(element),
        matches = element.children(CardDav.TEXT_MATCH).map { textMatchIn(it) },
    )
}

private fun textMatchIn(element: XmlElement) =
    TextMatch(
        text = element.text,
        collation = collationOf(element["collation"]) ?: throw DavException(HttpStatusCode.Forbidden, CardDav.SUPPORTED_COLLATION),
        kind =
            when (element["match-type"]) {
                null, "contains" -> MatchKind.CONTAINS
                "equals" -> MatchKind.EQUALS
                "starts-with" -> MatchKind.STARTS_WITH
                "ends-with" -> MatchKind.ENDS_WITH
                else -> throw unsupportedFilter()
            },
        isNegated = element["negate-condition"] == "yes",
    )

private fun testIn(element: XmlElement): Test =
    when (element["test"]) {
        null, "anyof" -> Test.ANY_OF
        "allof" -> Test.ALL_OF
        else -> throw unsupportedFilter()
    }

private fun unsupportedFilter() = DavException(HttpStatusCode.Forbidden, CardDav.SUPPORTED_FILTER)
