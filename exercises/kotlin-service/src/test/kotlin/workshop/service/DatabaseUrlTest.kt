// Tests how database URLs are parsed.
package workshop.service

import io.ktor.http.encodeURLParameter
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertNotNull
import org.junit.jupiter.api.Test

class DatabaseUrlTest {
    @Test
    fun `the database URL is taken apart and percent-decoded`() {
        val parsed = parse("postgresql://us%40er:p%2Fa%3As%25s+@db.example:5433/my%20records?sslmode=disable")
        assertEquals("db.example", parsed.host)
        assertEquals(5433, parsed.port)
        assertEquals("my records", parsed.database)
        assertEquals("us@er", parsed.user)
        assertEquals("p/a:s%s+", parsed.password)
        assertEquals(mapOf("sslmode" to "disable"), parsed.options)
    }

    @Test
    fun `port, user and password may be missing, and a host may have an underscore`() {
        val parsed = parse("postgres://my_db/records")
        assertEquals("my_db", parsed.host)
        assertEquals(5432, parsed.port)
        assertEquals(null, parsed.user)
        assertEquals(null, parsed.password)
    }

    @Test
    fun `a host may be an IPv6 address`() {
        val parsed = parse("postgres://user@[::1]:5433/records")
        assertEquals("[::1]", parsed.host)
        assertEquals(5433, parsed.port)
    }

    @Test
    fun `a password may have every reserved character, percent-encoded`() {
        val password = ":/?#[]@!$&'()*+,;=% \"<>\\^`{|}~ü"
        assertEquals(password, parse("postgres://user:${password.encodeURLParameter()}@db/records").password)
    }

    @Test
    fun `options that providers add are understood, or mean nothing here`() {
        val parsed =
            parse(
                "postgres://db/records?sslmode=require&channel_binding=prefer&gssencmode=disable&connect_timeout=10" +
                    "&application_name=billing&target_session_attrs=read-write",
            )
        assertEquals(
            mapOf(
                "sslmode" to "require",
                "channelBinding" to "prefer",
                "gssEncMode" to "disable",
                "ApplicationName" to "billing",
                "targetServerType" to "primary",
            ),
            parsed.options,
        )
    }

    private fun parse(text: String): DatabaseUrl {
        val parsed = DatabaseUrl.parse(text)
        assertNotNull(parsed)
        return parsed!!
    }
}
