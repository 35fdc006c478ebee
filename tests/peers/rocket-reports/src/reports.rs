//! Routes that create, read and change a single report.

use rocket::{
    Request, Response, State, get,
    http::{Header, Status},
    patch, post,
    response::{self, Responder},
    serde::json::Json,
};
use serde::{Deserialize, Deserializer};

use crate::{
    api_key::Client,
    body::Body,
    conditions::{IfMatch, IfNoneMatch},
    database::Database,
    error::{Error, refused},
    idempotency::{IdempotencyKey, add_once},
    report::{NewReport, Report, Status as ReportStatus, Text},
};

/// The response to a successful request.
pub enum Answer {
    Made(Report),
    Current(Report),
    NotModified(Report),
}

impl<'r> Responder<'r, 'static> for Answer {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'static> {
        let (status, report) = match self {
            Answer::Made(report) => (Status::Created, report),
            Answer::Current(report) => (Status::Ok, report),
            Answer::NotModified(report) => (Status::NotModified, report),
        };
        let (etag, location) = (report.etag(), format!("/reports/{}", report.id));
        let mut response = match status {
            Status::NotModified => Response::new(),
            _ => Json(report).respond_to(request)?,
        };
        response.set_status(status);
        response.set_header(Header::new("ETag", etag));
        if status == Status::Created {
            response.set_header(Header::new("Location", location));
        }
        Ok(response)
    }
}

/// `POST /reports`: 201 with the report. A retry with the same key gets the same response.
#[post("/reports", data = "<new>")]
pub async fn report(
    client: Client,
    key: Result<IdempotencyKey, Error>,
    database: &State<Database>,
    new: Result<Body<NewReport>, Error>,
) -> Result<Answer, Error> {
    let (key, Body(new)) = (key?, new?);
    let first = database
        .write(async |connection| add_once(connection, &client, &key, &new).await)
        .await?;
    if !first.is_of(&new) {
        let detail =
            "this Idempotency-Key came with another report before; a new report needs a new key";
        return Err(refused(Status::UnprocessableEntity, detail));
    }
    Ok(Answer::Made(first))
}

/// The report with this id.
async fn find(database: &Database, id: i64) -> Result<Report, Error> {
    let report: Option<Report> = database
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
    report.ok_or_else(|| refused(Status::NotFound, detail))
}

/// `GET /reports/{id}`: 200 with the report, or 304 if the client already has this version.
#[get("/reports/<id>")]
pub async fn read(
    _client: Client,
    id: i64,
    known: Result<IfNoneMatch, Error>,
    database: &State<Database>,
) -> Result<Answer, Error> {
    let known = known?;
    let report = find(database, id).await?;
    if known.has(report.version) {
        return Ok(Answer::NotModified(report));
    }
    Ok(Answer::Current(report))
}

/// The changes to a report.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    #[serde(default, deserialize_with = "not_null")]
    status: Option<ReportStatus>,
    #[serde(default, deserialize_with = "not_null")]
    text: Option<Text>,
}

/// Rejects `null`, which serde would accept for an `Option`: a member can only be left out.
fn not_null<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    value: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(value).map(Some)
}

/// `PATCH /reports/{id}`: 200 with the changed report; 412 if the client's version is outdated.
///
/// The `UPDATE` itself compares the version, which could change after a separate `SELECT`.
#[patch("/reports/<id>", data = "<change>")]
pub async fn change(
    _client: Client,
    id: i64,
    if_match: Result<IfMatch, Error>,
    database: &State<Database>,
    change: Result<Body<Change>, Error>,
) -> Result<Answer, Error> {
    let (IfMatch(versions), Body(change)) = (if_match?, change?);
    if change.status.is_none() && change.text.is_none() {
        let detail = "a change has a status, a text, or both";
        return Err(refused(Status::UnprocessableEntity, detail));
    }
    let changed: Option<Report> = database
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
        return Ok(Answer::Current(report));
    }
    // The id or the version didn't match: `find` tells which, because reports are never deleted.
    find(database, id).await?;
    let detail = "the report has changed since you read it; read it again";
    Err(refused(Status::PreconditionFailed, detail))
}
