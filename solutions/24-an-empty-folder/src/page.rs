//! `GET /reports`: the open reports, page by page.

use axum::{
    Json,
    extract::{Query, State, rejection::QueryRejection},
    http::StatusCode,
};
use serde::{Deserialize, Serialize};

use crate::{
    Service,
    api_key::Client,
    error::{Error, refused},
    report::{Report, Tag},
};

/// The page that a client requests.
#[derive(Deserialize)]
pub struct PageQuery {
    /// Only reports at this tag.
    tag: Option<Tag>,
    /// Only reports with ids greater than this.
    #[serde(default)]
    after: i64,
    /// The maximum number of reports on a page.
    #[serde(default = "twenty")]
    limit: i64,
}

fn twenty() -> i64 {
    20
}

/// One page. `next` is the value of `after` for the following page, if there is one.
#[derive(Serialize)]
pub struct Page {
    reports: Vec<Report>,
    next: Option<i64>,
}

/// Returns the open reports with the lowest ids above `after`. Ids are never reused, and become
/// visible in order, so following `next` finds each report once, despite concurrent writes.
pub async fn open_reports(
    _client: Client,
    State(service): State<Service>,
    query: Result<Query<PageQuery>, QueryRejection>,
) -> Result<Json<Page>, Error> {
    let Query(PageQuery { tag, after, limit }) =
        query.map_err(|rejection| refused(StatusCode::BAD_REQUEST, rejection.body_text()))?;
    if after < 0 || !(1..=100).contains(&limit) {
        let detail = "after must be 0 or more, and limit 1 to 100";
        return Err(refused(StatusCode::BAD_REQUEST, detail));
    }
    // Fetch one record more than requested: if it exists, there is a next page.
    let mut reports: Vec<Report> = service
        .database
        .read(async |connection| {
            sqlx::query_as(
                "SELECT id, tag, kind, text, status, version, reported_at FROM reports \
                 WHERE status = 'open' AND id > $1 AND ($2::integer IS NULL OR tag = $2) \
                 ORDER BY id LIMIT $3",
            )
            .bind(after)
            .bind(tag)
            .bind(limit + 1)
            .fetch_all(connection)
            .await
        })
        .await?;

    let mut next = None;
    if i64::try_from(reports.len()).is_ok_and(|found| found > limit) {
        reports.pop();
        next = reports.last().map(|report| report.id);
    }
    Ok(Json(Page { reports, next }))
}
