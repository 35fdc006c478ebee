// Writes the XML of an answer.
package workshop.contacts

import io.ktor.http.ContentType
import io.ktor.http.HttpStatusCode
import io.ktor.http.withCharset
import io.ktor.server.application.ApplicationCall
import io.ktor.server.response.respondBytes
import java.io.ByteArrayOutputStream
import javax.xml.namespace.QName
import javax.xml.stream.XMLOutputFactory

/** A document with this root, as UTF-8. */
fun xml(
    root: QName,
    content: XmlWriter.() -> Unit,
): ByteArray {
    val document = ByteArrayOutputStream()
    XmlWriter(document).document(root, content)
    return document.toByteArray()
}

suspend fun ApplicationCall.respondXml(
    status: HttpStatusCode,
    root: QName,
    content: XmlWriter.() -> Unit,
) = respondBytes(xml(root, content), ContentType.Application.Xml.withCharset(Charsets.UTF_8), status)

class XmlWriter(
    document: ByteArrayOutputStream,
) {
    private val writer = factory.createXMLStreamWriter(document, "UTF-8")

    internal fun document(
        root: QName,
        content: XmlWriter.() -> Unit,
    ) {
        writer.writeStartDocument("UTF-8", "1.0")
        start(root)
        PREFIXES.forEach { (namespace, prefix) -> writer.writeNamespace(prefix, namespace) }
        content()
        writer.writeEndDocument()
        writer.close()
    }

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
        text.split('\r').forEachIndexed { index, part ->
            if (index > 0) writer.writeEntityRef("#13")
            writer.writeCharacters(part)
        }
    }

    private fun start(name: QName) {
        val namespace = name.namespaceURI
        val prefix = PREFIXES[namespace]
        when {
            prefix != null -> {
                writer.writeStartElement(prefix, name.localPart, namespace)
            }

            namespace.isEmpty() -> {
                writer.writeStartElement(name.localPart)
            }

            // What a client has made up.
            else -> {
                writer.writeStartElement("X", name.localPart, namespace)
                writer.writeNamespace("X", namespace)
            }
        }
    }

    private companion object {
        val factory: XMLOutputFactory = XMLOutputFactory.newFactory()
        val PREFIXES = mapOf(Dav.NAMESPACE to "D", CardDav.NAMESPACE to "C", CalendarServer.NAMESPACE to "CS")
    }
}
