//! `GET /read/<id>`: one record, by its id, in one round trip.

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
};
use deadpool_postgres::PoolError;
use serde::Serialize;
use tokio_postgres::Row;

use crate::{Shared, api_key::ApiKey, problem::Problem};

const SQL: &str = "SELECT id, value, odd, divisible_by_3, visited FROM records WHERE id = $1";

/// Reads one record.
#[derive(Serialize)]
pub struct Record {
    id: i32,
    value: String,
    odd: bool,
    divisible_by_3: bool,
    visited: bool,
}

/// Responds with the record, or with 400, 401, 404 or 503, as in the contract.
pub async fn read(
    _key: ApiKey,
    State(shared): State<Shared>,
    Path(id): Path<String>,
) -> Result<Json<Record>, Problem> {
    let id: i32 = id
        .parse()
        .map_err(|_| Problem::new(StatusCode::BAD_REQUEST, "id must be a 32-bit integer"))?;
    match find(&shared, id).await {
        Ok(Some(record)) => Ok(Json(record)),
        Ok(None) => Err(Problem::new(
            StatusCode::NOT_FOUND,
            format!("there is no record with id {id}"),
        )),
        Err(error) => {
            eprintln!("a read failed: {error}");
            Err(Problem::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "the database does not answer",
            ))
        }
    }
}

/// Finds the record, in one round trip once this connection has prepared the statement.
async fn find(shared: &Shared, id: i32) -> Result<Option<Record>, PoolError> {
    let client = shared.pool.get().await?;
    let statement = client.prepare_cached(SQL).await?;
    let row = client.query_opt(&statement, &[&id]).await?;
    row.as_ref()
        .map(record)
        .transpose()
        .map_err(PoolError::from)
}

fn record(row: &Row) -> Result<Record, tokio_postgres::Error> {
    Ok(Record {
        id: row.try_get(0)?,
        value: row.try_get(1)?,
        odd: row.try_get(2)?,
        divisible_by_3: row.try_get(3)?,
        visited: row.try_get(4)?,
    })
}
