//! `GET /price/{id}`, and the client of the price service. All requests share the client,
//! which limits the number of concurrent calls and the duration of each.

use std::{sync::Arc, time::Duration};

use axum::{Extension, Json, extract::State};
use reqwest::{Client, Request, StatusCode, redirect::Policy, retry};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::{sync::Semaphore, time::timeout, try_join};
use tracing::{Instrument, Span, field::Empty, info_span};
use tracing_opentelemetry::OpenTelemetrySpanExt;

use crate::{
    caller::{Allowed, Read},
    database::Database,
    error::Error,
    extract::Id,
    records::{Record, find},
    request_span,
    settings::PriceSettings,
};

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
    deadline: Duration,
}

impl Prices {
    /// Opens no connection yet.
    #[expect(
        clippy::expect_used,
        reason = "this fails only where TLS is to be set up, and there is none in this build"
    )]
    pub fn new(settings: &PriceSettings) -> Prices {
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
            url: settings.url.clone(),
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
        let mut request = self.client.get(url).build()?;
        let span = call_span(&request);
        request_span::pass_on(&span.context(), request.headers_mut());
        self.answer(request, id).instrument(span).await
    }

    /// Sends the request, and reads the price from the response.
    async fn answer(&self, request: Request, id: i32) -> Result<i64, Error> {
        let mut answer = self.client.execute(request).await?;
        let status = answer.status();
        Span::current().record("http.response.status_code", i64::from(status.as_u16()));
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await? {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_ANSWER_BYTES {
                return Err(Error::NoPrice(format!(
                    "more than {MAX_ANSWER_BYTES} bytes"
                )));
            }
        }
        match status {
            StatusCode::OK => cents_in(&body, id),
            status => Err(Error::NoPrice(format!("status {status}"))),
        }
    }
}

/// The span of a call to the price service, and the parent of that service's spans.
fn call_span(request: &Request) -> Span {
    let url = request.url(); // without the password: it is sent in a header
    info_span!(
        "call",
        otel.name = "GET /prices/{id}",
        otel.kind = "client",
        http.request.method = "GET",
        http.response.status_code = Empty,
        server.address = url.host_str(),
        server.port = url.port_or_known_default().map(i64::from),
        url.full = %url,
    )
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
    let no_price = |error: serde_json::Error| Error::NoPrice(error.to_string());
    let json: Value = serde_json::from_slice(body).map_err(no_price)?;
    // By itself, serde would also accept an array of the field values.
    if !json.is_object() {
        return Err(Error::NoPrice("no JSON object".into()));
    }
    match Price::deserialize(json).map_err(no_price)? {
        Price { id: other, .. } if other != id => {
            Err(Error::NoPrice(format!("the price of {other}")))
        }
        Price { cents, .. } => Ok(cents),
    }
}
// ANCHOR_END: answer

/// A record, and its price in cents.
#[derive(Serialize)]
pub struct PricedRecord {
    record: Record,
    cents: i64,
}

/// `GET /price/{id}`: the record with its price. Otherwise 400 or 404 as for `/read/{id}`,
/// 502 without a price, 503 if the database or a call permit is unavailable, 504 if late.
pub async fn price(
    _caller: Allowed<Read>,
    Id(id): Id,
    State(database): State<Database>,
    Extension(prices): Extension<Arc<Prices>>,
) -> Result<Json<PricedRecord>, Error> {
    match timeout(prices.deadline, with_price(id, &database, &prices)).await {
        Ok(priced) => priced.map(Json),
        Err(_elapsed) => Err(Error::PriceTooLate),
    }
}

/// Fetches the record and the price concurrently. If the record doesn't exist,
/// `try_join!` returns `NotFound` at once, and drops the call for the price.
async fn with_price(id: i32, database: &Database, prices: &Prices) -> Result<PricedRecord, Error> {
    let record = find(id, database);
    // `Ok`, so that a failed call doesn't end `try_join!` early: a missing record takes precedence.
    let price = async { Ok(prices.of(id).await) };
    let (record, cents) = try_join!(record, price)?;
    let cents = cents?;
    Ok(PricedRecord { record, cents })
}
