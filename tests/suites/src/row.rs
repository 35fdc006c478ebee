//! A row of `records` as the database has it, to compare answers with.

use serde::{Deserialize, Serialize};
use sqlx::FromRow;
use sqlx::postgres::PgConnection;
use workshop_harness::contract::{Context, TestResult};
use workshop_harness::silence::Answers;

/// The paths of the records with these ids.
pub fn paths(ids: impl IntoIterator<Item = i32>) -> Vec<String> {
    let paths = ids.into_iter().map(|id| format!("/read/{id}"));
    paths.collect()
}

/// One row. As JSON it is the record that a service answers for it.
#[derive(Debug, Clone, Default, PartialEq, Eq, FromRow, Serialize, Deserialize)]
pub struct RecordRow {
    pub id: i32,
    pub value: String,
    pub odd: bool,
    pub divisible_by_3: bool,
    pub visited: bool,
}

impl RecordRow {
    /// The row with this id.
    pub async fn load(database: &mut PgConnection, id: i32) -> sqlx::Result<RecordRow> {
        let rows = RecordRow::load_those(database, &[id]).await?;
        rows.into_iter().next().ok_or(sqlx::Error::RowNotFound)
    }

    /// The rows with these ids, ordered by id.
    pub async fn load_those(
        database: &mut PgConnection,
        ids: &[i32],
    ) -> sqlx::Result<Vec<RecordRow>> {
        sqlx::query_as("SELECT * FROM records WHERE id = ANY($1) ORDER BY id")
            .bind(ids)
            .fetch_all(database)
            .await
    }

    /// Expects that each answer is the record with the requested id; the ids ascend.
    pub async fn expect_each(context: &Context, ids: &[i32], answers: Answers) -> TestResult {
        let rows = RecordRow::load_those(&mut *context.database.lock().await, ids).await?;
        for (row, answer) in rows.iter().zip(answers) {
            answer?.expect_json(200, row)?;
        }
        Ok(())
    }

    /// The rows after this id, ordered by id, at most `limit` of them.
    pub async fn load_after(
        database: &mut PgConnection,
        id: i32,
        limit: usize,
    ) -> sqlx::Result<Vec<RecordRow>> {
        sqlx::query_as("SELECT * FROM records WHERE id > $1 ORDER BY id LIMIT $2")
            .bind(id)
            .bind(i64::try_from(limit).unwrap_or(i64::MAX))
            .fetch_all(database)
            .await
    }

    /// Puts the row into the table.
    pub async fn insert(&self, database: &mut PgConnection) -> sqlx::Result<()> {
        let insert = "INSERT INTO records (id, value, odd, divisible_by_3, visited) VALUES ($1, $2, $3, $4, $5)";
        sqlx::query(insert)
            .bind(self.id)
            .bind(&self.value)
            .bind(self.odd)
            .bind(self.divisible_by_3)
            .bind(self.visited)
            .execute(database)
            .await?;
        Ok(())
    }

    /// Deletes the row from the table.
    pub async fn delete(&self, database: &mut PgConnection) -> sqlx::Result<()> {
        sqlx::query("DELETE FROM records WHERE id = $1")
            .bind(self.id)
            .execute(database)
            .await?;
        Ok(())
    }
}
