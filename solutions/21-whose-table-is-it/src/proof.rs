//! `service proof`: compares the visits in both tables, and lists the records that differ.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::Duration,
};

use rocket::tokio::time::sleep;
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
    let ranges: BTreeSet<i32> = theirs.keys().chain(ours.keys()).copied().collect();
    let mut ids = BTreeSet::new();
    for range in ranges {
        if theirs.get(&range) != ours.get(&range) {
            let (theirs, ours) = (visited(kotlin, range).await?, visited(rust, range).await?);
            ids.extend(theirs.symmetric_difference(&ours));
        }
    }
    // The two tables were read at different moments, so only a lasting difference counts.
    sleep(PAUSE).await;
    let (theirs, ours) = (settled(kotlin, &ids).await?, settled(rust, &ids).await?);
    let (later, again) = (settled(kotlin, &ids).await?, settled(rust, &ids).await?);
    ids.retain(|id| match (theirs.get(id), ours.get(id)) {
        (Some(a), Some(b)) => a != b && later.get(id) == Some(a) && again.get(id) == Some(b),
        // An event for this record is still under way.
        _ => false,
    });
    Ok(ids)
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
