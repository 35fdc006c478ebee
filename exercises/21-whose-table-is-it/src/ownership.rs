//! The owner of visits, in the one row of each of the two databases.

use sqlx::PgConnection;

// ANCHOR: owner
/// The owner of visits, according to a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// This service, and its visits become events for another one.
    Me,
    /// This service, and visits aren't shared.
    MeAlone,
    /// Another service, or nobody during a switch.
    Other,
}

/// The owner of visits. It can't change until the transaction has ended: a switch waits for it.
///
/// # Errors
/// The database does not answer.
pub async fn held(transaction: &mut PgConnection) -> sqlx::Result<Owner> {
    let (is_mine, is_shared) =
        sqlx::query_as("SELECT owner = me, shared FROM visits_ownership FOR SHARE")
            .fetch_one(transaction)
            .await?;
    Ok(match (is_mine, is_shared) {
        (true, true) => Owner::Me,
        (true, false) => Owner::MeAlone,
        (false, _) => Owner::Other,
    })
}
// ANCHOR_END: owner

/// Whether Kotlin's database is the current one. While nobody owns visits, that's the database that
/// was closed.
///
/// # Errors
/// The database does not answer.
pub async fn kotlin_answers(connection: &mut PgConnection) -> sqlx::Result<bool> {
    sqlx::query_scalar("SELECT owner = 'kotlin' FROM visits_ownership")
        .fetch_one(connection)
        .await
}

// ANCHOR: row
/// One of the two services.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Kotlin,
    Rust,
}

impl Side {
    /// The other service.
    pub fn other(self) -> Side {
        match self {
            Side::Kotlin => Side::Rust,
            Side::Rust => Side::Kotlin,
        }
    }

    /// Its name in the row.
    pub fn name(self) -> &'static str {
        match self {
            Side::Kotlin => "kotlin",
            Side::Rust => "rust",
        }
    }
}

/// The owner in the row while nobody may write.
pub const NOBODY: &str = "none";

/// The owner of visits, and since which epoch.
///
/// # Errors
/// The database does not answer.
pub async fn seen(connection: &mut PgConnection) -> sqlx::Result<(String, i64)> {
    sqlx::query_as("SELECT owner, epoch FROM visits_ownership")
        .fetch_one(connection)
        .await
}

/// Sets the owner of visits from this epoch on. False if the row has that epoch already, or a later one:
/// another switch came in between. Waits for the transactions that hold the row.
///
/// # Errors
/// The database does not answer, or the row is held too long.
pub async fn say(connection: &mut PgConnection, owner: &str, epoch: i64) -> sqlx::Result<bool> {
    let said = sqlx::query("UPDATE visits_ownership SET owner = $1, epoch = $2 WHERE epoch < $2")
        .bind(owner)
        .bind(epoch)
        .execute(connection)
        .await?;
    Ok(said.rows_affected() == 1)
}
// ANCHOR_END: row
