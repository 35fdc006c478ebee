//! Routes that create, read and change a single report.

use axum::{
    Json,
    extract::{FromRequestParts, Path, State},
    http::{
        HeaderMap, StatusCode,
        header::{ETAG, LOCATION},
        request::Parts,
    },
    response::{IntoResponse, Response},
};
use serde::{Deserialize, Deserializer};

use crate::{
    Service,
    api_key::Client,
    body::Body,
    conditions::{has_already, if_match},
    error::{Error, refused},
    idempotency::{IdempotencyKey, add_once},
    report::{NewReport, Report, Status, Text},
};

/// `POST /reports`: 201 with the report. A retry with the same key gets the same response.
pub async fn report(
    client: Client,
    key: IdempotencyKey,
    State(service): State<Service>,
    Body(new): Body<NewReport>,
) -> Result<Response, Error> {
    let first = service
        .database
        .write(async |connection| add_once(connection, &client, &key, &new).await)
        .await?;
    if !first.is_of(&new) {
        let detail =
            "this Idempotency-Key came with another report before; a new report needs a new key";
        return Err(refused(StatusCode::UNPROCESSABLE_ENTITY, detail));
    }
    let location = format!("/reports/{}", first.id);
    let headers = [(LOCATION, location), (ETAG, first.etag())];
    Ok((StatusCode::CREATED, headers, Json(first)).into_response())
}

/// The `{id}` of the path.
pub struct Id(i64);

impl FromRequestParts<Service> for Id {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, service: &Service) -> Result<Id, Error> {
        let path = Path::from_request_parts(parts, service).await;
        let Path(id) =
            path.map_err(|_| refused(StatusCode::NOT_FOUND, "an id is a whole number"))?;
        Ok(Id(id))
    }
}

/// The report with this id.
async fn find(service: &Service, id: i64) -> Result<Report, Error> {
    let report: Option<Report> = service
        .database
        .read(async |connection| {
            sqlx::query_as(
                "SELECT id, tag, kind, text, status, version, reported_at FROM reports WHERE id = $1",
            )
            .bind(id)
            .fetch_optional(connection)
            .await
        })
        .await?;
    let detail = format!("there is no report with id {id}");
    report.ok_or_else(|| refused(StatusCode::NOT_FOUND, detail))
}

/// `GET /reports/{id}`: 200 with the report, or 304 if the client already has this version.
pub async fn read(
    _client: Client,
    Id(id): Id,
    headers: HeaderMap,
    State(service): State<Service>,
) -> Result<Response, Error> {
    let report = find(&service, id).await?;
    let etag = [(ETAG, report.etag())];
    if has_already(&headers, report.version)? {
        return Ok((StatusCode::NOT_MODIFIED, etag).into_response());
    }
    Ok((etag, Json(report)).into_response())
}

/// The changes to a report.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    #[serde(default, deserialize_with = "not_null")]
    status: Option<Status>,
    #[serde(default, deserialize_with = "not_null")]
    text: Option<Text>,
}

/// Rejects `null`, which serde would accept for an `Option`: a member can only be left out.
fn not_null<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    value: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(value).map(Some)
}

// ANCHOR: change
/// `PATCH /reports/{id}`: 200 with the changed report; 412 if the client's version is outdated.
///
/// The `UPDATE` itself compares the version, which could change after a separate `SELECT`.
pub async fn change(
    _client: Client,
    Id(id): Id,
    headers: HeaderMap,
    State(service): State<Service>,
    Body(change): Body<Change>,
) -> Result<Response, Error> {
    let versions = if_match(&headers)?;
    if change.status.is_none() && change.text.is_none() {
        let detail = "a change has a status, a text, or both";
        return Err(refused(StatusCode::UNPROCESSABLE_ENTITY, detail));
    }
    let changed: Option<Report> = service
        .database
        .write(async |connection| {
            sqlx::query_as(
                "UPDATE reports \
                 SET status = coalesce($3, status), text = coalesce($4, text), version = version + 1 \
                 WHERE id = $1 AND ($2::bigint[] IS NULL OR version = ANY ($2)) \
                 RETURNING id, tag, kind, text, status, version, reported_at",
            )
            .bind(id)
            .bind(versions)
            .bind(change.status)
            .bind(&change.text)
            .fetch_optional(connection)
            .await
        })
        .await?;
    if let Some(report) = changed {
        return Ok(([(ETAG, report.etag())], Json(report)).into_response());
    }
    // The id or the version didn't match: `find` tells which, because reports are never deleted.
    find(&service, id).await?;
    let detail = "the report has changed since you read it; read it again";
    Err(refused(StatusCode::PRECONDITION_FAILED, detail))
}
// ANCHOR_END: change
