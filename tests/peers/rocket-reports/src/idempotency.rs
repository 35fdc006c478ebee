//! Adds a report exactly once: a retry with the same key gets the original response.

use rocket::{
    Request, async_trait,
    http::Status,
    request::{FromRequest, Outcome},
};
use sqlx::{Connection, PgConnection};

use crate::{
    api_key::Client,
    conditions::outcome,
    error::{Error, refused},
    forgetting::ADDING,
    report::{NewReport, Report},
};

/// Identifies a report across retries: 1 to 64 letters, digits, `-` and `_`, set by the client.
pub struct IdempotencyKey(String);

#[async_trait]
impl<'r> FromRequest<'r> for IdempotencyKey {
    type Error = Error;

    async fn from_request(request: &'r Request<'_>) -> Outcome<IdempotencyKey, Error> {
        let key = request.headers().get_one("Idempotency-Key");
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let usable = key.filter(|key| (1..=64).contains(&key.len()) && key.bytes().all(allowed));
        let detail = "the header Idempotency-Key must be 1 to 64 letters, digits, - and _";
        let unusable = || refused(Status::BadRequest, detail);
        outcome(
            usable
                .map(|key| IdempotencyKey(key.to_owned()))
                .ok_or_else(unusable),
        )
    }
}

// ANCHOR: add-once
/// Adds a report. If the key was used before, returns the earlier report, as it was created.
///
/// One transaction stores the key and the report, so a crash leaves both or neither.
/// Of two concurrent requests with the same key, the second waits for the first.
pub async fn add_once(
    connection: &mut PgConnection,
    Client(client): &Client,
    IdempotencyKey(key): &IdempotencyKey,
    new: &NewReport,
) -> sqlx::Result<Report> {
    let mut transaction = connection.begin().await?;

    // Ids are assigned in one order, and transactions may commit in another. A client that has read
    // up to id 6 before 5 is committed would never see 5. So reports are added one at a time.
    sqlx::query("SELECT pg_advisory_xact_lock($1)")
        .bind(ADDING)
        .execute(&mut *transaction)
        .await?;
    sqlx::query(
        "WITH new AS ( \
             INSERT INTO idempotency_keys (client, key, report_id, tag, kind, text, reported_at) \
             VALUES ($1, $2, nextval(pg_get_serial_sequence('reports', 'id')), $3, $4, $5, now()) \
             ON CONFLICT DO NOTHING RETURNING report_id, tag, kind, text, reported_at \
         ) \
         INSERT INTO reports (id, tag, kind, text, reported_at) \
         SELECT report_id, tag, kind, text, reported_at FROM new",
    )
    .bind(&client[..])
    .bind(key)
    .bind(new.tag)
    .bind(new.kind)
    .bind(&new.text)
    .execute(&mut *transaction)
    .await?;
    let first = sqlx::query_as(
        "SELECT report_id AS id, tag, kind, text, 'open' AS status, 1::bigint AS version, reported_at \
         FROM idempotency_keys WHERE client = $1 AND key = $2",
    )
    .bind(&client[..])
    .bind(key)
    .fetch_one(&mut *transaction)
    .await?;

    transaction.commit().await?;
    Ok(first)
}
// ANCHOR_END: add-once
