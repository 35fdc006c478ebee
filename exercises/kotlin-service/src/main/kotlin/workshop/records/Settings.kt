// Reads the settings from environment variables, and says in one sentence per variable what is wrong with them.
package workshop.records

import io.ktor.http.URLParserException
import io.ktor.http.Url
import org.postgresql.PGProperty
import org.slf4j.event.Level
import kotlin.math.max
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds

// ANCHOR: settings

/** What the service is told from outside. Plain classes, not data classes: a `toString` would print the secrets. */
class Settings(
    val address: String,
    val port: Int,
    val apiKeys: List<String>,
    val database: DatabaseSettings,
    val repository: Repository,
    val exportLimits: ExportLimits,
    /** Null when there is no service to ask for prices. */
    val prices: PriceSettings?,
    val peers: PeerSettings,
    val logLevel: Level,
) {
    companion object {
        /** @throws InvalidSettings naming every wrong variable at once */
        fun from(environment: Map<String, String>): Settings {
            val read = EnvironmentReader(environment)
            val address = read.text("ADDRESS", default = "127.0.0.1")
            val port = read.number("PORT", default = 8080, range = 0..65_535)
            val apiKeys = read.secrets("API_KEYS")
            val url = read.databaseUrl("DATABASE_URL")
            val poolSize = read.number("DATABASE_POOL_SIZE", default = 10, range = 1..1_000)
            val timeout = read.number("DATABASE_TIMEOUT_MS", default = 1_000, range = 250..60_000)
            val migrationTimeout = read.number("MIGRATION_TIMEOUT_MS", default = 600_000, range = 250..3_600_000)
            val repository = read.choice("RECORD_REPOSITORY", default = Repository.EXPOSED)
            val exportTimeout = read.number("EXPORT_TIMEOUT_MS", default = 10_000, range = 250..600_000)
            val prices = read.prices()
            val peers = read.peers()
            val logLevel = read.choice("LOG_LEVEL", default = Level.WARN)
            if (url == null || read.complaints.isNotEmpty()) throw InvalidSettings(read.complaints)
            val database = DatabaseSettings(url, poolSize, timeout.milliseconds, migrationTimeout.milliseconds)
            // Exports leave half of the pool to everybody else.
            val exports = ExportLimits(max(1, poolSize / 2), database.timeout, exportTimeout.milliseconds)
            return Settings(address, port, apiKeys, database, repository, exports, prices, peers, logLevel)
        }
    }
}

/** With what the database is asked. */
enum class Repository { EXPOSED, JDBC }

/**
 * How to reach the database: [poolSize] connections at most, no request waits longer than [timeout] for one, and no migration
 * longer than [migrationTimeout] for an answer.
 */
class DatabaseSettings(
    val url: DatabaseUrl,
    val poolSize: Int,
    val timeout: Duration,
    val migrationTimeout: Duration,
)
// ANCHOR_END: settings

/**
 * How to ask the service at [url] for prices: [limit] calls at a time, none longer than [timeout], and no request waits longer
 * than [wait] for its turn, or longer than [deadline] for everything.
 */
class PriceSettings(
    val url: String,
    val limit: Int,
    val wait: Duration,
    val timeout: Duration,
    val deadline: Duration,
    val waiting: Waiting,
)

/** At most [queue] messages wait for a peer, and each is asked every [pingPeriod] whether it is still there. */
class PeerSettings(
    val queue: Int,
    val pingPeriod: Duration,
)

/** What waits while a call is under way: a coroutine, one of a fixed number of threads, or a virtual thread. */
enum class Waiting { COROUTINES, THREADS, VIRTUAL }

/** The parts of `postgres://user:password@host:port/database?option=value`, percent-decoded. */
class DatabaseUrl(
    val host: String,
    val port: Int,
    val database: String,
    val user: String?,
    val password: String?,
    val options: Map<String, String>,
) {
    companion object {
        /** What a URL has to look like, for messages. */
        const val SHAPE = "postgres://user:password@host:port/database"

        private const val DEFAULT_PORT = 5432
        private val SCHEMES = setOf("postgres", "postgresql")

        /** Null when [text] is no such URL. It needs a host: pgjdbc knows no Unix sockets. */
        fun parse(text: String): DatabaseUrl? {
            val url =
                try {
                    Url(text)
                } catch (_: URLParserException) {
                    return null
                }
            val database = url.segments.singleOrNull()
            if (url.protocol.name !in SCHEMES || url.host.isEmpty() || database.isNullOrEmpty()) return null
            return DatabaseUrl(
                host = url.host,
                port = url.specifiedPort.takeIf { it > 0 } ?: DEFAULT_PORT,
                database = database,
                user = url.user,
                password = url.password,
                options = url.parameters.entries().associate { (name, values) -> name to values.last() },
            )
        }
    }
}

/** The environment describes no service that could start: one sentence for each wrong variable. */
class InvalidSettings(
    val complaints: List<String>,
) : Exception(complaints.joinToString("\n"))

/** A host, perhaps with a port, and perhaps a path below which everything is. */
private val PLAIN_URL = Regex("http://[^/?#\\s]+(/[^?#\\s]*)?")

/** The JDK from which on there are virtual threads. */
private const val FIRST_WITH_VIRTUAL_THREADS = 21

/** Reads variables and goes on after a wrong one, so that all of them can be fixed in one go. */
private class EnvironmentReader(
    private val environment: Map<String, String>,
) {
    val complaints = mutableListOf<String>()

    fun text(
        name: String,
        default: String,
    ): String =
        (environment[name] ?: default).also {
            if (it.isBlank()) complaints += "$name is empty: give it a value, or unset it to get $default."
        }

    fun number(
        name: String,
        default: Int,
        range: IntRange,
    ): Int {
        val text = environment[name] ?: return default
        val number = text.toIntOrNull()
        if (number == null || number !in range) {
            complaints += "$name must be a whole number from ${range.first} to ${range.last}, but is \"$text\"."
        }
        return number ?: default
    }

    inline fun <reified T : Enum<T>> choice(
        name: String,
        default: T,
    ): T {
        val text = environment[name] ?: return default
        val choices = enumValues<T>().associateBy { it.name.lowercase() }
        val chosen = choices[text.lowercase()]
        if (chosen == null) complaints += "$name must be one of ${choices.keys.joinToString()}, but is \"$text\"."
        return chosen ?: default
    }

    /** No default: everyone who knows this program would know it, too. No sentence repeats what is read here. */
    fun secrets(name: String): List<String> {
        val entries = environment[name]?.split(',')?.map { it.trim() }
        if (entries == null) {
            complaints += "$name is not set: it must be the keys to accept, separated by commas."
        } else if (entries.any { it.isEmpty() }) {
            complaints += "$name has an empty entry: separate the keys by single commas."
        }
        return entries.orEmpty()
    }

    fun prices(): PriceSettings? {
        val url = httpUrl("UPSTREAM_URL")
        val limit = number("UPSTREAM_LIMIT", default = 64, range = 1..10_000)
        val wait = number("UPSTREAM_WAIT_MS", default = 250, range = 250..60_000)
        val timeout = number("UPSTREAM_TIMEOUT_MS", default = 1_000, range = 250..60_000)
        val deadline = number("PRICE_DEADLINE_MS", default = 1_500, range = 250..60_000)
        val waiting = choice("UPSTREAM_WAITING", default = Waiting.COROUTINES)
        if (waiting == Waiting.VIRTUAL && Runtime.version().feature() < FIRST_WITH_VIRTUAL_THREADS) {
            complaints += "UPSTREAM_WAITING is virtual, which takes a JDK from $FIRST_WITH_VIRTUAL_THREADS on."
        }
        if (url == null) return null
        return PriceSettings(url, limit, wait.milliseconds, timeout.milliseconds, deadline.milliseconds, waiting)
    }

    fun peers(): PeerSettings {
        val queue = number("PEER_QUEUE", default = 256, range = 1..1_000_000)
        val pingPeriod = number("PEER_PING_MS", default = 20_000, range = 250..600_000)
        return PeerSettings(queue, pingPeriod.milliseconds)
    }

    /** Without a slash at its end: paths begin with one. */
    private fun httpUrl(name: String): String? {
        val text = environment[name] ?: return null
        if (!PLAIN_URL.matches(text)) complaints += "$name must be of the shape http://host:port, but is \"$text\"."
        return text.trimEnd('/')
    }

    fun databaseUrl(name: String): DatabaseUrl? {
        val text = environment[name]
        val url = text?.let { DatabaseUrl.parse(it) }
        if (text == null) {
            complaints += "$name is not set: it must be the database to use, ${DatabaseUrl.SHAPE}."
        } else if (url == null) {
            // A mistyped URL may still hold a password, so the sentence does not repeat it.
            complaints += "$name is not of the shape ${DatabaseUrl.SHAPE}."
        } else {
            val unknown = url.options.keys.filter { PGProperty.forName(it) == null }
            if (unknown.isNotEmpty()) complaints += "$name has options that pgjdbc does not know: ${unknown.joinToString()}."
        }
        return url
    }
}
