//! The proxy for the Kotlin service: forwards requests for data that isn't owned here yet.

use std::time::{Duration, Instant};

use reqwest::Method;
use rocket::{http::Status, serde::json::Value, tokio::time::sleep};

use crate::{
    database::Database,
    error::Error,
    kotlin::{Kotlin, Passed},
    ownership::kotlin_answers,
    settings::Settings,
};

/// The maximum time that a visit waits for a switch to end.
const PATIENCE: Duration = Duration::from_secs(2);
/// The pause before a request is retried during a switch.
const PAUSE: Duration = Duration::from_millis(20);

/// Forwards requests for data that this service doesn't own.
pub struct Front {
    /// `None` if this service runs alone.
    pub kotlin: Option<Kotlin>,
}

impl Front {
    /// Opens no connection yet.
    pub fn new(settings: &Settings) -> Front {
        let kotlin = Kotlin::new(settings);
        Front { kotlin }
    }

    /// Starts the clock for a request, which may have to wait for the end of a switch.
    pub fn begin(&self) -> Turn<'_> {
        let (kotlin, began) = (self.kotlin.as_ref(), Instant::now());
        Turn { kotlin, began }
    }
}

// ANCHOR: turn
/// A request that may have to be forwarded, and the time when it began.
pub struct Turn<'f> {
    kotlin: Option<&'f Kotlin>,
    began: Instant,
}

impl Turn<'_> {
    /// Forwards a request. Returns `None` during a switch: the caller should then try this
    /// service again, which is safe because visits are idempotent.
    ///
    /// While this database names no owner, no request is forwarded, even if the other
    /// service already accepts visits: reads are still answered here.
    ///
    /// # Errors
    /// The other service doesn't answer, or nobody owns visits for too long.
    pub async fn pass_on(
        &self,
        database: &Database,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Option<Passed>, Error> {
        let kotlin = self.kotlin.ok_or(Error::OwnedElsewhere)?;
        let is_late = self.began.elapsed() > PATIENCE;
        if database.read(kotlin_answers).await? {
            let passed = kotlin.ask(method, path, body).await?;
            if passed.status != Status::ServiceUnavailable || is_late {
                return Ok(Some(passed));
            }
        } else if is_late {
            return Err(Error::OwnedElsewhere);
        }
        sleep(PAUSE).await;
        Ok(None)
    }
}
// ANCHOR_END: turn
