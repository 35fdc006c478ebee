//! A key: made anew, described as a JWK, and used with an algorithm, also with one that it isn't for.

use anyhow::{Context, bail};
use ed25519_dalek::Signer;
use hmac::{Hmac, KeyInit, Mac};
use p256::elliptic_curve::Generate;
use rsa::pkcs8::{EncodePublicKey, LineEnding};
use rsa::traits::PublicKeyParts;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Sha256, Sha512};

use crate::base64url;

/// The kinds of keys that it makes.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// RSA, with so many bits.
    Rsa(usize),
    P256,
    Ed25519,
    /// These bytes, as a secret that both sides know.
    Secret(String),
}

/// How a token is signed.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Algorithm {
    Rs256,
    Rs512,
    Ps256,
    Es256,
    /// As [`Algorithm::Es256`], with the signature in DER, which a token never has.
    #[serde(rename = "ES256-DER")]
    Es256Der,
    #[serde(rename = "EdDSA")]
    EdDsa,
    Hs256,
}

/// A key, the secret half of it too.
pub enum Key {
    Rsa(Box<rsa::PrivateKey>),
    P256(p256::ecdsa::SigningKey),
    Ed25519(ed25519_dalek::SigningKey),
    Secret(Vec<u8>),
}

impl Key {
    pub fn make(kind: Kind) -> anyhow::Result<Key> {
        Ok(match kind {
            // Unchecked: one of these keys is too short, which is what it is for.
            Kind::Rsa(bits) => Key::Rsa(Box::new(rsa::PrivateKey::new_unchecked(
                &mut rand::rng(),
                bits,
            )?)),
            Kind::P256 => Key::P256(p256::ecdsa::SigningKey::generate()),
            Kind::Ed25519 => Key::Ed25519(ed25519_dalek::SigningKey::from_bytes(&rand::random())),
            Kind::Secret(secret) => Key::Secret(secret.into_bytes()),
        })
    }

    /// What everybody may know of it: the members of a JWK, and for RSA the same in PEM, as `pem`.
    pub fn public(&self) -> anyhow::Result<Value> {
        Ok(match self {
            Key::Rsa(key) => {
                let key = key.to_public_key();
                json!({
                    "kty": "RSA",
                    "n": base64url(key.n_bytes()),
                    "e": base64url(key.e_bytes()),
                    "pem": key.to_public_key_pem(LineEnding::LF)?,
                })
            }
            Key::P256(key) => {
                let point = key.verifying_key().to_sec1_point(false);
                let (x, y) = (point.x(), point.y());
                json!({
                    "kty": "EC",
                    "crv": "P-256",
                    "x": base64url(x.context("a point with coordinates")?),
                    "y": base64url(y.context("a point with coordinates")?),
                })
            }
            Key::Ed25519(key) => {
                json!({"kty": "OKP", "crv": "Ed25519", "x": base64url(key.verifying_key().as_bytes())})
            }
            Key::Secret(secret) => json!({"kty": "oct", "k": base64url(secret)}),
        })
    }

    pub fn sign(&self, algorithm: Algorithm, message: &[u8]) -> anyhow::Result<Vec<u8>> {
        Ok(match (self, algorithm) {
            (Key::Rsa(key), Algorithm::Rs256) => key.pkcs1v15_sign::<Sha256>(message)?,
            (Key::Rsa(key), Algorithm::Rs512) => key.pkcs1v15_sign::<Sha512>(message)?,
            (Key::Rsa(key), Algorithm::Ps256) => key.pss_sign::<Sha256>(message)?,
            (Key::P256(key), Algorithm::Es256) => {
                let signature: p256::ecdsa::Signature = key.sign(message);
                signature.to_bytes().to_vec()
            }
            (Key::P256(key), Algorithm::Es256Der) => {
                let signature: p256::ecdsa::Signature = key.sign(message);
                signature.to_der().to_bytes().to_vec()
            }
            (Key::Ed25519(key), Algorithm::EdDsa) => key.sign(message).to_bytes().to_vec(),
            (Key::Secret(secret), Algorithm::Hs256) => {
                let mut mac = Hmac::<Sha256>::new_from_slice(secret)?;
                mac.update(message);
                mac.finalize().into_bytes().to_vec()
            }
            _ => bail!("a key of another kind"),
        })
    }
}
