// The names of WebDAV's and CardDAV's elements.
package workshop.contacts

import javax.xml.namespace.QName

/** RFC 4918, RFC 3253, RFC 3744 and RFC 6578. */
object Dav {
    const val NAMESPACE = "DAV:"

    val ALLPROP = dav("allprop")
    val CANNOT_MODIFY_PROTECTED_PROPERTY = dav("cannot-modify-protected-property")
    val COLLECTION = dav("collection")
    val CURRENT_USER_PRINCIPAL = dav("current-user-principal")
    val CURRENT_USER_PRIVILEGE_SET = dav("current-user-privilege-set")
    val DISPLAYNAME = dav("displayname")
    val ERROR = dav("error")
    val GETCONTENTLENGTH = dav("getcontentlength")
    val GETCONTENTTYPE = dav("getcontenttype")
    val GETETAG = dav("getetag")
    val GETLASTMODIFIED = dav("getlastmodified")
    val HREF = dav("href")
    val LIMIT = dav("limit")
    val MULTISTATUS = dav("multistatus")
    val NRESULTS = dav("nresults")
    val NUMBER_OF_MATCHES_WITHIN_LIMITS = dav("number-of-matches-within-limits")
    val OWNER = dav("owner")
    val PRINCIPAL = dav("principal")
    val PRINCIPAL_URL = dav("principal-URL")
    val PRIVILEGE = dav("privilege")
    val PROP = dav("prop")
    val PROPFIND = dav("propfind")
    val PROPFIND_FINITE_DEPTH = dav("propfind-finite-depth")
    val PROPERTYUPDATE = dav("propertyupdate")
    val PROPNAME = dav("propname")
    val PROPSTAT = dav("propstat")
    val REPORT = dav("report")
    val RESOURCETYPE = dav("resourcetype")
    val RESPONSE = dav("response")
    val STATUS = dav("status")
    val SUPPORTED_REPORT = dav("supported-report")
    val SUPPORTED_REPORT_SET = dav("supported-report-set")
    val SYNC_COLLECTION = dav("sync-collection")
    val SYNC_LEVEL = dav("sync-level")
    val SYNC_TOKEN = dav("sync-token")
    val SYNC_TRAVERSAL_SUPPORTED = dav("sync-traversal-supported")
    val VALID_SYNC_TOKEN = dav("valid-sync-token")

    /** Each one is an empty element of this name. */
    val PRIVILEGES = listOf("read", "write", "bind", "unbind").map { dav(it) }

    private fun dav(name: String) = QName(NAMESPACE, name)
}

/** RFC 6352. */
object CardDav {
    const val NAMESPACE = "urn:ietf:params:xml:ns:carddav"

    val ADDRESSBOOK = cardDav("addressbook")
    val ADDRESSBOOK_HOME_SET = cardDav("addressbook-home-set")
    val ADDRESSBOOK_MULTIGET = cardDav("addressbook-multiget")
    val ADDRESSBOOK_QUERY = cardDav("addressbook-query")
    val ADDRESS_DATA = cardDav("address-data")
    val ADDRESS_DATA_TYPE = cardDav("address-data-type")
    val FILTER = cardDav("filter")
    val IS_NOT_DEFINED = cardDav("is-not-defined")
    val LIMIT = cardDav("limit")
    val MAX_RESOURCE_SIZE = cardDav("max-resource-size")
    val NO_UID_CONFLICT = cardDav("no-uid-conflict")
    val NRESULTS = cardDav("nresults")
    val PROP_FILTER = cardDav("prop-filter")
    val SUPPORTED_ADDRESS_DATA = cardDav("supported-address-data")
    val SUPPORTED_COLLATION = cardDav("supported-collation")
    val SUPPORTED_COLLATION_SET = cardDav("supported-collation-set")
    val SUPPORTED_FILTER = cardDav("supported-filter")
    val TEXT_MATCH = cardDav("text-match")
    val VALID_ADDRESS_DATA = cardDav("valid-address-data")

    private fun cardDav(name: String) = QName(NAMESPACE, name)
}

/** What clients asked for before there were sync tokens. */
object CalendarServer {
    const val NAMESPACE = "http://calendarserver.org/ns/"

    val GETCTAG = QName(NAMESPACE, "getctag")
}
