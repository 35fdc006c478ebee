//! `service copy`: backfills visits that predate the outbox, while new visits keep arriving.

use sqlx::PgConnection;

/// The maximum number of rows per batch.
const BATCH: i64 = 1000;

/// The result of a copy.
#[derive(Debug, Default)]
pub struct Copied {
    /// The number of visits that were examined.
    pub looked_at: usize,
    /// The ids of visits whose record is missing from this service's table.
    pub unknown: Vec<i32>,
}

// ANCHOR: copy
/// Copies every visit, unless an event was already applied to the record: events are newer.
/// A record that is missing from this table doesn't stop the copy.
///
/// # Errors
/// One of the databases does not answer. Visits that were already copied stay copied.
pub async fn copy(from: &mut PgConnection, to: &mut PgConnection) -> sqlx::Result<Copied> {
    let (mut after, mut copied) = (i64::MIN, Copied::default());
    loop {
        let ids: Vec<i32> = sqlx::query_scalar(
            "SELECT id FROM records WHERE visited AND id > $1 ORDER BY id LIMIT $2",
        )
        .bind(after)
        .bind(BATCH)
        .fetch_all(&mut *from)
        .await?;
        let Some(&last) = ids.last() else {
            return Ok(copied);
        };
        after = last.into();
        copied.looked_at += ids.len();
        let unknown: Vec<i32> = sqlx::query_scalar(
            "WITH known AS (SELECT id FROM records WHERE id = ANY($1)), \
             new AS ( \
                 INSERT INTO visits_applied (id, epoch, seq) SELECT id, 0, 0 FROM known \
                 ON CONFLICT DO NOTHING RETURNING id), \
             copied AS (UPDATE records SET visited = true FROM new WHERE records.id = new.id) \
             SELECT unnest($1) EXCEPT SELECT id FROM known ORDER BY 1",
        )
        .bind(ids)
        .fetch_all(&mut *to)
        .await?;
        copied.unknown.extend(unknown);
    }
}
// ANCHOR_END: copy
