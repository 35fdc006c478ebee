//! The cache of the issuer's keys: renewed in the background, and fetched on demand if a token
//! names an unknown key.

use std::{
    sync::{Arc, PoisonError, RwLock},
    time::{Duration, Instant},
};

use rocket::{
    Shutdown,
    fairing::AdHoc,
    tokio::{select, spawn, sync::Mutex, time::sleep},
};
use tracing::warn;

use crate::{
    causes::with_causes,
    issuer::Issuer,
    key_set::{Key, KeySet},
    refused::{Reason, Refused},
    settings::TokenSettings,
};

// ANCHOR: keys
/// The issuer's keys, cached for all requests.
pub struct Keys {
    issuer: Issuer,
    /// The issuer's last valid response. Locked only briefly, never across an `.await`.
    last: RwLock<Option<Fetched>>,
    /// Locked during a fetch. Holds the time of the last fetch that an unknown key id caused.
    asking: Mutex<Option<Instant>>,
    renewal: Duration,
    cooldown: Duration,
    max_age: Duration,
}

/// A valid response from the issuer.
#[derive(Clone)]
struct Fetched {
    keys: Arc<KeySet>,
    at: Instant,
}
// ANCHOR_END: keys

impl Keys {
    /// Creates an empty cache, which the first fetch fills.
    pub fn new(settings: &TokenSettings) -> Keys {
        Keys {
            issuer: Issuer::new(settings),
            last: RwLock::default(),
            asking: Mutex::default(),
            renewal: settings.renewal,
            cooldown: settings.cooldown,
            max_age: settings.max_age,
        }
    }

    // ANCHOR: get
    /// The key with this id. An unknown id triggers a fetch, but at most one per cooldown.
    ///
    /// # Errors
    /// The issuer has no such key, or its last valid response is too old.
    pub async fn get(&self, kid: &str) -> Result<Arc<Key>, Refused> {
        if let Some(key) = self.known(kid) {
            return Ok(key);
        }
        self.ask_for(kid).await;
        match self.current() {
            None => Err(Refused::NoKeys),
            Some(keys) => keys.get(kid).ok_or(Refused::Token(Reason::Key)),
        }
    }

    fn known(&self, kid: &str) -> Option<Arc<Key>> {
        self.current()?.get(kid)
    }

    /// The keys of the last valid response, or `None` if it is too old or has no usable key.
    fn current(&self) -> Option<Arc<KeySet>> {
        let last = self.last.read().unwrap_or_else(PoisonError::into_inner);
        let last = last.clone()?;
        let counts = last.at.elapsed() < self.max_age && !last.keys.is_empty();
        counts.then_some(last.keys)
    }

    /// Fetches the keys because of an unknown key id. Requests that arrive in the meantime wait for
    /// this fetch, and use its result.
    async fn ask_for(&self, kid: &str) {
        let mut asked = self.asking.lock().await;
        let just_asked = asked.is_some_and(|asked| asked.elapsed() < self.cooldown);
        if just_asked || self.known(kid).is_some() {
            return;
        }
        // Also set before the fetch: if this request is canceled, the cooldown applies anyway.
        *asked = Some(Instant::now());
        self.fetch().await;
        // The cooldown starts after the fetch, so waiting requests don't repeat one that timed out.
        *asked = Some(Instant::now());
    }
    // ANCHOR_END: get

    // ANCHOR: renew
    /// Fetches the keys periodically. A failure doesn't end the loop: the next attempt may succeed.
    async fn renew(&self) {
        loop {
            let turn = self.asking.lock().await;
            self.fetch().await;
            drop(turn);
            sleep(self.renewal).await;
        }
    }

    /// Renews the keys until the service shuts down. Then `select!` drops the unfinished
    /// future, even in the middle of a fetch, and so closes the connection.
    async fn renew_until(&self, shutdown: Shutdown) {
        select! {
            () = self.renew() => {}
            () = shutdown => {}
        }
    }

    /// Fetches the keys. They replace the cached keys, so withdrawn keys are refused.
    /// If the fetch fails, the cached keys stay.
    async fn fetch(&self) {
        let at = Instant::now();
        match self.issuer.key_set().await {
            Ok(keys) => {
                let keys = Arc::new(keys);
                let mut last = self.last.write().unwrap_or_else(PoisonError::into_inner);
                *last = Some(Fetched { keys, at });
            }
            Err(error) => warn!("the keys are not renewed: {}", with_causes(&error)),
        }
    }
    // ANCHOR_END: renew
}

/// A fairing that renews the keys in the background, from liftoff to shutdown.
pub fn renewed_on_liftoff(keys: &Arc<Keys>) -> AdHoc {
    let keys = Arc::clone(keys);
    AdHoc::on_liftoff("renewal of keys", move |rocket| {
        let shutdown = rocket.shutdown();
        Box::pin(async move {
            spawn(async move { keys.renew_until(shutdown).await });
        })
    })
}
