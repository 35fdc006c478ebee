//! The issuer's keys, cached: fetched in the background, and on demand when a token
//! names a new one.

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
/// The keys, shared by all requests.
pub struct Keys {
    issuer: Issuer,
    /// The last good answer of the issuer. Locked only briefly, never across an `.await`.
    last: RwLock<Option<Fetched>>,
    /// Held while the issuer is asked. Inside: when that was last due to an unknown key.
    asking: Mutex<Option<Instant>>,
    renewal: Duration,
    cooldown: Duration,
    max_age: Duration,
}

/// A good answer of the issuer.
#[derive(Clone)]
struct Fetched {
    keys: Arc<KeySet>,
    at: Instant,
}
// ANCHOR_END: keys

impl Keys {
    /// Knows no key yet.
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
    /// The key with this id. If it is unknown, the issuer is asked, unless it was a moment ago.
    ///
    /// # Errors
    /// The issuer has no such key, or its last answer is too old.
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

    /// The keys of the last good answer; none if it is too old, or has no usable key.
    fn current(&self) -> Option<Arc<KeySet>> {
        let last = self.last.read().unwrap_or_else(PoisonError::into_inner);
        let last = last.clone()?;
        let counts = last.at.elapsed() < self.max_age && !last.keys.is_empty();
        counts.then_some(last.keys)
    }

    /// Asks the issuer because of an unknown key. Requests that arrive meanwhile wait for its answer, and
    /// find the key, or that there is none.
    async fn ask_for(&self, kid: &str) {
        let mut asked = self.asking.lock().await;
        let just_asked = asked.is_some_and(|asked| asked.elapsed() < self.cooldown);
        if just_asked || self.known(kid).is_some() {
            return;
        }
        // Noted before the fetch as well: a request dropped halfway has asked, too.
        *asked = Some(Instant::now());
        self.fetch().await;
        // Counted from the end: requests that waited for a silent issuer don't ask one by one.
        *asked = Some(Instant::now());
    }
    // ANCHOR_END: get

    // ANCHOR: renew
    /// Fetches the keys, again and again. A failure doesn't end this: the next attempt may succeed.
    async fn renew(&self) {
        loop {
            let turn = self.asking.lock().await;
            self.fetch().await;
            drop(turn);
            sleep(self.renewal).await;
        }
    }

    /// Renews the keys until the service is told to stop, even in the middle of a fetch: `select!` drops
    /// what it no longer waits for, and the connection with it.
    async fn renew_until(&self, shutdown: Shutdown) {
        select! {
            () = self.renew() => {}
            () = shutdown => {}
        }
    }

    /// Asks the issuer. Its answer replaces the known keys: a withdrawn key is no longer valid.
    /// If it doesn't answer, the known keys stay.
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

/// Renews the keys in the background, from the start of the service to its end.
pub fn renewed_on_liftoff(keys: &Arc<Keys>) -> AdHoc {
    let keys = Arc::clone(keys);
    AdHoc::on_liftoff("renewal of keys", move |rocket| {
        let shutdown = rocket.shutdown();
        Box::pin(async move {
            spawn(async move { keys.renew_until(shutdown).await });
        })
    })
}
