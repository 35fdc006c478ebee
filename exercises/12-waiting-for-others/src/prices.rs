//! The prices, which come from another service: one client for all requests, a bounded number
//! of concurrent calls, and a time limit for each call.

#![expect(dead_code, reason = "delete these lines once calls are made")]

use std::time::Duration;

use rocket::serde::json::serde_json;
use serde::Deserialize;

use crate::{error::Error, object::Object, settings::PriceSettings};

/// The maximum size of an answer. One with a price has some 30 bytes.
const MAX_ANSWER_BYTES: usize = 4096;

// ANCHOR: prices
/// The client of the price service, shared by all requests.
pub struct Prices {
    // Two fields are missing: the client, and the permits.
    url: String,
    wait: Duration,
    limit: Duration,
    /// The maximum duration of a whole request for a record with its price.
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
    /// The call gets no permit in time, or its answer is late or contains no price.
    pub async fn of(&self, id: i32) -> Result<i64, Error> {
        let (wait, limit) = (self.wait, self.limit);
        let (no_place, late) = (Error::TooManyCalls, Error::PriceTooLate);
        todo!(
            "the price of {id}: {no_place:?} when no call begins in {wait:?}, {late:?} when it takes {limit:?}"
        )
    }

    /// Makes one call. Dropping the future before the answer arrives closes the connection.
    async fn call(&self, id: i32) -> Result<i64, Error> {
        let url = format!("{}/prices/{id}", self.url);
        todo!("ask {url} once, and read no more than {MAX_ANSWER_BYTES} bytes")
    }
}
// ANCHOR_END: prices

// ANCHOR: answer
/// The answer of the price service. Other members are ignored.
#[derive(Deserialize)]
struct Price {
    id: i32,
    cents: i64,
}

/// The price in an answer, if it is the price of this record.
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
