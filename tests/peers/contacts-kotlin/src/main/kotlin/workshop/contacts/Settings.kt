// Reads the settings from environment variables, and says in one sentence per variable what is wrong with them.
package workshop.contacts

import io.ktor.http.URLParserException
import io.ktor.http.Url
import org.postgresql.PGProperty
import org.slf4j.event.Level
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds

/** What the service is told from outside. Plain classes, not data classes: a `toString` would print the secrets. */
class Settings(
    val address: String,
    val port: Int,
    val users: List<User>,
    val database: DatabaseSettings,
    val logLevel: Level,
) {
    companion object {
        /** @throws InvalidSettings naming every wrong variable at once */
        fun from(environment: Map<String, String>): Settings {
            val read = EnvironmentReader(environment)
            val address = read.text("ADDRESS", default = "127.0.0.1")
            val port = read.number("PORT", default = 8080, range = 0..65_535)
            val users = read.users("CONTACTS_USERS")
            val url = read.databaseUrl("DATABASE_URL")
            val poolSize = read.number("DATABASE_POOL_SIZE", default = 10, range = 1..1_000)
            val timeout = read.number("DATABASE_TIMEOUT_MS", default = 1_000, range = 250..60_000)
            val logLevel = read.choice("LOG_LEVEL", default = Level.WARN)
            if (url == null || read.complaints.isNotEmpty()) throw InvalidSettings(read.complaints)
            return Settings(address, port, users, DatabaseSettings(url, poolSize, timeout.milliseconds), logLevel)
        }
    }
}

/** Someone who has an address book here. */
class User(
    val name: String,
    val password: String,
)

/** How to reach the database: [poolSize] connections at most, and no request waits longer than [timeout] for one. */
class DatabaseSettings(
    val url: DatabaseUrl,
    val poolSize: Int,
    val timeout: Duration,
)

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

private val USER_NAME = Regex("[a-z0-9-]{1,32}")

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
    fun users(name: String): List<User> {
        val text = environment[name]
        if (text == null) {
            complaints += "$name is not set: it must be the users, such as ada:secret,grace:secret2."
            return emptyList()
        }
        val users = text.split(',').mapNotNull { userIn(it) }
        if (users.size <= text.count { it == ',' }) {
            complaints += "$name has an entry that is no name:password: a name is 1 to 32 of a-z, 0-9 and hyphens."
        }
        if (users.distinctBy { it.name }.size < users.size) complaints += "$name has a name twice."
        return users
    }

    /** A password may have colons in it. */
    private fun userIn(entry: String): User? {
        val (name, password) = entry.split(':', limit = 2).takeIf { it.size == 2 } ?: return null
        return User(name, password).takeIf { USER_NAME.matches(name) && password.isNotEmpty() }
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
