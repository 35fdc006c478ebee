// Reads the XML of a request into a tree: small, flat, and without a DTD, so without what a DTD can do.
package workshop.contacts

import io.ktor.http.HttpStatusCode
import workshop.service.ProblemException
import java.io.StringReader
import javax.xml.namespace.QName
import javax.xml.stream.XMLInputFactory
import javax.xml.stream.XMLStreamConstants
import javax.xml.stream.XMLStreamException
import javax.xml.stream.XMLStreamReader

/** An element, with the text that is directly in it. */
class XmlElement(
    val name: QName,
    private val attributes: Map<String, String>,
    val children: List<XmlElement>,
    val text: String,
) {
    operator fun get(attribute: String): String? = attributes[attribute]

    fun child(name: QName): XmlElement? = children.firstOrNull { it.name == name }

    fun children(name: QName): List<XmlElement> = children.filter { it.name == name }
}

/** The root of a document. */
fun parseXml(document: String): XmlElement =
    try {
        refuseExcess(document)
        val reader = factory.createXMLStreamReader(StringReader(document))
        reader.requireUtf8(document)
        reader.toRoot()
        reader.element(depth = 1).also { reader.toEnd() }
    } catch (_: XMLStreamException) {
        throw malformed()
    }

// ANCHOR: factory

/**
 * Without these two lines a request of a hundred bytes can have the parser read a file of this machine, ask another one, or
 * unfold entities until the memory is full.
 */
private val factory =
    XMLInputFactory.newFactory().apply {
        setProperty(XMLInputFactory.SUPPORT_DTD, false)
        setProperty(XMLInputFactory.IS_SUPPORTING_EXTERNAL_ENTITIES, false)
        // A text in one piece.
        setProperty(XMLInputFactory.IS_COALESCING, true)
    }
// ANCHOR_END: factory

private const val MAX_DEPTH = 32

/** The most elements: one for each path of a large book. */
private const val MAX_ELEMENTS = 20_000

/** The most attributes of an element, and the most prefixes that are declared: a parser compares each with all others. */
private const val MAX_ATTRIBUTES = 100
private const val MAX_PREFIXES = 100

/** A `<` can be nowhere within a tag, so there is at most one tag between two of them. */
private fun refuseExcess(document: String) {
    val isCrowded = document.splitToSequence('<').any { tag -> tag.count { it == '=' } > MAX_ATTRIBUTES }
    val prefixes = document.occurrencesOf("xmlns:")
    if (isCrowded || prefixes > MAX_PREFIXES || document.occurrencesOf("<") > 2 * MAX_ELEMENTS) {
        throw ProblemException(HttpStatusCode.BadRequest, "the body must not have more than 20000 elements, 100 prefixes, or 100 attributes of an element")
    }
}

private fun String.occurrencesOf(text: String) = generateSequence(indexOf(text)) { indexOf(text, it + text.length) }.takeWhile { it >= 0 }.count()

private fun malformed() = ProblemException(HttpStatusCode.BadRequest, "the body must be XML, without a DTD, and not nested deeply")

private fun XMLStreamReader.requireUtf8(document: String) {
    val declared = characterEncodingScheme ?: return
    if (!isUtf8(declared, document.encodeToByteArray())) throw notUtf8()
}

internal fun notUtf8() = ProblemException(HttpStatusCode.UnsupportedMediaType, "the body must be in UTF-8")

/** The parser would skip a DTD. It has no place here at all. */
private fun XMLStreamReader.toRoot() {
    while (next() != XMLStreamConstants.START_ELEMENT) {
        if (eventType == XMLStreamConstants.DTD) throw malformed()
    }
}

private fun XMLStreamReader.element(depth: Int): XmlElement {
    if (depth > MAX_DEPTH) throw malformed()
    val name = name
    val attributes = (0 until attributeCount).associate { getAttributeLocalName(it) to getAttributeValue(it) }
    val children = mutableListOf<XmlElement>()
    val text = StringBuilder()
    while (true) {
        when (next()) {
            XMLStreamConstants.START_ELEMENT -> children += element(depth + 1)
            XMLStreamConstants.END_ELEMENT -> return XmlElement(name, attributes, children, text.toString())
            XMLStreamConstants.CHARACTERS, XMLStreamConstants.CDATA, XMLStreamConstants.SPACE -> text.append(getText())
            XMLStreamConstants.ENTITY_REFERENCE -> throw malformed()
        }
    }
}

private fun XMLStreamReader.toEnd() {
    while (hasNext()) next()
}
