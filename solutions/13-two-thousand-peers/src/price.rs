//! `GET /price/<id>`: reads one record by its id, together with its price.

use rocket::{
    State, get,
    serde::json::Json,
    tokio::{time::timeout, try_join},
};
use serde::Serialize;

use crate::{
    api_key::ApiKey, database::Database, error::Error, prices::Prices, read::find, record::Record,
};

// ANCHOR: priced-record
/// A record, and its price in cents.
#[derive(Serialize)]
pub struct PricedRecord {
    record: Record,
    cents: i64,
}
// ANCHOR_END: priced-record

// ANCHOR: price
/// Responds with the record and its price. Otherwise answers 400 or 404 like `/read/<id>`,
/// 502 if the price service fails, 503 if the database doesn't answer or too many requests
/// are waiting for prices, or 504 if the price takes too long.
#[get("/price/<id>")]
pub async fn price(
    _key: ApiKey,
    id: Result<i32, &str>,
    database: &State<Database>,
    prices: &State<Prices>,
) -> Result<Json<PricedRecord>, Error> {
    let id = id.map_err(|_| Error::BadRequest("id must be a 32-bit integer"))?;
    match timeout(prices.deadline, with_price(id, database, prices)).await {
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
// ANCHOR_END: price
