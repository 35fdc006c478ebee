//! The data sets, by their sizes: their rows, their SQL, and the fingerprint that each must have. The SQL files are in
//! `datasets/records`, where people find them; they are built into the tool.

use std::fmt;
use std::str::FromStr;

use serde::de::IntoDeserializer;
use serde::de::value::Error as Unknown;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use crate::identity::{database_prefix, short_hash};

/// Makes the table, without its primary key.
pub(super) const CREATE: &str =
    include_str!("../../../../datasets/records/migrations/0001_create_records.sql");

/// Adds the primary key.
pub(super) const ADD_PRIMARY_KEY: &str =
    include_str!("../../../../datasets/records/migrations/0002_add_the_primary_key.sql");

/// Inserts the rows from id `$1` to id `$2`.
pub(super) const ROWS: &str = include_str!("../../../../datasets/records/rows.sql");

/// Adds records of 4 KiB each, 32 MiB in all: more than sockets and buffers hold between a database and a client, and than a service
/// keeps in batches of 1 000 rows. Stored they are small, since PostgreSQL compresses them.
pub const MANY_RECORDS: &str = "\
    INSERT INTO records (id, value, odd, divisible_by_3) \
    SELECT id, repeat(md5(id::text), 128), id % 2 = 1, id % 3 = 0 \
    FROM generate_series((SELECT max(id) + 1 FROM records), (SELECT max(id) + 8192 FROM records)) AS id";

/// Asks for the fingerprint.
const FINGERPRINT: &str = include_str!("../../../../datasets/records/fingerprint.sql");

/// How many ids the quick look draws.
const SAMPLES: i32 = 1000;

/// A data set, by its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DataSet {
    /// 10 000 rows, for checks.
    Small,
    /// 1 000 000 rows, for a Raspberry Pi.
    Pi,
    /// 10 000 000 rows, the article's.
    Full,
}

impl DataSet {
    /// All of them, by size.
    pub(crate) const ALL: [DataSet; 3] = [DataSet::Small, DataSet::Pi, DataSet::Full];

    /// The number of rows; ids run from 1 to this.
    pub fn rows(self) -> u32 {
        match self {
            DataSet::Small => 10_000,
            DataSet::Pi => 1_000_000,
            DataSet::Full => 10_000_000,
        }
    }

    /// The fingerprint that its rows must have, as the query of `fingerprint.sql` gives it.
    pub fn fingerprint(self) -> &'static str {
        match self {
            DataSet::Small => "10000:1:10000:2d6f3bb643d65b6e",
            DataSet::Pi => "1000000:1:1000000:fb6688657c7cc8dd",
            DataSet::Full => "10000000:1:10000000:b5407981f1c29ee6",
        }
    }

    /// The name of a checkout's database with it. The name ends in what stands for the fingerprint and the table's form: rows or
    /// columns made in another way get another name.
    pub(crate) fn database(self, checkout: &str) -> String {
        let edition = short_hash(&[self.fingerprint(), CREATE, ADD_PRIMARY_KEY]);
        format!("{}{self}_{edition}", database_prefix(checkout))
    }

    /// What is wrong with the rows that somebody has made into this data set; `None` when all is well. All rows are read where that
    /// is quick.
    pub(super) async fn look(
        self,
        connection: &mut PgConnection,
    ) -> Result<Option<String>, sqlx::Error> {
        if self == DataSet::Small {
            let found = read_fingerprint(connection).await?;
            let differs = found != self.fingerprint();
            return Ok(differs.then(|| format!("its fingerprint is {found}")));
        }
        self.look_quickly(connection).await
    }

    /// A quick look at a large data set, in milliseconds: its limits, a thousand rows drawn at random, and whether
    /// PostgreSQL has counted a change since the rows were made.
    async fn look_quickly(
        self,
        connection: &mut PgConnection,
    ) -> Result<Option<String>, sqlx::Error> {
        let rows = i32::try_from(self.rows()).unwrap_or(i32::MAX);
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
}

impl fmt::Display for DataSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl FromStr for DataSet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let read = DataSet::deserialize(text.into_deserializer());
        read.map_err(|_: Unknown| format!("{text} isn't a data set; there are small, pi and full"))
    }
}

/// Reads all rows and gives their fingerprint. A few seconds for ten million.
pub(super) async fn read_fingerprint(connection: &mut PgConnection) -> Result<String, sqlx::Error> {
    sqlx::query_scalar(FINGERPRINT).fetch_one(connection).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_postgresqls_63_bytes_and_need_no_escaping() {
        let checkout = "0123456789";
        for name in DataSet::ALL.map(|set| set.database(checkout)) {
            assert!(name.len() <= 63, "{name}");
            assert!(
                name.bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'),
                "{name}"
            );
        }
    }
}
