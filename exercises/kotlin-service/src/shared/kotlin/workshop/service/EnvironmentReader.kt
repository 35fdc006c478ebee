// Reads settings from environment variables, and collects one error message per invalid variable.
package workshop.service

import org.postgresql.PGProperty
import java.util.Properties
import kotlin.time.Duration.Companion.milliseconds

/** The environment is invalid: one sentence for each wrong variable. */
class InvalidSettings(
    val complaints: List<String>,
) : Exception(complaints.joinToString("\n"))

/** Reads variables, and goes on after a wrong one, so that all of them can be fixed in one go. */
class EnvironmentReader(
    private val environment: Map<String, String>,
) {
    val complaints = mutableListOf<String>()

    operator fun get(name: String): String? = environment[name]

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

    fun <T : Enum<T>> choice(
        name: String,
        default: T,
    ): T {
        val text = environment[name] ?: return default
        val choices = default.declaringJavaClass.enumConstants.associateBy { it.name.lowercase() }
        val chosen = choices[text.lowercase()]
        if (chosen == null) complaints += "$name must be one of ${choices.keys.joinToString()}, but is \"$text\"."
        return chosen ?: default
    }

    // ANCHOR: database
    /** Null when the URL is missing or wrong. A migration may wait [migrationTimeoutMs], unless the environment says otherwise. */
    fun database(
        applicationName: String,
        migrationTimeoutMs: Int = 3_600_000,
    ): DatabaseSettings? {
        val url = databaseUrl("DATABASE_URL")
        val poolSize = number("DATABASE_POOL_SIZE", default = 10, range = 1..1_000)
        val timeout = number("DATABASE_TIMEOUT_MS", default = 1_000, range = 250..60_000)
        val migrationTimeout = number("MIGRATION_TIMEOUT_MS", default = migrationTimeoutMs, range = 250..86_400_000)
        if (url == null) return null
        return DatabaseSettings(applicationName, url, poolSize, timeout.milliseconds, migrationTimeout.milliseconds)
    }
    // ANCHOR_END: database

    private fun databaseUrl(name: String): DatabaseUrl? {
        val text = environment[name]
        val url = text?.let { DatabaseUrl.parse(it) }
        if (text == null) {
            complaints += "$name is not set: it must be the database to use, ${DatabaseUrl.SHAPE}."
        } else if (url == null) {
            // A mistyped URL can still contain a password, so the message doesn't repeat the URL.
            complaints += "$name is not of the shape ${DatabaseUrl.SHAPE}."
        } else {
            // Unknown options are errors: a mistyped sslmode would mean a connection without TLS.
            val unknown = url.options.keys.filter { PGProperty.forName(it) == null }
            if (unknown.isNotEmpty()) complaints += "$name has options that pgjdbc does not know: ${unknown.joinToString()}."
            complaints +=
                url.options.mapNotNull { (option, value) ->
                    val choices = PGProperty.forName(option)?.toDriverPropertyInfo(Properties())?.choices?.takeUnless { value in it }
                    choices?.let { "$name has an option $option that must be one of ${it.joinToString()}, but is \"$value\"." }
                }
        }
        return url
    }
}
