//! The issuer's keys: cached until they expire, and renewed by a task until shutdown.

use std::{
    collections::HashMap,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, DecodingKey};
use reqwest::{Client, StatusCode, redirect::Policy};
use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;
use tokio::{
    sync::{Mutex, MutexGuard, watch},
    time::{sleep, timeout},
};
use tracing::warn;

use crate::settings::KeySettings;

/// The maximum size of a response from the issuer: enough for more than a hundred keys.
const MAX_SET_BYTES: usize = 64 * 1024;

/// The minimum size of an RSA key, in bits (RFC 7518, section 3.3).
const MIN_RSA_BITS: usize = 2048;

/// A key for verifying signatures. The algorithm comes from the key, never from the token.
pub struct IssuerKey {
    pub algorithm: Algorithm,
    pub key: DecodingKey,
}

type Keys = HashMap<String, Arc<IssuerKey>>;

/// No key is available to verify tokens with.
pub struct KeysUnavailable;

/// The reason why a fetch failed.
#[derive(Debug, Error)]
enum FetchError {
    #[error("{0}")]
    Request(#[from] reqwest::Error),
    #[error("status {0}")]
    Status(StatusCode),
    #[error("more than {MAX_SET_BYTES} bytes")]
    TooLarge,
    #[error("the answer is no set of keys: {0}")]
    NoSet(#[from] serde_json::Error),
}

// ANCHOR: issuer-keys
/// A cache of the issuer's keys. A token with a known key id never waits for the issuer.
pub struct IssuerKeys {
    client: Client,
    settings: KeySettings,
    known: RwLock<Option<(Arc<Keys>, Instant)>>,
    /// When an unknown id last caused a fetch. Locked during every fetch, so that fetches run
    /// one at a time, and an older response can't replace a newer one.
    asked_at: Mutex<Option<Instant>>,
    is_closed: AtomicBool,
    closing: watch::Sender<()>,
}

impl IssuerKeys {
    /// Starts a task that fetches the keys periodically.
    pub fn keep(settings: KeySettings) -> reqwest::Result<Arc<IssuerKeys>> {
        let client = Client::builder()
            .no_proxy()
            .redirect(Policy::none())
            .timeout(settings.timeout)
            .build()?;
        let (closing, mut closed) = watch::channel(());
        let keys = Arc::new(IssuerKeys {
            client,
            settings,
            known: RwLock::default(),
            asked_at: Mutex::default(),
            is_closed: AtomicBool::default(),
            closing,
        });
        let renewed = Arc::clone(&keys);
        tokio::spawn(async move {
            let renewal = async {
                loop {
                    let turn = renewed.asked_at.lock().await;
                    renewed.renew().await;
                    drop(turn);
                    sleep(renewed.settings.renewal).await;
                }
            };
            tokio::select! {
                () = renewal => {}
                _ = closed.changed() => {}
            }
        });
        Ok(keys)
    }

    /// The key with this id, or `None` if the issuer has no such key. An unknown id may belong
    /// to a new key, so the method then fetches the keys again, with a short time limit.
    pub async fn with_id(&self, id: &str) -> Result<Option<Arc<IssuerKey>>, KeysUnavailable> {
        if let Some(key) = self.in_force().and_then(|keys| keys.get(id).cloned()) {
            return Ok(Some(key));
        }
        // Requests that wait here share one fetch. After a timeout, the background task retries it.
        let _elapsed = timeout(self.settings.timeout, self.ask(id)).await;
        match self.in_force() {
            Some(keys) if !keys.is_empty() => Ok(keys.get(id).cloned()),
            _ => Err(KeysUnavailable),
        }
    }

    /// Fetches the keys, at most once per cooldown: anyone can send tokens with unknown ids.
    async fn ask(&self, id: &str) {
        let asked_at = self.asked_at.lock().await;
        let is_known = self.in_force().is_some_and(|keys| keys.contains_key(id));
        let too_soon = asked_at.is_some_and(|asked| asked.elapsed() < self.settings.cooldown);
        if !is_known && !too_soon && !self.is_closed.load(Ordering::Relaxed) {
            let _noted = NotedAtTheEnd(asked_at);
            self.renew().await;
        }
    }

    /// Stops fetching keys from the issuer.
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
        let _nobody_renews = self.closing.send(());
    }

    fn in_force(&self) -> Option<Arc<Keys>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let (keys, since) = known.as_ref()?;
        (since.elapsed() < self.settings.max_age).then(|| Arc::clone(keys))
    }

    /// Replaces the whole set, so withdrawn keys are dropped. A failed fetch changes nothing.
    async fn renew(&self) {
        match self.fetch().await {
            Ok(keys) => {
                let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
                *known = Some((Arc::new(keys), Instant::now()));
            }
            Err(error) => warn!("the keys of the issuer did not come: {error}"),
        }
    }

    async fn fetch(&self) -> Result<Keys, FetchError> {
        let mut response = self.client.get(&self.settings.url).send().await?;
        if response.status() != StatusCode::OK {
            return Err(FetchError::Status(response.status()));
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await? {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_SET_BYTES {
                return Err(FetchError::TooLarge);
            }
        }
        let set: KeySet = serde_json::from_slice(&body)?;
        // Skip unusable keys; the rest of the set is still used.
        let keys = set.keys.into_iter().filter_map(|key| {
            let published: PublishedKey = serde_json::from_value(key).ok()?;
            published.usable()
        });
        Ok(keys.collect())
    }
}

/// Records the end of a fetch, even if canceled, so that waiting requests don't repeat it.
struct NotedAtTheEnd<'a>(MutexGuard<'a, Option<Instant>>);

impl Drop for NotedAtTheEnd<'_> {
    fn drop(&mut self) {
        *self.0 = Some(Instant::now());
    }
}
// ANCHOR_END: issuer-keys

#[derive(Deserialize)]
struct KeySet {
    keys: Vec<Value>,
}

/// A key as the issuer publishes it (RFC 7517). Missing key parameters are empty.
#[derive(Deserialize)]
struct PublishedKey {
    kid: String,
    kty: String,
    #[serde(rename = "use")]
    usage: Option<String>,
    key_ops: Option<Vec<String>>,
    alg: Option<String>,
    #[serde(default)]
    crv: String,
    #[serde(default)]
    n: String,
    #[serde(default)]
    e: String,
    #[serde(default)]
    x: String,
    #[serde(default)]
    y: String,
}

impl PublishedKey {
    /// The key and its id, if the key is for signatures, supported, and strong enough.
    fn usable(self) -> Option<(String, Arc<IssuerKey>)> {
        let for_signatures = self.usage.is_none_or(|usage| usage == "sig")
            && self
                .key_ops
                .is_none_or(|ops| ops.iter().any(|op| op == "verify"));
        if !for_signatures {
            return None;
        }
        let (name, algorithm, key) = match (self.kty.as_str(), self.crv.as_str()) {
            ("RSA", _) if rsa_bits(&self.n)? >= MIN_RSA_BITS => {
                let key = DecodingKey::from_rsa_components(&self.n, &self.e);
                ("RS256", Algorithm::RS256, key)
            }
            ("EC", "P-256") => {
                let key = DecodingKey::from_ec_components(&self.x, &self.y);
                ("ES256", Algorithm::ES256, key)
            }
            ("OKP", "Ed25519") => {
                let key = DecodingKey::from_ed_components(&self.x);
                ("EdDSA", Algorithm::EdDSA, key)
            }
            _ => return None,
        };
        if self.alg.is_some_and(|alg| alg != name) {
            return None;
        }
        let key = key.ok()?;
        Some((self.kid, Arc::new(IssuerKey { algorithm, key })))
    }
}

/// The length of the modulus in bits, without leading zeros.
fn rsa_bits(modulus: &str) -> Option<usize> {
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(modulus).ok()?;
    let first = bytes.iter().position(|byte| *byte != 0)?;
    let zeros = bytes[first].leading_zeros() as usize;
    Some((bytes.len() - first) * 8 - zeros)
}
