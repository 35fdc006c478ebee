// Tests which access tokens are accepted, how others are refused, and when the issuer's keys are fetched.
package workshop.records

import com.nimbusds.jose.JOSEObjectType
import com.nimbusds.jose.JWSAlgorithm
import com.nimbusds.jose.JWSHeader
import com.nimbusds.jose.JWSSigner
import com.nimbusds.jose.crypto.ECDSASigner
import com.nimbusds.jose.crypto.MACSigner
import com.nimbusds.jose.crypto.RSASSASigner
import com.nimbusds.jose.crypto.opts.AllowWeakRSAKey
import com.nimbusds.jose.jwk.Curve
import com.nimbusds.jose.jwk.JWK
import com.nimbusds.jose.jwk.KeyUse
import com.nimbusds.jose.jwk.RSAKey
import com.nimbusds.jose.jwk.gen.ECKeyGenerator
import com.nimbusds.jose.jwk.gen.OctetSequenceKeyGenerator
import com.nimbusds.jose.jwk.gen.RSAKeyGenerator
import com.nimbusds.jwt.JWTClaimsSet
import com.nimbusds.jwt.SignedJWT
import io.ktor.client.HttpClient
import io.ktor.client.request.get
import io.ktor.client.request.header
import io.ktor.client.request.post
import io.ktor.client.statement.HttpResponse
import io.ktor.http.HttpStatusCode
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertNotNull
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Test
import java.security.KeyPairGenerator
import java.security.Signature
import java.security.interfaces.EdECPublicKey
import java.time.Instant
import java.util.Base64
import java.util.Date
import java.util.concurrent.atomic.AtomicInteger
import kotlin.time.Duration
import kotlin.time.Duration.Companion.hours
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.minutes
import kotlin.time.Duration.Companion.seconds

class TokenTest {
    private val issuer = TestIssuer()

    @Test
    fun `a rightful token is accepted, of any key and in any case of the scheme`() =
        tokenTest { client ->
            assertEquals(HttpStatusCode.OK, client.read(issuer.token()).status)
            val byEcKey = issuer.token(ECDSASigner(issuer.ec), "ec", JWSAlgorithm.ES256)
            assertEquals(HttpStatusCode.OK, client.read(byEcKey).status)
            assertEquals(HttpStatusCode.OK, client.read(issuer.tokenByEd25519()).status)
            assertEquals(HttpStatusCode.OK, client.get("/read/1") { header("Authorization", "bEARER ${issuer.token()}") }.status)
        }

    @Test
    fun `an audience may be one of several`() =
        tokenTest { client ->
            assertEquals(HttpStatusCode.OK, client.read(issuer.token { audience(listOf("other", "records")) }).status)
        }

    @Test
    fun `every wrong token gets the same answer`() =
        tokenTest { client ->
            val now = Instant.now()
            val wrong =
                mapOf(
                    "two parts" to issuer.token().substringBeforeLast('.'),
                    "another alphabet" to issuer.token().replaceAfterLast('.', "a+/a"),
                    "no algorithm" to "eyJhbGciOiJub25lIiwidHlwIjoiYXQrand0Iiwia2lkIjoicnNhIn0.${issuer.token().split('.')[1]}.",
                    "the public key as a secret" to
                        issuer.token(MACSigner(issuer.rsa.toRSAPublicKey().encoded), "rsa", JWSAlgorithm.HS256),
                    "a published secret" to issuer.token(MACSigner(issuer.secret), "secret", JWSAlgorithm.HS256),
                    "another algorithm" to issuer.token(algorithm = JWSAlgorithm.RS512),
                    "another key" to issuer.token(signer = RSASSASigner(issuer.forEncryption)),
                    "a key for encryption" to issuer.token(signer = RSASSASigner(issuer.forEncryption), kid = "enc"),
                    "a short key" to issuer.token(signer = RSASSASigner(issuer.short, setOf(AllowWeakRSAKey.getInstance())), kid = "short"),
                    "an unknown key" to issuer.token(kid = "unknown"),
                    "no key" to issuer.token(kid = null),
                    "an ID token" to issuer.token(type = JOSEObjectType.JWT),
                    "expired" to issuer.token { expirationTime(Date.from(now.minusSeconds(10))) },
                    "no end" to issuer.token { expirationTime(null) },
                    "not yet" to issuer.token { notBeforeTime(Date.from(now.plusSeconds(60))) },
                    "another issuer" to issuer.token { issuer("https://issuer.test/") },
                    "a list of issuers" to issuer.token { claim("iss", listOf("https://issuer.test")) },
                    "another audience" to issuer.token { audience("record") },
                    "no subject" to issuer.token { subject(null) },
                    "a list of scopes" to issuer.token { claim("scope", listOf(READ)) },
                )
            for ((what, token) in wrong) {
                val answer = client.read(token)
                assertEquals("""Bearer realm="records", error="invalid_token"""", answer.headers["WWW-Authenticate"], what)
                assertProblem(HttpStatusCode.Unauthorized, "the access token is not valid", answer)
            }
        }

    @Test
    fun `without credentials the answer names both ways`() =
        tokenTest { client ->
            for (answer in listOf(client.get("/read/1"), client.get("/read/1?access_token=${issuer.token()}"))) {
                assertEquals(listOf("""Bearer realm="records"""", "ApiKey"), answer.headers.getAll("WWW-Authenticate"))
                assertProblem(
                    HttpStatusCode.Unauthorized,
                    "an access token is required, in the header Authorization, or a valid API key, in the header X-API-Key or the " +
                        "query parameter api_key",
                    answer,
                )
            }
        }

    @Test
    fun `a wrong token is not rescued by a right key, and a key alone is enough`() =
        tokenTest { client ->
            val both = client.get("/read/1") { header("Authorization", "Bearer x.y.z").also { header("X-API-Key", "valid_key") } }
            assertEquals(HttpStatusCode.Unauthorized, both.status)
            assertEquals(HttpStatusCode.OK, client.get("/read/1") { header("X-API-Key", "valid_key") }.status)
            assertEquals(HttpStatusCode.OK, client.post("/records/1/visit") { header("X-API-Key", "valid_key") }.status)
        }

    @Test
    fun `a scope is a whole word`() =
        tokenTest { client ->
            for (scope in listOf(READ, "x$WRITE", "$WRITE:all", "")) {
                val answer =
                    client.post("/records/1/visit") {
                        header("Authorization", "Bearer ${issuer.token { claim("scope", scope) }}")
                    }
                assertEquals(
                    """Bearer realm="records", error="insufficient_scope", scope="records:write"""",
                    answer.headers["WWW-Authenticate"],
                )
                assertProblem(HttpStatusCode.Forbidden, "the access token lacks the scope records:write", answer)
            }
        }

    @Test
    fun `a scheme without a token answers 400`() =
        tokenTest { client ->
            val answer = client.get("/read/1") { header("Authorization", "Bearer") }
            assertEquals("""Bearer realm="records", error="invalid_request"""", answer.headers["WWW-Authenticate"])
            assertProblem(HttpStatusCode.BadRequest, "the header Authorization must be there once, with one token", answer)
        }

    @Test
    fun `without keys a token answers 503, and an API key does not mind`() {
        issuer.answers = { awaitCancellation() }
        tokenTest { client ->
            assertProblem(HttpStatusCode.ServiceUnavailable, "the keys of the issuer are not available", client.read(issuer.token()))
            assertEquals(HttpStatusCode.OK, client.get("/read/1") { header("X-API-Key", "valid_key") }.status)
        }
    }

    @Test
    fun `a new key is asked for once, and unknown ones no more often than the cooldown allows`() =
        keysTest { keys ->
            assertNotNull(keys.withId("rsa"))
            assertEquals(1, issuer.asked.get())
            assertNull(keys.withId("unknown"))
            coroutineScope { List(50) { async { keys.withId("unknown $it") } }.awaitAll() }
            assertEquals(1, issuer.asked.get())
        }

    @Test
    fun `many who ask for a new key wait for one answer`() =
        keysTest { keys ->
            coroutineScope { List(50) { async { keys.withId("ec") } }.awaitAll() }.forEach { assertNotNull(it) }
            assertEquals(1, issuer.asked.get())
        }

    @Test
    fun `a withdrawn key counts no more`() =
        keysTest(cooldown = Duration.ZERO) { keys ->
            assertNotNull(keys.withId("rsa"))
            issuer.published = listOf(issuer.ec)
            assertNotNull(keys.withId("ec"))
            assertNull(keys.withId("unknown"))
            assertNull(keys.withId("rsa"))
        }

    @Test
    fun `an outage changes nothing until the keys are too old`() =
        keysTest(cooldown = Duration.ZERO, maxAge = 200.milliseconds) { keys ->
            assertNotNull(keys.withId("rsa"))
            issuer.answers = { UpstreamAnswer(302, """{"keys":[]}""".encodeToByteArray()) }
            assertNull(keys.withId("unknown"))
            assertNotNull(keys.withId("rsa"))
            Thread.sleep(200)
            assertThrows(KeysUnavailable::class.java) { runBlocking { keys.withId("rsa") } }
            issuer.answers = null
            assertNotNull(keys.withId("rsa"))
        }

    @Test
    fun `one odd key spoils no other`() {
        val withoutId = issuer.rsa.toPublicJWK().toString().replace("\"rsa\"", "7")
        val keys = listOf("7", "{}", """{"kty":"NEW","kid":"new"}""", withoutId, issuer.ec.toPublicJWK())
        assertEquals(setOf("ec"), keysIn("""{"keys":[${keys.joinToString()}]}""".encodeToByteArray())?.keys)
        for (body in listOf("", "[]", "{}", """{"keys":{}}""")) assertNull(keysIn(body.encodeToByteArray()))
    }

    private suspend fun HttpClient.read(token: String): HttpResponse = get("/read/1") { header("Authorization", "Bearer $token") }

    private fun tokenTest(test: suspend (HttpClient) -> Unit) =
        keysTest { keys ->
            val tokens = Tokens(TokenSettings("https://issuer.test", "records", leewaySeconds = 5, keySettings()), keys)
            serviceTest(tokens = tokens, test = test)
        }

    private fun keysTest(
        cooldown: Duration = 1.hours,
        maxAge: Duration = 1.hours,
        test: suspend (IssuerKeys) -> Unit,
    ) = IssuerKeys(issuer, keySettings(cooldown, maxAge)).use { runBlocking { test(it) } }

    private fun keySettings(
        cooldown: Duration = 1.hours,
        maxAge: Duration = 1.hours,
    ) = KeySettings("", renewal = 1.minutes, cooldown, maxAge, timeout = 1.seconds)
}

/** Publishes keys, and signs with them. */
private class TestIssuer : KeySource {
    val rsa: RSAKey = RSAKeyGenerator(2_048).keyID("rsa").generate()
    val ec = ECKeyGenerator(Curve.P_256).keyID("ec").generate()!!
    val forEncryption: RSAKey = RSAKeyGenerator(2_048).keyID("enc").keyUse(KeyUse.ENCRYPTION).generate()
    val short: RSAKey = RSAKeyGenerator(1_024, true).keyID("short").generate()
    val secret = OctetSequenceKeyGenerator(256).keyID("secret").generate()!!
    private val edwards = KeyPairGenerator.getInstance("Ed25519").generateKeyPair()!!

    var published: List<JWK> = listOf(rsa, ec, forEncryption, short, secret)
    var answers: (suspend () -> UpstreamAnswer)? = null
    val asked = AtomicInteger()

    override suspend fun get(): UpstreamAnswer {
        asked.incrementAndGet()
        answers?.let { return it() }
        val keys = published.map { if (it == secret) it else it.toPublicJWK() }.map { it.toJSONString() } + edwardsKey()
        return UpstreamAnswer(200, """{"keys":[${keys.joinToString()}]}""".encodeToByteArray())
    }

    fun token(
        signer: JWSSigner = RSASSASigner(rsa),
        kid: String? = "rsa",
        algorithm: JWSAlgorithm = JWSAlgorithm.RS256,
        type: JOSEObjectType = JOSEObjectType("at+jwt"),
        claims: JWTClaimsSet.Builder.() -> Unit = {},
    ): String {
        val header =
            JWSHeader
                .Builder(algorithm)
                .type(type)
                .keyID(kid)
                .build()
        return SignedJWT(header, claims(claims)).apply { sign(signer) }.serialize()
    }

    fun tokenByEd25519(): String {
        val content = base64("""{"alg":"EdDSA","typ":"at+jwt","kid":"ed"}""") + "." + base64(claims {}.toString())
        val signature =
            Signature.getInstance("Ed25519").run {
                initSign(edwards.private)
                update(content.encodeToByteArray())
                sign()
            }
        return content + "." + Base64.getUrlEncoder().withoutPadding().encodeToString(signature)
    }

    private fun claims(change: JWTClaimsSet.Builder.() -> Unit): JWTClaimsSet =
        JWTClaimsSet
            .Builder()
            .issuer("https://issuer.test")
            .audience("records")
            .subject("partner")
            .expirationTime(Date.from(Instant.now().plusSeconds(60)))
            .claim("scope", READ)
            .apply(change)
            .build()

    private fun edwardsKey(): String {
        val x = (edwards.public as EdECPublicKey).encoded.takeLast(32).toByteArray()
        return """{"kty":"OKP","crv":"Ed25519","kid":"ed","x":"${Base64.getUrlEncoder().withoutPadding().encodeToString(x)}"}"""
    }

    private fun base64(text: String) = Base64.getUrlEncoder().withoutPadding().encodeToString(text.encodeToByteArray())
}
