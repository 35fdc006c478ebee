//! In front of the Kotlin service: what this service doesn't own yet is passed on.

use std::time::{Duration, Instant};

use reqwest::Method;
use rocket::{http::Status, serde::json::Value, tokio::time::sleep};

use crate::{
    error::Error,
    kotlin::{Kotlin, Passed},
    settings::Settings,
};

/// How long a visit waits for the end of a switch.
const PATIENCE: Duration = Duration::from_secs(2);
/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(20);

/// The way on, for what isn't owned here.
pub struct Front {
    /// None where this service is alone.
    pub kotlin: Option<Kotlin>,
}

impl Front {
    /// Opens nothing yet.
    pub fn new(settings: &Settings) -> Front {
        let kotlin = Kotlin::new(settings);
        Front { kotlin }
    }

    /// A request begins, which may have to wait for the end of a switch.
    pub fn begin(&self) -> Turn<'_> {
        let (kotlin, began) = (self.kotlin.as_ref(), Instant::now());
        Turn { kotlin, began }
    }
}

// ANCHOR: turn
/// A request that this service doesn't own, for now.
pub struct Turn<'f> {
    kotlin: Option<&'f Kotlin>,
    began: Instant,
}

impl Turn<'_> {
    /// Passes a request on. None when the other service refuses it as well: there is a switch, and this
    /// one has to be asked again. A visit may be repeated.
    ///
    /// # Errors
    /// Nobody answers.
    pub async fn pass_on(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Option<Passed>, Error> {
        let kotlin = self.kotlin.ok_or(Error::OwnedElsewhere)?;
        let passed = kotlin.ask(method, path, body).await?;
        if passed.status == Status::ServiceUnavailable && self.began.elapsed() < PATIENCE {
            sleep(PAUSE).await;
            return Ok(None);
        }
        Ok(Some(passed))
    }
}
// ANCHOR_END: turn
