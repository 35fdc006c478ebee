//! `service proof`: compares the visits in both tables, and lists the records that differ.

#![expect(dead_code, reason = "delete this line once `differing` names rows")]

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::Duration,
};

use sqlx::PgConnection;

/// The pause before differing rows are compared again: the tables aren't read simultaneously.
const PAUSE: Duration = Duration::from_millis(200);

// ANCHOR: proof
/// The ids of the records that are visited in only one of the tables, although no event for
/// them is pending. Fingerprints per range of a thousand ids narrow down the ranges to compare.
///
/// # Errors
/// One of the databases does not answer.
pub async fn differing(
    kotlin: &mut PgConnection,
    rust: &mut PgConnection,
) -> sqlx::Result<BTreeSet<i32>> {
    let (theirs, ours) = (fingerprints(kotlin).await?, fingerprints(rust).await?);
    todo!("which ranges of {theirs:?} and {ours:?} differ, which rows in them, and do they still?")
}
// ANCHOR_END: proof

/// The fingerprints of the visited records, one per range of a thousand ids.
async fn fingerprints(connection: &mut PgConnection) -> sqlx::Result<BTreeMap<i32, String>> {
    let rows: Vec<(i32, String)> = sqlx::query_as(
        "SELECT id / 1000, md5(string_agg(id::text, ',' ORDER BY id)) \
         FROM records WHERE visited GROUP BY 1",
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().collect())
}

/// The ids of the visited records in this range of a thousand ids.
async fn visited(connection: &mut PgConnection, range: i32) -> sqlx::Result<BTreeSet<i32>> {
    let ids: Vec<i32> =
        sqlx::query_scalar("SELECT id FROM records WHERE visited AND id / 1000 = $1")
            .bind(range)
            .fetch_all(connection)
            .await?;
    Ok(ids.into_iter().collect())
}

/// Whether each of these records is visited. A record that is missing from this table counts as
/// not visited. A record with a pending event in this database's outbox is left out.
async fn settled(
    connection: &mut PgConnection,
    ids: &BTreeSet<i32>,
) -> sqlx::Result<HashMap<i32, bool>> {
    let ids: Vec<i32> = ids.iter().copied().collect();
    let rows: Vec<(i32, bool)> = sqlx::query_as(
        "SELECT id, coalesce(visited, false) FROM unnest($1) AS asked (id) \
         LEFT JOIN records USING (id) WHERE NOT EXISTS \
         (SELECT FROM visits_outbox WHERE visits_outbox.id = asked.id AND reason IS NULL)",
    )
    .bind(ids)
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().collect())
}
