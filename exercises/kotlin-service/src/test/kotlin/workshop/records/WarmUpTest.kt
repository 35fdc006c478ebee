// The Kotlin code of exercise 0, as readers would write it, and tests of the claims on its page.
package workshop.records.warmup

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.yield
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Test
import java.util.concurrent.atomic.AtomicInteger

data class Settings(
    val host: String,
    val port: Int,
)

class Service(
    val settings: Settings,
)

// ANCHOR: first-lines
fun label(tag: Int): String = "tag $tag"

fun isTag(number: Int): Boolean = number >= 1

fun distance(
    from: Int,
    to: Int,
): Int = if (from < to) to - from else from - to
// ANCHOR_END: first-lines

// ANCHOR: lists-and-loops
fun hours(stages: List<Int>): Int {
    var sum = 0
    for (stage in stages) sum += stage
    return sum
}

fun beginningWith(
    letter: Char,
    huts: List<String>,
): List<String> {
    val found = mutableListOf<String>()
    for (hut in huts) {
        if (hut.startsWith(letter)) found.add(hut)
    }
    return found
}
// ANCHOR_END: lists-and-loops

// ANCHOR: values-move
fun startAndTell(settings: Settings): Pair<Service, String> {
    val service = Service(settings)
    return service to "listening on ${settings.host}:${settings.port}"
}
// ANCHOR_END: values-move

// ANCHOR: borrow-and-mutate
fun removeInvalid(ids: MutableList<Int>): Int {
    val before = ids.size
    for (id in ids) {
        if (id < 1) ids.remove(id)
    }
    return before - ids.size
}
// ANCHOR_END: borrow-and-mutate

// ANCHOR: str-and-string
fun masked(key: String): String = key.take(2) + "…"

fun logLine(
    method: String,
    path: String,
    key: String,
): String = method + " " + path + " with " + masked(key)
// ANCHOR_END: str-and-string

// ANCHOR: structs-and-impl
data class PageQuery(
    val after: Int = 0,
    val limit: Int = 100,
)

val small = PageQuery(limit = 20)
val next = small.copy(after = 7)
// ANCHOR_END: structs-and-impl

data class Record(
    val value: String,
    val visited: Boolean,
)

// ANCHOR: option-and-match
fun key(
    header: String?,
    query: String?,
): String? = header ?: query

fun shown(record: Record?): String {
    if (record == null) return "unknown tag"
    val mark = if (record.visited) " (visited)" else ""
    return record.value + mark
}
// ANCHOR_END: option-and-match

class NotFound(
    id: Int,
) : Exception("no record has the id $id")

// ANCHOR: result-and-from
fun existingId(text: String): Int {
    val id = text.toInt() // NumberFormatException
    if (id !in 1..10_000) throw NotFound(id)
    return id
}
// ANCHOR_END: result-and-from

// ANCHOR: enums
sealed interface Failure {
    data class BadRequest(
        val reason: String,
    ) : Failure

    data object NoKey : Failure

    data class NotFound(
        val id: Int,
    ) : Failure
}

fun status(failure: Failure): Int =
    when (failure) {
        is Failure.BadRequest -> 400
        is Failure.NoKey -> 401
        is Failure.NotFound -> 404
    }
// ANCHOR_END: enums

// ANCHOR: closures-and-iterators
fun missing(
    wanted: List<Int>,
    there: List<Int>,
): List<Int> = wanted.filter { it !in there }

fun detail(missing: List<Int>): String = "no record has the id " + missing.joinToString()
// ANCHOR_END: closures-and-iterators

// ANCHOR: traits-and-derives
interface Label {
    val label: String
}

data class TagId(
    val number: Int,
) : Label {
    override val label get() = "tag $number"
}

fun <T : Label> firstRepeated(items: List<T>): String? {
    val seen = mutableSetOf<T>()
    return items.firstOrNull { !seen.add(it) }?.label
}
// ANCHOR_END: traits-and-derives

// ANCHOR: naming-a-loan
fun parameter(
    query: String,
    name: String,
): String =
    query
        .split('&')
        .map { it.split('=', limit = 2) }
        .firstOrNull { it.size == 2 && it[0] == name }
        ?.get(1)
        ?: ""
// ANCHOR_END: naming-a-loan

// ANCHOR: sharing
class Visits {
    private val byTag = mutableMapOf<Int, Int>()

    fun add(tag: Int) {
        byTag[tag] = of(tag) + 1
    }

    fun of(tag: Int): Int = byTag[tag] ?: 0
}
// ANCHOR_END: sharing

// ANCHOR: futures
fun CoroutineScope.read(inUse: AtomicInteger) =
    launch {
        inUse.incrementAndGet()
        try {
            awaitCancellation() // a database that never answers
        } finally {
            inUse.decrementAndGet()
        }
    }
// ANCHOR_END: futures

// ANCHOR: a-type-of-its-own
@JvmInline
value class Meters(
    val value: Int,
) {
    override fun toString(): String = if (value < 1000) "$value m" else "%d %03d m".format(value / 1000, value % 1000)
}

fun climb(heights: List<Meters>): Meters? {
    val first = heights.firstOrNull() ?: return null
    val climbed = heights.last().value - first.value
    return if (climbed >= 0) Meters(climbed) else null
}
// ANCHOR_END: a-type-of-its-own

// ANCHOR: several-of-a-kind
interface Notice {
    fun text(): String
}

class Storm(
    private val hour: Int,
) : Notice {
    override fun text(): String = "storm from $hour o'clock"
}

class Closed(
    private val hut: String,
) : Notice {
    override fun text(): String = "$hut is closed"
}

fun board(
    closed: String?,
    storm: Int?,
): List<Notice> = listOfNotNull(closed?.let(::Closed), storm?.let(::Storm))

fun String.asSign(): String = if (isEmpty()) "" else replaceFirstChar(Char::uppercase) + "."
// ANCHOR_END: several-of-a-kind

// ANCHOR: changed-from-inside
class Lookup(
    val language: String = "en",
    val attempts: Int = 1,
)

class Names(
    private val lookUp: (Int) -> String,
) {
    private val known = HashMap<Int, String>()

    fun of(tag: Int): String = known.getOrPut(tag) { lookUp(tag) }
}
// ANCHOR_END: changed-from-inside

class WarmUpTest {
    @Test
    fun `a list that changes below a loop throws, or skips an element`() {
        assertThrows(ConcurrentModificationException::class.java) { removeInvalid(mutableListOf(0, 7, 9)) }
        val skipped = mutableListOf(0, -1)
        assertEquals(1, removeInvalid(skipped))
        assertEquals(listOf(-1), skipped)
    }

    @Test
    fun `what the katas ask for is what the Kotlin does`() {
        assertEquals("tag 4711", label(4711))
        assertEquals("2 046 m", Meters(2_046).toString())
        assertEquals(Meters(340), climb(listOf(Meters(980), Meters(1_500), Meters(1_320))))
        assertNull(climb(listOf(Meters(980), Meters(400))))
        assertEquals(listOf("Olavsbu is closed"), board("Olavsbu", storm = null).map { it.text() })
        assertEquals("Storm from 9 o'clock.", board(closed = null, storm = 9).single().text().asSign())
        assertEquals(3, Lookup(attempts = 3).attempts)
        assertEquals("hut 7", Names { "hut $it" }.of(7))
        assertEquals(false, isTag(0))
        assertEquals(listOf(7, 7), listOf(distance(3, 10), distance(10, 3)))
        assertEquals(6, hours(listOf(2, 3, 1)))
        assertEquals(listOf("Bitihorn"), beginningWith('B', listOf("Bitihorn", "Olavsbu")))
        assertEquals("listening on localhost:8080", startAndTell(Settings("localhost", 8080)).second)
        assertEquals("GET /read/7 with va…", logLine("GET", "/read/7", "valid_key"))
        assertEquals(PageQuery(after = 7, limit = 20), next)
        assertEquals("a", key("a", "b"))
        assertEquals("Trail 7 (visited)", shown(Record("Trail 7", visited = true)))
        assertThrows(NumberFormatException::class.java) { existingId("seven") }
        assertThrows(NotFound::class.java) { existingId("0") }
        assertEquals(404, status(Failure.NotFound(7)))
        assertEquals("no record has the id 9, 8", detail(missing(listOf(9, 7, 8), listOf(5, 6, 7))))
        assertEquals("tag 7", firstRepeated(listOf(TagId(7), TagId(9), TagId(7))))
        assertNull(firstRepeated(listOf(TagId(7), TagId(9))))
        assertEquals("7", parameter("limit=50&after=7", "after"))
        assertEquals("", parameter("limit=50&after=7", "aft"))
        assertEquals(1, Visits().apply { add(7) }.of(7))
    }

    @Test
    fun `a read that is cancelled gives its connection back`() =
        runBlocking {
            val inUse = AtomicInteger()
            val reading = read(inUse)
            yield()
            assertEquals(1, inUse.get())
            reading.cancelAndJoin()
            assertEquals(0, inUse.get())
        }
}
