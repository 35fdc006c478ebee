// The filter of a query (RFC 6352, section 10.5), as far as this service knows it: the texts of properties.
package workshop.contacts

import io.ktor.http.HttpStatusCode

/** The most conditions of a filter, and the longest text of one, in bytes. */
private const val MAX_CONDITIONS = 100
private const val MAX_TEXT = 200

/**
 * What a query may cost, in steps: a character of a vCard is one, and one of a value is [FOLDING] and one for every second character
 * of all texts that it is compared with.
 */
private const val MAX_STEPS = 512L shl 20

/** What it costs to make two letters comparable, next to comparing them. */
private const val FOLDING = 24

/** Matches the contacts for which all of its conditions hold, or any of them. An empty one matches all. */
class Filter(
    private val test: Test,
    private val properties: List<PropertyFilter>,
) {
    private val names = properties.mapTo(mutableSetOf()) { it.name }
    private val texts = properties.flatMap { it.texts }
    private val cost = FOLDING + texts.sumOf { it.length } / 2
    private var steps = MAX_STEPS

    val conditions get() = properties.size + texts.size

    /** Null when the query has cost as much as one may. */
    fun matches(vcard: String): Boolean? {
        if (properties.isEmpty()) return true
        steps -= vcard.length
        val values = names.associateWith { mutableListOf<Value>() }
        eachValue(vcard, names) { property, value ->
            steps -= value.length.toLong() * cost
            if (steps >= 0) values.getValue(property).add(Value(value))
        }
        return if (steps < 0) null else test.holds(properties) { it.matches(values.getValue(it.name)) }
    }
}

/** A value, as each collation compares it. */
class Value(
    text: String,
) {
    private val folded = Collation.entries.associateWith { it.fold(text) }

    operator fun get(collation: Collation): String = folded.getValue(collation)
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
    val name: String,
    private val isAbsent: Boolean,
    private val test: Test,
    val texts: List<TextMatch>,
) {
    fun matches(values: List<Value>): Boolean {
        if (isAbsent) return values.isEmpty()
        return values.any { value -> texts.isEmpty() || test.holds(texts) { it.matches(value) } }
    }
}

class TextMatch(
    text: String,
    private val collation: Collation,
    private val kind: MatchKind,
    private val isNegated: Boolean,
) {
    private val wanted = collation.fold(text)

    val length get() = wanted.length

    fun matches(value: Value): Boolean = kind.matches(value[collation], wanted) != isNegated
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
 * Reads a filter. Where there is none, everything matches.
 *
 * @throws DavException when it asks for something that this service does not know, or for more than a search by a person needs
 */
fun filterIn(element: XmlElement?): Filter {
    if (element == null) return Filter(Test.ALL_OF, emptyList())
    val filter = Filter(testIn(element), element.children.map { propertyFilterIn(it) })
    if (filter.conditions > MAX_CONDITIONS) throw unsupportedFilter()
    return filter
}

private fun propertyFilterIn(element: XmlElement): PropertyFilter {
    val name = element["name"]?.uppercase()
    if (element.name != CardDav.PROP_FILTER || name.isNullOrEmpty()) throw unsupportedFilter()
    val isAbsent = element.children.singleOrNull()?.name == CardDav.IS_NOT_DEFINED
    return PropertyFilter(
        name = name,
        isAbsent = isAbsent,
        test = testIn(element),
        texts = if (isAbsent) emptyList() else element.children.map { textMatchIn(it) },
    )
}

private fun textMatchIn(element: XmlElement): TextMatch {
    val text = element.text.trim()
    if (element.name != CardDav.TEXT_MATCH || text.encodeToByteArray().size > MAX_TEXT) throw unsupportedFilter()
    return TextMatch(
        text = text,
        collation = collationOf(element["collation"]) ?: throw DavException(HttpStatusCode.Forbidden, CardDav.SUPPORTED_COLLATION),
        kind =
            when (element["match-type"]) {
                null, "contains" -> MatchKind.CONTAINS
                "equals" -> MatchKind.EQUALS
                "starts-with" -> MatchKind.STARTS_WITH
                "ends-with" -> MatchKind.ENDS_WITH
                else -> throw unsupportedFilter()
            },
        isNegated =
            when (element["negate-condition"]) {
                null, "no" -> false
                "yes" -> true
                else -> throw unsupportedFilter()
            },
    )
}

private fun testIn(element: XmlElement): Test =
    when (element["test"]) {
        null, "anyof" -> Test.ANY_OF
        "allof" -> Test.ALL_OF
        else -> throw unsupportedFilter()
    }

private fun unsupportedFilter() = DavException(HttpStatusCode.Forbidden, CardDav.SUPPORTED_FILTER)
