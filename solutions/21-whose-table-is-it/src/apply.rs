//! Applies one service's events to the other service's table: each once, and never a stale one.

use std::time::Duration;

use rocket::tokio::time::timeout;
use sqlx::{Connection, FromRow, PgConnection, postgres::PgListener};
use tracing::warn;

/// The maximum number of events claimed in one transaction.
const BATCH: i64 = 100;

// ANCHOR: event
/// A change to a record: it was marked as visited, or the mark was removed.
#[derive(Debug, FromRow)]
pub struct Event {
    pub seq: i64,
    pub epoch: i64,
    pub id: i32,
    pub visited: bool,
}
// ANCHOR_END: event

// ANCHOR: batch
/// Claims up to `BATCH` events of one outbox that no other worker has claimed, applies them
/// to the other database, and acknowledges them. Returns the number of claimed events.
///
/// # Errors
/// One of the databases does not answer. The claimed events are then released.
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
/// Applies one event, in one statement, unless the record already has the event or a newer one.
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

/// Whether the event itself is at fault, so that a retry can't help: its data is invalid
/// or violates a constraint (SQLSTATE classes 22 and 23). Every other error is transient.
fn is_poison(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    code.is_some_and(|code| code.starts_with("22") || code.starts_with("23"))
}
// ANCHOR_END: apply

// ANCHOR: woken
/// Waits for a notification of an event, but returns after `poll` at the latest: a
/// listener whose connection is silently lost gets no notifications.
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
