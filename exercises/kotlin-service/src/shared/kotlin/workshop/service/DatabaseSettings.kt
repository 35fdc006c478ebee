// The connection settings for the database.
package workshop.service

import io.ktor.http.URLParserException
import io.ktor.http.Url
import kotlin.time.Duration

/**
 * How to reach the database: [poolSize] connections at most, no request waits longer than [timeout] for one, and no migration
 * longer than [migrationTimeout] for an answer. The database lists the connections under [applicationName].
 */
class DatabaseSettings(
    val applicationName: String,
    val url: DatabaseUrl,
    val poolSize: Int,
    val timeout: Duration,
    val migrationTimeout: Duration,
)

/** The parts of `postgres://user:password@host:port/database?option=value`, percent-decoded. The options as pgjdbc calls them. */
class DatabaseUrl(
    val host: String,
    val port: Int,
    val database: String,
    val user: String?,
    val password: String?,
    val options: Map<String, String>,
) {
    companion object {
        /** The form of a URL, for messages. */
        const val SHAPE = "postgres://user:password@host:port/database"

        private const val DEFAULT_PORT = 5432
        private val SCHEMES = setOf("postgres", "postgresql")

        /** Null if [text] isn't such a URL. It needs a host: pgjdbc doesn't support Unix sockets. */
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
                options =
                    url.parameters
                        .entries()
                        .mapNotNull { (name, values) -> pgjdbcOption(name, values.last()) }
                        .toMap(),
            )
        }

        /** pgjdbc's name for an option of libpq: providers hand out URLs for that one. Null for those that mean nothing here. */
        private fun pgjdbcOption(
            name: String,
            value: String,
        ): Pair<String, String>? =
            when (name) {
                in MEANINGLESS -> null
                "application_name" -> "ApplicationName" to value
                "channel_binding" -> "channelBinding" to value
                "gssencmode" -> "gssEncMode" to value
                "target_session_attrs" -> "targetServerType" to (SERVER_TYPES[value] ?: value)
                else -> name to value
            }

        /** The service has its own time limits, and reads UTF-8. */
        private val MEANINGLESS =
            setOf(
                "client_encoding",
                "connect_timeout",
                "fallback_application_name",
                "keepalives",
                "keepalives_count",
                "keepalives_idle",
                "keepalives_interval",
                "tcp_user_timeout",
            )

        private val SERVER_TYPES =
            mapOf(
                "read-write" to "primary",
                "read-only" to "secondary",
                "standby" to "secondary",
                "prefer-standby" to "preferSecondary",
            )
    }
}
