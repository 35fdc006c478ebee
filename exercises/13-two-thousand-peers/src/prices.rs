//! The client of the price service: one HTTP client for all requests, a bounded number of
//! concurrent calls, and a time limit for each call.

use std::time::Duration;

use reqwest::{Client, StatusCode, redirect::Policy, retry};
use rocket::{
    serde::json::serde_json,
    tokio::{sync::Semaphore, time::timeout},
};
use serde::Deserialize;

use crate::{error::Error, object::Object, settings::PriceSettings};

/// The maximum size of a response, in bytes. A response with a price has about 30.
const MAX_ANSWER_BYTES: usize = 4096;

// ANCHOR: prices
/// The client of the price service, shared by all requests.
pub struct Prices {
    /// Shared by all requests, because the client keeps a pool of open connections.
    client: Client,
    url: String,
    /// Limits the concurrent calls: one permit per call.
    places: Semaphore,
    wait: Duration,
    limit: Duration,
    /// The maximum duration of a whole request that needs a price.
    pub deadline: Duration,
}

impl Prices {
    /// Opens no connection yet.
    #[expect(
        clippy::expect_used,
        reason = "this fails only where TLS is to be set up, and there is none in this build"
    )]
    pub fn new(url: &str, settings: &PriceSettings) -> Prices {
        let limit = settings.limit.get() as usize;
        let client = Client::builder()
            .no_proxy()
            .redirect(Policy::none())
            .retry(retry::never())
            .pool_max_idle_per_host(limit)
            .build()
            .expect("a client without TLS");
        Prices {
            client,
            url: url.to_owned(),
            places: Semaphore::new(limit),
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
        // Dropping `_place` returns the permit, at the end or when this future is canceled.
        let Ok(Ok(_place)) = timeout(self.wait, self.places.acquire()).await else {
            return Err(Error::TooManyCalls);
        };
        match timeout(self.limit, self.call(id)).await {
            Ok(result) => result,
            Err(_elapsed) => Err(Error::PriceTooLate),
        }
    }

    /// Makes one call. Dropping the future before the response arrives closes the connection.
    async fn call(&self, id: i32) -> Result<i64, Error> {
        let url = format!("{}/prices/{id}", self.url);
        let mut answer = self.client.get(url).send().await?;
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await? {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_ANSWER_BYTES {
                return Err(Error::NoPrice(format!(
                    "more than {MAX_ANSWER_BYTES} bytes"
                )));
            }
        }
        match answer.status() {
            StatusCode::OK => cents_in(&body, id),
            status => Err(Error::NoPrice(format!("status {status}"))),
        }
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
