// Contacts by their names, as many at a time as the service may hold. So a report can be on a whole book.
package workshop.contacts

/** The most contacts that the database is asked for at once. */
private const val PAGE = 1000

/** A walk through the contacts with these names. No connection is kept between two pages, however slowly a client reads. */
class Listing(
    private val contacts: Contacts,
    private val owner: String,
    names: Collection<String>,
    private val withVCards: Boolean,
) {
    private val names = ArrayDeque(names)

    /** The next names, each with its contact if there is one; null after the last page. */
    suspend fun next(): List<Pair<String, Contact?>>? {
        if (names.isEmpty()) return null
        val asked = List(minOf(PAGE, names.size)) { names.removeFirst() }
        val found = contacts.named(owner, asked, withVCards).associateBy { it.name }
        // For some there was no more room.
        val (later, now) = asked.partition { withVCards && found[it]?.let { contact -> contact.vcard == null } == true }
        names.addAll(later)
        return now.map { it to found[it] }
    }
}
