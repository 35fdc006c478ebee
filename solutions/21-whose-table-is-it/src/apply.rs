//! Applies the events of one service to the other's table: each event once, and never an older one over a newer one.

use std::time::Duration;

use rocket::tokio::time::timeout;
use sqlx::{Connection, FromRow, PgConnection, postgres::PgListener};
use tracing::warn;

/// The maximum number of events that are claimed together.
const BATCH: i64 = 100;

// ANCHOR: event
/// A change of a record: its visit, or that it was taken back.
#[derive(Debug, FromRow)]
pub struct Event {
    pub seq: i64,
    pub epoch: i64,
    pub id: i32,
    pub visited: bool,
}
// ANCHOR_END: event

// ANCHOR: batch
/// Claims events of one outbox, at most `BATCH` that no other worker has, applies them to the other
/// database, and acknowledges them. Returns how many there were.
///
/// # Errors
/// One of the databases does not answer. The claimed events are free again.
pub async fn batch(from: &mut PgConnection, to: &mut PgConnection) -> sqlx::Result<usize> {
    let mut claim = from.begin().await?;
    let events: Vec<Event> = sqlx::query_as(
        "SELECT seq, epoch, id, visited FROM visits_outbox \
         WHERE reason IS NULL ORDER BY seq LIMIT $1 FOR UPDATE SKIP LOCKED",
    )
    .bind(BATCH)
    .fetch_all(&mut *claim)
    .await?;
    let mut applied = Vec::new();
    for event in &events {
        match apply(to, event).await {
            Ok(()) => applied.push(event.seq),
            Err(error) if is_poison(&error) => {
                warn!(
                    seq = event.seq,
                    id = event.id,
                    "an event is put aside: {error}"
                );
                sqlx::query("UPDATE visits_outbox SET reason = $2 WHERE seq = $1")
                    .bind(event.seq)
                    .bind(error.to_string())
                    .execute(&mut *claim)
                    .await?;
            }
            Err(error) => return Err(error),
        }
    }
    sqlx::query("DELETE FROM visits_outbox WHERE seq = ANY($1)")
        .bind(applied)
        .execute(&mut *claim)
        .await?;
    claim.commit().await?;
    Ok(events.len())
}
// ANCHOR_END: batch

// ANCHOR: apply
/// Applies one event, in one statement. An event that isn't newer than the applied one changes nothing.
async fn apply(to: &mut PgConnection, event: &Event) -> sqlx::Result<()> {
    sqlx::query(
        "WITH newer AS ( \
             INSERT INTO visits_applied (id, epoch, seq) VALUES ($1, $2, $3) \
             ON CONFLICT (id) DO UPDATE SET epoch = excluded.epoch, seq = excluded.seq \
             WHERE (visits_applied.epoch, visits_applied.seq) < (excluded.epoch, excluded.seq) \
             RETURNING id) \
         UPDATE records SET visited = $4 FROM newer WHERE records.id = newer.id",
    )
    .bind(event.id)
    .bind(event.epoch)
    .bind(event.seq)
    .bind(event.visited)
    .execute(to)
    .await?;
    Ok(())
}

/// Whether the event itself is at fault, now and later: its data are invalid (22), or violate a
/// constraint (23). Everything else is an outage, and passes.
fn is_poison(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    code.is_some_and(|code| code.starts_with("22") || code.starts_with("23"))
}
// ANCHOR_END: apply

// ANCHOR: woken
/// Returns at a notification of an event, or when it's time to look anyway: a listener that
/// has lost its connection gets no notifications, and doesn't find out.
///
/// # Errors
/// The database does not answer.
pub async fn woken(listener: &mut PgListener, poll: Duration) -> sqlx::Result<()> {
    match timeout(poll, listener.recv()).await {
        Ok(heard) => heard.map(drop),
        Err(_elapsed) => Ok(()),
    }
}
// ANCHOR_END: woken
