// The issuer's public keys: selects the ones for signatures, and verifies signatures with them.
package workshop.records

import com.nimbusds.jose.JOSEException
import com.nimbusds.jose.JWSAlgorithm
import com.nimbusds.jose.JWSHeader
import com.nimbusds.jose.JWSVerifier
import com.nimbusds.jose.crypto.ECDSAVerifier
import com.nimbusds.jose.crypto.RSASSAVerifier
import com.nimbusds.jose.jwk.Curve
import com.nimbusds.jose.jwk.ECKey
import com.nimbusds.jose.jwk.JWK
import com.nimbusds.jose.jwk.KeyOperation
import com.nimbusds.jose.jwk.KeyUse
import com.nimbusds.jose.jwk.OctetKeyPair
import com.nimbusds.jose.jwk.RSAKey
import com.nimbusds.jose.util.Base64URL
import tools.jackson.databind.JsonNode
import java.security.GeneralSecurityException
import java.security.KeyFactory
import java.security.Signature
import java.security.spec.X509EncodedKeySpec
import java.text.ParseException

// ANCHOR: issuer-key

/** A key for signatures by one [algorithm]: the key decides which, never the token. */
class IssuerKey(
    val algorithm: JWSAlgorithm,
    private val check: (ByteArray, Base64URL) -> Boolean,
) {
    fun hasSigned(
        content: ByteArray,
        signature: Base64URL,
    ): Boolean =
        try {
            check(content, signature)
        } catch (_: JOSEException) {
            false
        } catch (_: GeneralSecurityException) {
            false
        }
}

/** The keys in `{"keys":[…]}`, by their ids. An unusable key doesn't affect the others. Null if the [body] isn't a key set. */
fun keysIn(body: ByteArray): Map<String, IssuerKey>? =
    jsonIn(body)
        ?.get("keys")
        ?.takeIf { it.isArray }
        ?.mapNotNull { keyIn(it) }
        ?.toMap()

private fun keyIn(json: JsonNode): Pair<String, IssuerKey>? {
    val key =
        try {
            JWK.parse(json.toString())
        } catch (_: ParseException) {
            return null
        }
    if (key.keyID == null || !key.isForSignatures) return null
    val usable =
        when (key) {
            is RSAKey -> key.takeIf { it.size() >= MIN_RSA_BITS }?.let { signing(JWSAlgorithm.RS256, RSASSAVerifier(it)) }
            is ECKey -> key.takeIf { it.curve == Curve.P_256 }?.let { signing(JWSAlgorithm.ES256, ECDSAVerifier(it)) }
            is OctetKeyPair -> key.takeIf { it.curve == Curve.Ed25519 }?.let(::signingByEd25519)
            else -> null
        }
    return usable?.takeIf { key.algorithm == null || key.algorithm == it.algorithm }?.let { key.keyID to it }
}

private val JWK.isForSignatures: Boolean
    get() =
        (keyUse == null || keyUse == KeyUse.SIGNATURE) &&
            (keyOperations == null || KeyOperation.VERIFY in keyOperations)

/** The minimum in RFC 7518, section 3.3. */
private const val MIN_RSA_BITS = 2_048

private fun signing(
    algorithm: JWSAlgorithm,
    verifier: JWSVerifier,
): IssuerKey {
    val header = JWSHeader(algorithm)
    return IssuerKey(algorithm) { content, signature -> verifier.verify(header, content, signature) }
}
// ANCHOR_END: issuer-key

/** Uses the JDK, which has it since 15: Nimbus would need Tink for it. */
private fun signingByEd25519(key: OctetKeyPair): IssuerKey? {
    val bytes = key.decodedX
    if (bytes.size != ED25519_BYTES) return null
    val public = KeyFactory.getInstance("Ed25519").generatePublic(X509EncodedKeySpec(ED25519_PREFIX + bytes))
    return IssuerKey(JWSAlgorithm.EdDSA) { content, signature ->
        Signature.getInstance("Ed25519").run {
            initVerify(public)
            update(content)
            verify(signature.decode())
        }
    }
}

private const val ED25519_BYTES = 32

/** What comes before the bytes of a key in X.509 (RFC 8410, 4). */
private val ED25519_PREFIX = byteArrayOf(0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00)
