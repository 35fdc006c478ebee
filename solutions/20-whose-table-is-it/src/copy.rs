//! `service copy`: brings old visits, from the time before the outbox, into this service's table, while new ones come.

use sqlx::PgConnection;

/// The most rows that are copied at once.
const BATCH: i64 = 1000;

// ANCHOR: copy
/// Copies every visit that no event has told of, and returns how many it has looked at. A record that an
/// event was applied to is left alone: the event is newer.
///
/// # Errors
/// One of the databases does not answer. What is copied stays copied.
pub async fn copy(from: &mut PgConnection, to: &mut PgConnection) -> sqlx::Result<usize> {
    let (mut after, mut copied) = (i64::MIN, 0);
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
        copied += ids.len();
        sqlx::query(
            "WITH new AS ( \
                 INSERT INTO visits_applied (id, epoch, seq) SELECT id, 0, 0 FROM unnest($1) AS id \
                 ON CONFLICT DO NOTHING RETURNING id) \
             UPDATE records SET visited = true FROM new WHERE records.id = new.id",
        )
        .bind(ids)
        .execute(&mut *to)
        .await?;
    }
}
// ANCHOR_END: copy
