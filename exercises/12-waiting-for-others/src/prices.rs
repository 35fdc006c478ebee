//! The client of the price service: one HTTP client for all requests, a bounded number of
//! concurrent calls, and a time limit for each call.

#![expect(dead_code, reason = "delete these lines once calls are made")]

use std::time::Duration;

use rocket::serde::json::serde_json;
use serde::Deserialize;

use crate::{error::Error, object::Object, settings::PriceSettings};

/// The maximum size of a response, in bytes. A response with a price has about 30.
const MAX_ANSWER_BYTES: usize = 4096;

// ANCHOR: prices
/// The client of the price service, shared by all requests.
pub struct Prices {
    // Two fields are missing: the client, and the permits.
    url: String,
    wait: Duration,
    limit: Duration,
    /// The maximum duration of a whole request that needs a price.
    pub deadline: Duration,
}

impl Prices {
    /// Opens no connection yet.
    pub fn new(url: &str, settings: &PriceSettings) -> Prices {
        let _calls_at_a_time = settings.limit.get() as usize;
        Prices {
            url: url.to_owned(),
            wait: settings.wait,
            limit: settings.timeout,
            deadline: settings.deadline,
        }
    }

    /// The price of the record with this id, in cents.
    ///
    /// # Errors
    /// The call gets no permit in time, takes too long, or returns no price.
    pub async fn of(&self, id: i32) -> Result<i64, Error> {
        let (wait, limit) = (self.wait, self.limit);
        let (no_place, late) = (Error::TooManyCalls, Error::PriceTooLate);
        todo!(
            "the price of {id}: {no_place:?} when no call begins in {wait:?}, {late:?} when it takes {limit:?}"
        )
    }

    /// Makes one call. Dropping the future before the response arrives closes the connection.
    async fn call(&self, id: i32) -> Result<i64, Error> {
        let url = format!("{}/prices/{id}", self.url);
        todo!("ask {url} once, and read no more than {MAX_ANSWER_BYTES} bytes")
    }
}
// ANCHOR_END: prices

// ANCHOR: answer
/// The response of the price service. Unknown JSON members are ignored.
#[derive(Deserialize)]
struct Price {
    id: i32,
    cents: i64,
}

/// Reads the price from a response. Fails if the response is for a different record.
fn cents_in(body: &[u8], id: i32) -> Result<i64, Error> {
    match serde_json::from_slice(body) {
        Ok(Object(Price { id: other, .. })) if other != id => {
            Err(Error::NoPrice(format!("the price of {other}")))
        }
        Ok(Object(Price { cents, .. })) => Ok(cents),
        Err(error) => Err(Error::NoPrice(error.to_string())),
    }
}
// ANCHOR_END: answer
