//! `GET /reports`: the open reports, page by page.

use std::{ops::RangeInclusive, str::FromStr};

use rocket::{State, get, http::Status, serde::json::Json};
use serde::Serialize;

use crate::{
    api_key::Client,
    database::Database,
    error::{Error, refused},
    report::Report,
};

/// One page. `next` is the value of `after` for the following page, if there is one.
#[derive(Serialize)]
pub struct Page {
    reports: Vec<Report>,
    next: Option<i64>,
}

/// Returns the open reports with the lowest ids above `after`. Ids are never reused, and
/// become visible in order, so following `next` finds each report once, even during writes.
///
/// Parameters are strings, because Rocket's `Option<i64>` is `None` for a malformed number.
#[get("/reports?<tag>&<after>&<limit>")]
pub async fn open_reports(
    _client: Client,
    tag: Option<&str>,
    after: Option<&str>,
    limit: Option<&str>,
    database: &State<Database>,
) -> Result<Json<Page>, Error> {
    let tag = number("tag", tag, 1..=i32::MAX)?;
    let after = number("after", after, 0..=i64::MAX)?.unwrap_or(0);
    let limit = number("limit", limit, 1..=100)?.unwrap_or(20_usize);
    // Fetch one record more than requested: if it exists, there is a next page.
    let mut reports: Vec<Report> = database
        .read(async |connection| {
            sqlx::query_as(
                "SELECT id, tag, kind, text, status, version, reported_at FROM reports \
                 WHERE status = 'open' AND id > $1 AND ($2::integer IS NULL OR tag = $2) \
                 ORDER BY id LIMIT $3",
            )
            .bind(after)
            .bind(tag)
            .bind(i64::try_from(limit + 1).unwrap_or(i64::MAX))
            .fetch_all(connection)
            .await
        })
        .await?;

    let mut next = None;
    if reports.len() > limit {
        reports.truncate(limit);
        next = reports.last().map(|report| report.id);
    }
    Ok(Json(Page { reports, next }))
}

/// Parses an optional parameter, which must be a number in this range.
fn number<N: FromStr + PartialOrd>(
    name: &str,
    text: Option<&str>,
    range: RangeInclusive<N>,
) -> Result<Option<N>, Error> {
    let Some(text) = text else {
        return Ok(None);
    };
    let number = text.parse().ok().filter(|number| range.contains(number));
    let malformed = || refused(Status::BadRequest, format!("{name} is no number that fits"));
    number.map(Some).ok_or_else(malformed)
}
