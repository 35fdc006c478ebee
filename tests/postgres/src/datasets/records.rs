//! The data set `records`: its SQL, and the fingerprint that each size must have. The SQL files are in
//! `datasets/records`, where people find them; they are built into the tool.

use sqlx::PgConnection;

use crate::datasets::set::DataSet;
use crate::identity::short_hash;

/// Makes the table, without its primary key.
pub(super) const CREATE: &str =
    include_str!("../../../../datasets/records/migrations/0001_create_records.sql");

/// Adds the primary key.
pub(super) const ADD_PRIMARY_KEY: &str =
    include_str!("../../../../datasets/records/migrations/0002_add_the_primary_key.sql");

/// Inserts the rows from id `$1` to id `$2`.
pub(super) const ROWS: &str = include_str!("../../../../datasets/records/rows.sql");

/// Asks for the fingerprint.
const FINGERPRINT: &str = include_str!("../../../../datasets/records/fingerprint.sql");

/// The fingerprint that a data set must have, as the query of `fingerprint.sql` gives it.
pub(super) fn fingerprint(set: DataSet) -> &'static str {
    match set {
        DataSet::Small => "10000:1:10000:2d6f3bb643d65b6e",
        DataSet::Pi => "1000000:1:1000000:fb6688657c7cc8dd",
        DataSet::Full => "10000000:1:10000000:b5407981f1c29ee6",
    }
}

/// Stands for the fingerprint and the table's form in a database's name: rows or columns made in another way get
/// another name.
pub(super) fn edition(set: DataSet) -> String {
    short_hash(&[fingerprint(set), CREATE, ADD_PRIMARY_KEY])
}

/// Reads all rows and gives their fingerprint. A few seconds for ten million.
pub(super) async fn read_fingerprint(connection: &mut PgConnection) -> Result<String, sqlx::Error> {
    sqlx::query_scalar(FINGERPRINT).fetch_one(connection).await
}

/// How many ids the quick look draws.
const SAMPLES: i32 = 1000;

/// A quick look at a large data set, in milliseconds: its limits, a thousand rows drawn at random, and whether
/// PostgreSQL has counted a change since the rows were made. `None` when all is well, else what is not.
pub(super) async fn look(
    connection: &mut PgConnection,
    set: DataSet,
) -> Result<Option<String>, sqlx::Error> {
    let rows = i32::try_from(set.rows()).unwrap_or(i32::MAX);
    let (first, last): (Option<i32>, Option<i32>) =
        sqlx::query_as("SELECT min(id), max(id) FROM records")
            .fetch_one(&mut *connection)
            .await?;
    if (first, last) != (Some(1), Some(rows)) {
        let show = |id: Option<i32>| id.map_or_else(|| "none".to_owned(), |id| id.to_string());
        return Ok(Some(format!(
            "its ids run from {} to {}, not from 1 to {rows}",
            show(first),
            show(last)
        )));
    }
    let wrong: i64 = sqlx::query_scalar(
        "SELECT count(*)
         FROM (SELECT DISTINCT 1 + floor(random() * $1)::int AS id FROM generate_series(1, $2)) AS drawn
         LEFT JOIN records AS row USING (id)
         WHERE (row.value, row.odd, row.divisible_by_3, row.visited)
               IS DISTINCT FROM (md5(drawn.id::text), drawn.id % 2 = 1, drawn.id % 3 = 0, false)",
    )
    .bind(rows)
    .bind(SAMPLES)
    .fetch_one(&mut *connection)
    .await?;
    if wrong > 0 {
        return Ok(Some(format!(
            "{wrong} of {SAMPLES} rows drawn at random are missing or altered"
        )));
    }
    let changes: i64 = sqlx::query_scalar(
        "SELECT coalesce(sum(n_tup_upd + n_tup_del), 0)::bigint FROM pg_stat_user_tables WHERE relname = 'records'",
    )
    .fetch_one(connection)
    .await?;
    Ok((changes > 0).then(|| format!("{changes} rows were changed or removed")))
}
