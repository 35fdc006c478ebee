//! `GET /price/<id>`: reads one record by its id, together with its price.

use rocket::{State, get, serde::json::Json};
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
    with_price(id, database, prices).await.map(Json)
}

/// Waits for the record, then for the price.
async fn with_price(id: i32, database: &Database, prices: &Prices) -> Result<PricedRecord, Error> {
    let record = find(id, database).await?;
    let cents = prices.of(id).await?;
    Ok(PricedRecord { record, cents })
}
// ANCHOR_END: price
