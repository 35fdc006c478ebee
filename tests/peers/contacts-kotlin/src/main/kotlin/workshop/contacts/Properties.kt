// The properties of each kind of resource, and how their values are written.
package workshop.contacts

import io.ktor.http.HttpStatusCode
import io.ktor.http.toHttpDate
import io.ktor.util.date.GMTDate
import workshop.service.ProblemException
import javax.xml.namespace.QName

/**
 * The properties of a kind of resource. Those that are [costly] are told only to those who ask for them by name, and those that a
 * resource [lacks] aren't told.
 */
class Properties<R>(
    private val values: Map<QName, XmlWriter.(R) -> Unit>,
    private val costly: Map<QName, XmlWriter.(R) -> Unit> = emptyMap(),
    private val lacks: R.(property: QName, wanted: Wanted) -> Boolean = { _, _ -> false },
) {
    private val nothing: XmlWriter.(R) -> Unit = {}

    fun select(wanted: Wanted): Selection<R> {
        val lacksIt: R.(QName) -> Boolean = { lacks(it, wanted) }
        return when (wanted) {
            Wanted.All -> Selection(values, missing = emptyList(), lacksIt)
            Wanted.Names -> Selection(values.mapValues { nothing }, missing = emptyList(), lacksIt)
            is Wanted.Only -> only(wanted.names, lacksIt)
        }
    }

    private fun only(
        names: List<QName>,
        lacksIt: R.(QName) -> Boolean,
    ): Selection<R> {
        val all = values + costly
        val (found, missing) = names.partition { it in all }
        return Selection(found.associateWith { all.getValue(it) }, missing, lacksIt, tellsMissing = true)
    }
}

/** Of a request's properties, those that a kind of resource has, and those that it does not have. */
class Selection<R>(
    private val found: Map<QName, XmlWriter.(R) -> Unit>,
    private val missing: List<QName>,
    private val lacks: R.(QName) -> Boolean,
    private val tellsMissing: Boolean = false,
) {
    /** Those that this resource has. */
    fun foundIn(resource: R) = found.filterKeys { !resource.lacks(it) }

    /** Those that it does not have. Who asks for all of them asks for those that there are. */
    fun missingIn(resource: R) = if (tellsMissing) missing + found.keys.filter { resource.lacks(it) } else emptyList()
}

/** Which properties a request asks for. */
sealed interface Wanted {
    data object All : Wanted

    data object Names : Wanted

    data class Only(
        val names: List<QName>,
        /** The version of vCards in which the contact itself is asked for. */
        val version: String? = null,
    ) : Wanted
}

/** The namespaces of the properties that are asked for. */
val Wanted.namespaces: Set<String> get() = (this as? Wanted.Only)?.names.orEmpty().mapTo(mutableSetOf()) { it.namespaceURI }

/** The most properties of a request, and how long their names may be together: an answer repeats them for each contact. */
private const val MAX_PROPERTIES = 100
private const val MAX_NAMES = 8192

/** The properties whose names these elements have, each once. */
fun namesOf(elements: List<XmlElement>): List<QName> {
    val names = elements.map { it.name }.distinct()
    if (names.size > MAX_PROPERTIES || names.sumOf { (it.namespaceURI + it.localPart).encodeToByteArray().size } > MAX_NAMES) {
        throw ProblemException(
            HttpStatusCode.BadRequest,
            "a request must not ask for more than 100 properties, whose names have 8192 bytes together",
        )
    }
    return names
}

/** What an element of a request says about that: `allprop`, `propname` or `prop`; null when it says nothing. */
fun XmlElement.wanted(): Wanted? =
    when {
        child(Dav.ALLPROP) != null -> Wanted.All
        child(Dav.PROPNAME) != null -> Wanted.Names
        else -> child(Dav.PROP)?.let { prop -> Wanted.Only(namesOf(prop.children), prop.child(CardDav.ADDRESS_DATA)?.get("version")) }
    }

val entryProperties =
    Properties<String>(
        mapOf(
            Dav.RESOURCETYPE to { element(Dav.COLLECTION) },
            Dav.CURRENT_USER_PRINCIPAL to { user -> element(Dav.HREF, principalOf(user)) },
        ),
    )

val principalProperties =
    Properties<String>(
        mapOf(
            Dav.RESOURCETYPE to {
                element(Dav.COLLECTION)
                element(Dav.PRINCIPAL)
            },
            Dav.DISPLAYNAME to { user -> text(user) },
            Dav.CURRENT_USER_PRINCIPAL to { user -> element(Dav.HREF, principalOf(user)) },
            Dav.PRINCIPAL_URL to { user -> element(Dav.HREF, principalOf(user)) },
            CardDav.ADDRESSBOOK_HOME_SET to { user -> element(Dav.HREF, homeOf(user)) },
        ),
    )

val homeProperties =
    Properties<String>(
        mapOf(
            Dav.RESOURCETYPE to { element(Dav.COLLECTION) },
            Dav.DISPLAYNAME to { user -> text(user) },
            Dav.CURRENT_USER_PRINCIPAL to { user -> element(Dav.HREF, principalOf(user)) },
            Dav.OWNER to { user -> element(Dav.HREF, principalOf(user)) },
            Dav.CURRENT_USER_PRIVILEGE_SET to { privileges() },
        ),
    )

val bookProperties =
    Properties<Book>(
        mapOf(
            Dav.RESOURCETYPE to {
                element(Dav.COLLECTION)
                element(CardDav.ADDRESSBOOK)
            },
            Dav.DISPLAYNAME to { text("contacts") },
            Dav.CURRENT_USER_PRINCIPAL to { book -> element(Dav.HREF, principalOf(book.owner)) },
            Dav.OWNER to { book -> element(Dav.HREF, principalOf(book.owner)) },
            Dav.CURRENT_USER_PRIVILEGE_SET to { privileges() },
            Dav.SUPPORTED_REPORT_SET to { REPORTS.forEach { element(Dav.SUPPORTED_REPORT) { element(Dav.REPORT) { element(it) } } } },
            Dav.SYNC_TOKEN to { book -> text(book.token.toString()) },
            CalendarServer.GETCTAG to { book -> text(book.token.toString()) },
            CardDav.SUPPORTED_ADDRESS_DATA to { listOf("3.0", "4.0").forEach { addressDataType(it) } },
            CardDav.SUPPORTED_COLLATION_SET to { COLLATIONS.forEach { element(CardDav.SUPPORTED_COLLATION, it) } },
            CardDav.MAX_RESOURCE_SIZE to { text(MAX_VCARD_BYTES.toString()) },
        ),
    )

private val contactValues: Map<QName, XmlWriter.(Contact) -> Unit> =
    mapOf(
        Dav.RESOURCETYPE to {},
        Dav.GETETAG to { contact -> text(contact.etag) },
        Dav.GETCONTENTTYPE to { text("text/vcard; charset=utf-8") },
        Dav.GETCONTENTLENGTH to { contact -> text(contact.length.toString()) },
        Dav.GETLASTMODIFIED to { contact -> text(contact.lastModified.orEmpty()) },
        Dav.CURRENT_USER_PRINCIPAL to { contact -> element(Dav.HREF, principalOf(contact.owner)) },
        Dav.OWNER to { contact -> element(Dav.HREF, principalOf(contact.owner)) },
        Dav.CURRENT_USER_PRIVILEGE_SET to { privileges() },
    )

val contactProperties = Properties(contactValues, lacks = Contact::lacks)

/** In a report, a contact can also have its vCard. */
val reportedProperties =
    Properties(
        contactValues,
        costly = mapOf(CardDav.ADDRESS_DATA to { contact -> addressData(contact.vcard.orEmpty()) }),
        lacks = Contact::lacks,
    )

/**
 * Every client has to read version 3.0 (RFC 6352, section 3), so a vCard of that version is for all of them. One that asks for 3.0
 * may know no other.
 */
private fun Contact.lacks(
    property: QName,
    wanted: Wanted,
): Boolean =
    when (property) {
        Dav.GETLASTMODIFIED -> changed == null
        CardDav.ADDRESS_DATA -> (wanted as? Wanted.Only)?.version == "3.0" && isVersion4(vcard.orEmpty())
        else -> false
    }

/** As HTTP writes a moment. */
val Contact.lastModified: String? get() = changed?.let { GMTDate(it.toEpochMilli()).toHttpDate() }

/** The reports that an address book answers. */
private val REPORTS = listOf(CardDav.ADDRESSBOOK_MULTIGET, CardDav.ADDRESSBOOK_QUERY, Dav.SYNC_COLLECTION)

private fun XmlWriter.privileges() = Dav.PRIVILEGES.forEach { element(Dav.PRIVILEGE) { element(it) } }

/** A contact comes in the version in which it was put, which is 3.0 unless it is said. */
private fun XmlWriter.addressData(vcard: String) {
    if (isVersion4(vcard)) {
        attribute("content-type", "text/vcard")
        attribute("version", "4.0")
    }
    text(vcard)
}

private val COLLATIONS = listOf("i;ascii-casemap", "i;unicode-casemap")

private fun XmlWriter.addressDataType(version: String) =
    element(CardDav.ADDRESS_DATA_TYPE) {
        attribute("content-type", "text/vcard")
        attribute("version", version)
    }
