//! `service copy`: brings old visits, from the time before the outbox, into this service's table, while new ones arrive.

use sqlx::PgConnection;

/// The maximum number of rows that are copied at once.
const BATCH: i64 = 1000;

/// The result of a copy.
#[derive(Debug, Default)]
pub struct Copied {
    /// How many visits were looked at.
    pub looked_at: usize,
    /// The ids of those whose record is missing from this service's table.
    pub unknown: Vec<i32>,
}

// ANCHOR: copy
/// Copies every visit without an event. A record that an event was applied to is left alone: the
/// event is newer. A record that is missing from this table doesn't hold up the others.
///
/// # Errors
/// One of the databases does not answer. What is copied stays copied.
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
