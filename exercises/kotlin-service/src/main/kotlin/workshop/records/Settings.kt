// The settings of the service, from environment variables.
package workshop.records

import org.slf4j.event.Level
import workshop.service.DatabaseSettings
import workshop.service.EnvironmentReader
import workshop.service.InvalidSettings
import kotlin.math.max
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds

// ANCHOR: settings

/** The settings of the service. Plain classes, not data classes: a `toString` would print the secrets. */
class Settings(
    val address: String,
    val port: Int,
    val apiKeys: List<String>,
    val database: DatabaseSettings,
    val repository: Repository,
    val outbox: Outbox,
    val exportLimits: ExportLimits,
    /** Null when there is no service to ask for prices. */
    val prices: PriceSettings?,
    /** Null when only keys are accepted. */
    val tokens: TokenSettings?,
    val peers: PeerSettings,
    /** Whether traces and metrics are on. OpenTelemetry's SDK reads their other settings itself. */
    val isObserved: Boolean,
    val logLevel: Level,
) {
    companion object {
        /** @throws InvalidSettings naming every wrong variable at once */
        fun from(environment: Map<String, String>): Settings {
            val read = EnvironmentReader(environment)
            val address = read.text("ADDRESS", default = "127.0.0.1")
            val port = read.number("PORT", default = 8080, range = 0..65_535)
            val apiKeys = read.secrets("API_KEYS")
            val database = read.database(applicationName = "kotlin-service")
            val repository = read.choice("RECORD_REPOSITORY", default = Repository.EXPOSED)
            val outbox = read.choice("VISITS_OUTBOX", default = Outbox.OFF)
            val exportTimeout = read.number("EXPORT_TIMEOUT_MS", default = 10_000, range = 250..600_000)
            val exportDeadline = read.number("EXPORT_DEADLINE_MS", default = 600_000, range = 250..86_400_000)
            val prices = read.prices()
            val tokens = read.tokens()
            val peers = read.peers()
            val collector = read.httpUrl("OTEL_EXPORTER_OTLP_ENDPOINT")
            val logLevel = read.choice("LOG_LEVEL", default = Level.WARN)
            if (database == null || read.complaints.isNotEmpty()) throw InvalidSettings(read.complaints)
            // Exports leave half of the pool to other requests.
            val concurrent = max(1, database.poolSize / 2)
            val exports = ExportLimits(concurrent, database.timeout, exportTimeout.milliseconds, exportDeadline.milliseconds)
            return Settings(
                address,
                port,
                apiKeys,
                database,
                repository,
                outbox,
                exports,
                prices,
                tokens,
                peers,
                collector != null,
                logLevel,
            )
        }
    }
}

/** The library that accesses the database. */
enum class Repository { EXPOSED, JDBC }
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

/** A token has to come from this [issuer], for this [audience]. Its times are checked with [leewaySeconds]: clocks differ. */
class TokenSettings(
    val issuer: String,
    val audience: String,
    val leewaySeconds: Int,
    val keys: KeySettings,
)

/**
 * The issuer's keys are at [url]. They are fetched again after each [renewal], are valid for [maxAge] after the last fetch that
 * succeeded, and unknown ids cause a fetch at most once per [cooldown]. No fetch takes longer than [timeout].
 */
class KeySettings(
    val url: String,
    val renewal: Duration,
    val cooldown: Duration,
    val maxAge: Duration,
    val timeout: Duration,
)

/** At most [queue] messages wait for a peer, and each peer gets a ping every [pingPeriod]. */
class PeerSettings(
    val queue: Int,
    val pingPeriod: Duration,
)

/** How to wait for a call: with a coroutine, one of a fixed number of threads, or a virtual thread. */
enum class Waiting { COROUTINES, THREADS, VIRTUAL }

/** A host, optionally with a port, and optionally with a base path. */
private val PLAIN_URL = Regex("http://[^/?#\\s]+(/[^?#\\s]*)?")

/** Keys come from other companies' issuers as well, and those use TLS. */
private val KEY_SET_URL = Regex("https?://[^/?#\\s@]+(/[^#\\s]*)?")

/** The first JDK that has virtual threads. */
private const val FIRST_WITH_VIRTUAL_THREADS = 21

/** No default: everyone who knows this program would know it, too. No message repeats the value. */
private fun EnvironmentReader.secrets(name: String): List<String> {
    val entries = this[name]?.split(',')?.map { it.trim() }
    if (entries == null) {
        complaints += "$name is not set: it must be the keys to accept, separated by commas."
    } else if (entries.any { it.isEmpty() }) {
        complaints += "$name has an empty entry: separate the keys by single commas."
    }
    return entries.orEmpty()
}

private fun EnvironmentReader.prices(): PriceSettings? {
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

private fun EnvironmentReader.tokens(): TokenSettings? {
    val url = this["JWKS_URL"]
    if (url != null && !KEY_SET_URL.matches(url)) complaints += "JWKS_URL must be of the shape http://host:port/path."
    val issuer = required("TOKEN_ISSUER", isRequired = url != null, "the issuer of the tokens, as their iss has it")
    val audience = required("TOKEN_AUDIENCE", isRequired = url != null, "this service's name, as the aud of a token has it")
    val leeway = number("TOKEN_LEEWAY_S", default = 5, range = 0..300)
    val renewal = number("JWKS_RENEWAL_MS", default = 300_000, range = 100..86_400_000)
    val cooldown = number("JWKS_COOLDOWN_MS", default = 10_000, range = 100..3_600_000)
    val maxAge = number("JWKS_MAX_AGE_MS", default = 86_400_000, range = 1_000..604_800_000)
    val timeout = number("JWKS_TIMEOUT_MS", default = 2_000, range = 100..60_000)
    if (url == null) return null
    val keys = KeySettings(url, renewal.milliseconds, cooldown.milliseconds, maxAge.milliseconds, timeout.milliseconds)
    return TokenSettings(issuer, audience, leeway, keys)
}

private fun EnvironmentReader.required(
    name: String,
    isRequired: Boolean,
    what: String,
): String {
    val text = this[name].orEmpty()
    if (isRequired && text.isBlank()) complaints += "$name is not set: with JWKS_URL it must be $what."
    return text
}

private fun EnvironmentReader.peers(): PeerSettings {
    val queue = number("PEER_QUEUE", default = 256, range = 1..1_000_000)
    val pingPeriod = number("PEER_PING_MS", default = 20_000, range = 250..600_000)
    return PeerSettings(queue, pingPeriod.milliseconds)
}

/** Without a slash at its end: paths begin with one. */
private fun EnvironmentReader.httpUrl(name: String): String? {
    val text = this[name] ?: return null
    // A mistyped URL can contain a password, so the message doesn't repeat the URL.
    if (!PLAIN_URL.matches(text)) complaints += "$name must be of the shape http://host:port."
    return text.trimEnd('/')
}
