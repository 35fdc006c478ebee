//! The issuer: it makes keys anew for each run, publishes those that it is told to, and signs whatever a test wants signed.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tokio::sync::Mutex;
use workshop_base::workspace::Workspace;

use super::TokenSettings;
use super::signer::{Key, Signer};
use super::upstream::{Conduct, Counts, Upstream, answer};

/// What tokens have as `iss`. Nothing is ever fetched from there.
pub const ISSUER: &str = "https://issuer.example";
/// The audience that the service is.
pub const AUDIENCE: &str = "records";
/// The subject of the tokens.
pub const SUBJECT: &str = "priya-7f3a";

/// The issuer; it is gone when this is dropped.
pub struct Issuer {
    /// The port, how it behaves, and what it counts: an upstream that says a set of keys.
    upstream: Upstream,
    pub signer: Signer,
    set: Mutex<Vec<Value>>,
}

/// The keys of a run.
pub struct Keys {
    /// RSA, the first.
    pub rsa: Key,
    /// RSA, the second.
    pub other: Key,
    pub p256: Key,
    pub ed25519: Key,
    /// RSA, with 1,024 bits.
    pub short: Key,
}

impl Keys {
    /// Makes them all.
    pub async fn make(signer: &Signer) -> anyhow::Result<Keys> {
        Ok(Keys {
            rsa: signer.key(json!({"rsa": 2048}), "RS256").await?,
            other: signer.key(json!({"rsa": 2048}), "RS256").await?,
            p256: signer.key(json!("p256"), "ES256").await?,
            ed25519: signer.key(json!("ed25519"), "EdDSA").await?,
            short: signer.key(json!({"rsa": 1024}), "RS256").await?,
        })
    }
}

/// The key as a JWK of this id, for signatures and for its own algorithm.
pub fn jwk(key: &Key, kid: &str) -> Value {
    jwk_with(key, json!({"kid": kid, "use": "sig", "alg": key.alg}))
}

/// The key as a JWK with these members besides its own.
pub fn jwk_with(key: &Key, members: Value) -> Value {
    let mut jwk = with(key.public.clone(), members);
    if let Some(jwk) = jwk.as_object_mut() {
        jwk.remove("pem");
    }
    jwk
}

/// The same object with these members; those that are `null` are left out.
pub fn with(mut object: Value, members: Value) -> Value {
    if let (Value::Object(all), Value::Object(members)) = (&mut object, members) {
        for (name, value) in members {
            match value {
                Value::Null => all.shift_remove(&name),
                value => all.insert(name, value),
            };
        }
    }
    object
}

/// The seconds since 1970, this many from now.
pub fn from_now(seconds: i64) -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_secs() as i64) + seconds
}

/// The header of a rightful token.
pub fn header(key: &Key, kid: &str) -> Value {
    json!({"typ": "at+jwt", "alg": key.alg, "kid": kid})
}

/// The payload of a rightful token with this scope.
pub fn payload(scope: &str) -> Value {
    json!({
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": SUBJECT,
        "exp": from_now(300),
        "scope": scope,
    })
}

impl Issuer {
    /// An issuer that publishes no key yet.
    pub async fn start(workspace: &Workspace) -> anyhow::Result<Issuer> {
        let issuer = Issuer {
            upstream: Upstream::start(Conduct::Hangs).await?,
            signer: Signer::start(workspace)?,
            set: Mutex::default(),
        };
        issuer.publish(Vec::new()).await;
        Ok(issuer)
    }

    /// A service that nobody may ask: it counts who does.
    pub async fn trap() -> anyhow::Result<Upstream> {
        Upstream::start(Conduct::WELL).await
    }

    /// What the service is told of it, with times that tests can wait for.
    pub fn settings(&self) -> TokenSettings {
        TokenSettings::new(format!("{}/jwks", self.upstream.url()))
    }

    /// From now on it publishes these keys.
    pub async fn publish(&self, set: Vec<Value>) {
        *self.set.lock().await = set;
        self.is_well().await;
    }

    /// Publishes one more.
    pub async fn publish_too(&self, jwk: Value) {
        self.set.lock().await.push(jwk);
        self.is_well().await;
    }

    /// Publishes it no longer.
    pub async fn withdraw(&self, kid: &str) {
        self.set.lock().await.retain(|jwk| jwk["kid"] != kid);
        self.is_well().await;
    }

    /// Answers with its keys again.
    pub async fn is_well(&self) {
        let set = json!({"keys": *self.set.lock().await}).to_string();
        self.conduct(Conduct::Says(answer("200 OK", &set)));
    }

    /// Does this from now on.
    pub fn conduct(&self, conduct: Conduct) {
        self.upstream.conduct(conduct);
    }

    /// Answers with this status, and with a set of keys that nobody may take.
    pub async fn answers(&self, status: &str) {
        self.conduct(Conduct::Says(answer(status, r#"{"keys":[]}"#)));
    }

    /// Leaves, and refuses connections.
    pub async fn leave(&self) {
        self.upstream.leave().await;
    }

    pub async fn come_back(&self) {
        self.upstream.come_back().await;
    }

    pub fn counts(&self) -> Counts {
        self.upstream.counts()
    }

    /// Returns when it is so.
    pub async fn until(&self, is_so: impl Fn(&Counts) -> bool) {
        self.upstream.until(is_so).await;
    }

    /// A token with this header and payload, signed as the key signs.
    pub async fn token(
        &self,
        key: &Key,
        header: &Value,
        payload: &Value,
    ) -> anyhow::Result<String> {
        let (header, payload) = (header.to_string(), payload.to_string());
        self.signer.token(key, key.alg, &header, &payload).await
    }

    /// A rightful token with this scope.
    pub async fn rightful(&self, key: &Key, kid: &str, scope: &str) -> anyhow::Result<String> {
        self.token(key, &header(key, kid), &payload(scope)).await
    }
}
