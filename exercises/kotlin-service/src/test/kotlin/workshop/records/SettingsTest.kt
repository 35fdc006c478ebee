// Tests which settings are valid, and the error messages for invalid ones.
package workshop.records

import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertFalse
import org.junit.jupiter.api.Assertions.assertNotNull
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.params.ParameterizedTest
import org.junit.jupiter.params.provider.CsvSource
import org.junit.jupiter.params.provider.ValueSource
import org.slf4j.event.Level
import workshop.service.InvalidSettings
import kotlin.time.Duration.Companion.milliseconds

class SettingsTest {
    private val url = "postgres://user:password@db:5433/records"
    private val required = mapOf("DATABASE_URL" to url, "API_KEYS" to "a_key")

    @Test
    fun `everything but the database and the keys has a default`() {
        val settings = Settings.from(required)
        assertEquals("127.0.0.1", settings.address)
        assertEquals(8080, settings.port)
        assertEquals(listOf("a_key"), settings.apiKeys)
        assertEquals(10, settings.database.poolSize)
        assertEquals(1_000.milliseconds, settings.database.timeout)
        assertEquals(3_600_000.milliseconds, settings.database.migrationTimeout)
        assertEquals(10_000.milliseconds, settings.exportLimits.clientTimeout)
        assertEquals(600_000.milliseconds, settings.exportLimits.deadline)
        assertEquals(Repository.EXPOSED, settings.repository)
        assertEquals(Outbox.OFF, settings.outbox)
        assertNull(settings.prices)
        assertEquals(Level.WARN, settings.logLevel)
    }

    @Test
    fun `every variable is read`() {
        val settings =
            Settings.from(
                mapOf(
                    "ADDRESS" to "0.0.0.0",
                    "PORT" to "9090",
                    "API_KEYS" to "first, second",
                    "DATABASE_URL" to url,
                    "DATABASE_POOL_SIZE" to "4",
                    "DATABASE_TIMEOUT_MS" to "250",
                    "MIGRATION_TIMEOUT_MS" to "750",
                    "RECORD_REPOSITORY" to "jdbc",
                    "VISITS_OUTBOX" to "on",
                    "EXPORT_TIMEOUT_MS" to "500",
                    "EXPORT_DEADLINE_MS" to "86400000",
                    "LOG_LEVEL" to "INFO",
                ),
            )
        assertEquals("0.0.0.0", settings.address)
        assertEquals(9090, settings.port)
        assertEquals(listOf("first", "second"), settings.apiKeys)
        assertEquals(4, settings.database.poolSize)
        assertEquals(250.milliseconds, settings.database.timeout)
        assertEquals(750.milliseconds, settings.database.migrationTimeout)
        assertEquals(500.milliseconds, settings.exportLimits.clientTimeout)
        assertEquals(86_400_000.milliseconds, settings.exportLimits.deadline)
        assertEquals(Repository.JDBC, settings.repository)
        assertEquals(Outbox.ON, settings.outbox)
        assertEquals(Level.INFO, settings.logLevel)
    }

    @Test
    fun `prices have settings where there is a service to ask`() {
        val prices = Settings.from(required + ("UPSTREAM_URL" to "http://prices:8081/")).prices
        assertNotNull(prices)
        assertEquals("http://prices:8081", prices?.url)
        assertEquals(64, prices?.limit)
        assertEquals(250.milliseconds, prices?.wait)
        assertEquals(1_000.milliseconds, prices?.timeout)
        assertEquals(1_500.milliseconds, prices?.deadline)
        assertEquals(Waiting.COROUTINES, prices?.waiting)
    }

    @ParameterizedTest
    @ValueSource(strings = ["", "prices:8081", "https://prices", "https://user:s3cret@prices", "http://", "http://prices/?a=b"])
    fun `a service of prices needs a plain HTTP URL`(url: String) {
        val invalid = assertThrows(InvalidSettings::class.java) { Settings.from(required + ("UPSTREAM_URL" to url)) }
        assertEquals(listOf("UPSTREAM_URL must be of the shape http://host:port."), invalid.complaints)
    }

    @Test
    fun `tokens have settings where an issuer is named`() {
        val issuer = mapOf("JWKS_URL" to "https://issuer/keys", "TOKEN_ISSUER" to "https://issuer", "TOKEN_AUDIENCE" to "records")
        val tokens = Settings.from(required + issuer).tokens
        assertEquals("https://issuer", tokens?.issuer)
        assertEquals("records", tokens?.audience)
        assertEquals(5, tokens?.leewaySeconds)
        assertEquals("https://issuer/keys", tokens?.keys?.url)
        assertEquals(300_000.milliseconds, tokens?.keys?.renewal)
        assertEquals(10_000.milliseconds, tokens?.keys?.cooldown)
        assertEquals(86_400_000.milliseconds, tokens?.keys?.maxAge)
        assertEquals(2_000.milliseconds, tokens?.keys?.timeout)
        assertNull(Settings.from(required).tokens)
    }

    @Test
    fun `an issuer without a name and an audience is refused`() {
        assertEquals(
            listOf(
                "TOKEN_ISSUER is not set: with JWKS_URL it must be the issuer of the tokens, as their iss has it.",
                "TOKEN_AUDIENCE is not set: with JWKS_URL it must be this service's name, as the aud of a token has it.",
            ),
            complaintsAbout("JWKS_URL" to "http://issuer/keys"),
        )
    }

    @Test
    fun `the service is observed where a collector is named`() {
        assertFalse(Settings.from(required).isObserved)
        assertTrue(Settings.from(required + ("OTEL_EXPORTER_OTLP_ENDPOINT" to "http://collector:4318")).isObserved)
        assertEquals(
            listOf("OTEL_EXPORTER_OTLP_ENDPOINT must be of the shape http://host:port."),
            complaintsAbout("OTEL_EXPORTER_OTLP_ENDPOINT" to "collector:4318"),
        )
    }

    @ParameterizedTest
    @CsvSource("1, 1", "2, 1", "5, 2", "10, 5")
    fun `exports get half of the pool, and at least one connection`(
        poolSize: Int,
        exports: Int,
    ) {
        val settings = Settings.from(required + ("DATABASE_POOL_SIZE" to "$poolSize"))
        assertEquals(exports, settings.exportLimits.concurrent)
    }

    @ParameterizedTest
    @ValueSource(
        strings = [
            "", "secret", "mysql://user:secret@db/records", "postgres://user:secret@db", "postgres://user:secret@db/",
            "postgres:///records", "postgres://user:secret@db/a/b", "postgres://user:secret@db:port/records",
            "jdbc:postgresql://db/secret",
        ],
    )
    fun `another URL is refused without repeating it`(text: String) {
        assertEquals(
            listOf("DATABASE_URL is not of the shape postgres://user:password@host:port/database."),
            complaintsAbout("DATABASE_URL" to text),
        )
    }

    @Test
    fun `an unknown option of the database URL is named`() {
        assertEquals(
            listOf("DATABASE_URL has options that pgjdbc does not know: nonsense."),
            complaintsAbout("DATABASE_URL" to "$url?nonsense=1&sslmode=disable"),
        )
    }

    @Test
    fun `an option of the database URL that TLS depends on is not guessed`() {
        for (option in listOf("sslmode=yes", "channel_binding=maybe", "gssencmode=x", "target_session_attrs=any-other")) {
            assertEquals(1, complaintsAbout("DATABASE_URL" to "$url?$option").size, option)
        }
    }

    @ParameterizedTest
    @CsvSource(
        "PORT, abc, 0 to 65535",
        "PORT, 65536, 0 to 65535",
        "PORT, -1, 0 to 65535",
        "PORT, '', 0 to 65535",
        "DATABASE_POOL_SIZE, 0, 1 to 1000",
        "DATABASE_TIMEOUT_MS, 249, 250 to 60000",
        "DATABASE_TIMEOUT_MS, 1s, 250 to 60000",
        "MIGRATION_TIMEOUT_MS, 0, 250 to 86400000",
        "EXPORT_TIMEOUT_MS, 0, 250 to 600000",
        "EXPORT_DEADLINE_MS, 249, 250 to 86400000",
    )
    fun `a number that is none, or out of range, is refused with its range`(
        name: String,
        value: String,
        range: String,
    ) {
        val (from, to) = range.split(" to ")
        assertEquals(
            listOf("$name must be a whole number from $from to $to, but is \"$value\"."),
            complaintsAbout(name to value),
        )
    }

    @ParameterizedTest
    @CsvSource(delimiter = ';', value = ["RECORD_REPOSITORY; jooq; exposed, jdbc", "LOG_LEVEL; ''; error, warn, info, debug, trace"])
    fun `a word that is none of those to choose from is refused with them`(
        name: String,
        value: String,
        choices: String,
    ) {
        assertEquals(
            listOf("$name must be one of $choices, but is \"$value\"."),
            complaintsAbout(name to value),
        )
    }

    @Test
    fun `keys have no default`() {
        val invalid = assertThrows(InvalidSettings::class.java) { Settings.from(mapOf("DATABASE_URL" to url)) }
        assertEquals(listOf("API_KEYS is not set: it must be the keys to accept, separated by commas."), invalid.complaints)
    }

    @ParameterizedTest
    @ValueSource(strings = ["", " ", "first,,second", "first,"])
    fun `an empty API key is refused, and no key is repeated`(keys: String) {
        val complaints = complaintsAbout("API_KEYS" to keys)
        assertEquals(1, complaints.size)
        assertFalse(complaints.single().contains("first"))
    }

    @Test
    fun `all that is wrong is said at once, one sentence a variable`() {
        val environment = mapOf("ADDRESS" to "", "PORT" to "x", "API_KEYS" to "", "DATABASE_POOL_SIZE" to "x")
        val invalid = assertThrows(InvalidSettings::class.java) { Settings.from(environment) }
        assertEquals(
            listOf("ADDRESS", "PORT", "API_KEYS", "DATABASE_URL", "DATABASE_POOL_SIZE"),
            invalid.complaints.map { it.substringBefore(' ') },
        )
    }

    private fun complaintsAbout(variable: Pair<String, String>): List<String> =
        assertThrows(InvalidSettings::class.java) { Settings.from(required + variable) }.complaints
}
