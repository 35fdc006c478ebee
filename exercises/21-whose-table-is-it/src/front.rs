//! In front of the Kotlin service: requests for what this service doesn't own yet are passed on.

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

/// How long a visit waits for the end of a switch.
const PATIENCE: Duration = Duration::from_secs(2);
/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(20);

/// Passes on the requests for what isn't owned here.
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

    /// Begins a request, which may have to wait for the end of a switch.
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
    /// Passes a request on. `None` during a switch: then ask this service again. A visit may
    /// be repeated.
    ///
    /// While nobody owns visits, nothing is passed on: the other service may be open already, but reads
    /// are still answered here.
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
