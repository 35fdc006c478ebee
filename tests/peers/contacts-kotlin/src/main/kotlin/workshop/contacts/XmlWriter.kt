// Writes the XML of an answer.
package workshop.contacts

import io.ktor.http.ContentType
import io.ktor.http.HttpStatusCode
import io.ktor.http.withCharset
import io.ktor.server.application.ApplicationCall
import io.ktor.server.response.respondBytes
import java.io.ByteArrayOutputStream
import java.io.OutputStream
import javax.xml.namespace.QName
import javax.xml.stream.XMLOutputFactory

val XML = ContentType.Application.Xml.withCharset(Charsets.UTF_8)

/** A short document with this root. */
suspend fun ApplicationCall.respondXml(
    status: HttpStatusCode,
    root: QName,
    content: XmlWriter.() -> Unit,
) {
    val document = ByteArrayOutputStream()
    val writer = XmlWriter(document)
    writer.begin(root)
    writer.content()
    writer.end()
    respondBytes(document.toByteArray(), XML, status)
}

/** Writes a document as UTF-8. Namespaces that a client has made up are declared once, at the root. */
class XmlWriter(
    document: OutputStream,
    namespaces: Collection<String> = emptyList(),
) {
    // To a stream, the JDK's writer would hand over each byte by itself.
    private val writer = factory.createXMLStreamWriter(document.bufferedWriter())
    private val prefixes = PREFIXES + namespaces.filter { it.isNotEmpty() && it !in PREFIXES }.mapIndexed { place, it -> it to "x$place" }

    fun begin(root: QName) {
        writer.writeStartDocument("UTF-8", "1.0")
        start(root)
        prefixes.filterValues { it != "xml" }.forEach { (namespace, prefix) -> writer.writeNamespace(prefix, namespace) }
    }

    fun end() {
        writer.writeEndDocument()
        writer.close()
    }

    /** Hands over what was written so far. */
    fun flush() = writer.flush()

    fun element(
        name: QName,
        content: XmlWriter.() -> Unit = {},
    ) {
        start(name)
        content()
        writer.writeEndElement()
    }

    fun element(
        name: QName,
        text: String,
    ) = element(name) { text(text) }

    fun attribute(
        name: String,
        value: String,
    ) = writer.writeAttribute(name, value)

    /** A parser would read the line break of a vCard, CR LF, as LF. So a CR is written as a reference. */
    fun text(text: String) {
        var start = 0
        while (true) {
            val end = text.indexOf('\r', start)
            writer.writeCharacters(if (end < 0) text.substring(start) else text.substring(start, end))
            if (end < 0) return
            writer.writeEntityRef("#13")
            start = end + 1
        }
    }

    private fun start(name: QName) {
        val namespace = name.namespaceURI
        if (namespace.isEmpty()) {
            writer.writeStartElement(name.localPart)
        } else {
            writer.writeStartElement(prefixes.getValue(namespace), name.localPart, namespace)
        }
    }

    private companion object {
        val factory: XMLOutputFactory = XMLOutputFactory.newFactory()
        val PREFIXES =
            mapOf(
                Dav.NAMESPACE to "D",
                CardDav.NAMESPACE to "C",
                CalendarServer.NAMESPACE to "CS",
                "http://www.w3.org/XML/1998/namespace" to "xml",
            )
    }
}
