// Verifies an access token (RFC 9068): its signature, its audience, and its validity period.
package workshop.records

import com.nimbusds.jose.JOSEObjectType
import com.nimbusds.jose.JWSHeader
import com.nimbusds.jose.util.Base64URL
import io.ktor.server.application.Application
import io.ktor.server.application.ApplicationStopPreparing
import tools.jackson.databind.JsonNode
import java.text.ParseException
import java.time.Clock

// ANCHOR: token

/** Why a token is refused: for the log. A client learns only that it is. */
enum class Refusal { MALFORMED, TYPE, KEY, ALGORITHM, SIGNATURE, TIME, ISSUER, AUDIENCE, SUBJECT, SCOPE }

/** No stack trace: strangers can cause any number of them. */
class TokenRefused(
    val reason: Refusal,
) : Exception(reason.name, null, false, false)

/** The subject of a token, and the scopes that it grants. */
class TokenHolder(
    val subject: String,
    val scopes: Set<String>,
)

/**
 * Verifies tokens with the issuer's [keys].
 *
 * With Nimbus's parts, and not with Ktor's plugin for JWT: that one passes on the claims, and never the header with the type; its
 * libraries ignore `crit` and the use of a key, and bring Guava and a second Jackson. The claims are few, so they are read here.
 */
class Tokens(
    private val settings: TokenSettings,
    private val keys: IssuerKeys,
    private val clock: Clock = Clock.systemUTC(),
) {
    /**
     * @throws TokenRefused
     * @throws KeysUnavailable
     */
    suspend fun holderOf(token: String): TokenHolder {
        val (header, payload, signature) = partsOf(token)
        requireSigned(headerIn(header), "$header.$payload", signature)
        return holderIn(jsonIn(payload.decode()).takeUnlessRefused(Refusal.MALFORMED) { it.isObject })
    }

    private fun partsOf(token: String): List<Base64URL> {
        // Nimbus would ignore characters that aren't Base64URL.
        if (token.length > MAX_TOKEN_LENGTH || !COMPACT.matches(token)) throw TokenRefused(Refusal.MALFORMED)
        return token.split('.').map(::Base64URL)
    }

    private fun headerIn(part: Base64URL): JWSHeader {
        val header =
            try {
                JWSHeader.parse(part)
            } catch (_: ParseException) {
                throw TokenRefused(Refusal.MALFORMED)
            }
        // This service supports none of the extensions that a header can declare as critical.
        if (header.criticalParams != null || !header.isBase64URLEncodePayload) throw TokenRefused(Refusal.MALFORMED)
        // An ID token has the same issuer and a valid signature, but isn't an access token.
        if (header.type !in TYPES) throw TokenRefused(Refusal.TYPE)
        return header
    }

    private suspend fun requireSigned(
        header: JWSHeader,
        content: String,
        signature: Base64URL,
    ) {
        val key = header.keyID?.let { keys.withId(it) } ?: throw TokenRefused(Refusal.KEY)
        if (header.algorithm != key.algorithm) throw TokenRefused(Refusal.ALGORITHM)
        if (!key.hasSigned(content.encodeToByteArray(), signature)) throw TokenRefused(Refusal.SIGNATURE)
    }

    private fun holderIn(claims: JsonNode): TokenHolder {
        val now = clock.millis() / 1_000.0
        val leeway = settings.leewaySeconds
        claims["exp"].takeUnlessRefused(Refusal.TIME) { it.isNumber && now < it.doubleValue() + leeway }
        claims["nbf"]?.takeUnlessRefused(Refusal.TIME) { it.isNumber && now >= it.doubleValue() - leeway }
        claims["iss"].takeUnlessRefused(Refusal.ISSUER) { it.isText(settings.issuer) }
        claims["aud"].takeUnlessRefused(Refusal.AUDIENCE) { aud ->
            aud.isText(settings.audience) || aud.isArray && aud.any { it.isText(settings.audience) }
        }
        val subject = claims["sub"].takeUnlessRefused(Refusal.SUBJECT) { it.isString && it.stringValue().isNotEmpty() }
        val scope = claims["scope"]?.takeUnlessRefused(Refusal.MALFORMED) { it.isString }
        return TokenHolder(subject.stringValue(), scope?.stringValue().orEmpty().split(' ').toSet())
    }

    private companion object {
        const val MAX_TOKEN_LENGTH = 8_192
        val COMPACT = Regex("[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]*")

        /** Compared without regard to case. */
        val TYPES = setOf(JOSEObjectType("at+jwt"), JOSEObjectType("application/at+jwt"))
    }
}

/** Set up by the settings. Starts to fetch the issuer's keys, and stops when the service is told to stop. */
fun Application.tokens(settings: TokenSettings): Tokens {
    val keys = IssuerKeys(keySource(settings.keys), settings.keys)
    monitor.subscribe(ApplicationStopPreparing) { keys.close() }
    keys.keepFresh()
    return Tokens(settings, keys)
}

private fun JsonNode.isText(text: String) = isString && stringValue() == text

private inline fun JsonNode?.takeUnlessRefused(
    reason: Refusal,
    isRight: (JsonNode) -> Boolean,
): JsonNode = this?.takeIf(isRight) ?: throw TokenRefused(reason)
// ANCHOR_END: token
