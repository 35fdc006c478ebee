// What the service is told from outside, beside what Spring Boot reads itself: see application.yaml.
package workshop.records

import org.springframework.boot.context.properties.ConfigurationProperties
import java.net.URI
import java.time.Duration

/** A plain class, not a data class: a `toString` would print the secrets. */
@ConfigurationProperties("records")
class Settings(
    val apiKeys: List<String>,
    val databaseUrl: URI,
    val poolSize: Int,
    val databaseTimeout: Duration,
) {
    init {
        require(apiKeys.isNotEmpty() && apiKeys.none { it.isBlank() }) {
            "API_KEYS must be the keys to accept, separated by single commas."
        }
        require(databaseUrl.scheme in setOf("postgres", "postgresql") && databaseUrl.host != null) {
            "DATABASE_URL must be of the shape postgres://user:password@host:port/database."
        }
    }
}
