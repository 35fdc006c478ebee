//! The owner of visits, stored in each of the two databases, in a table with one row.

use sqlx::PgConnection;

// ANCHOR: owner
/// The owner of visits, according to a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// This service. Its visits become events for the other service.
    Me,
    /// This service. Visits aren't shared with another service.
    MeAlone,
    /// Another service, or nobody during a switch.
    Other,
}

/// The owner of visits, locked until the transaction ends, so that a switch has to wait.
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

/// Whether Kotlin's database is the current one. During a switch, the database of the previous
/// owner stays current.
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

    /// The service's name in the column `owner`.
    pub fn name(self) -> &'static str {
        match self {
            Side::Kotlin => "kotlin",
            Side::Rust => "rust",
        }
    }
}

/// The value of `owner` during a switch, when neither service may write.
pub const NOBODY: &str = "none";

/// The owner of visits, and the current epoch, which grows with every change of owner.
///
/// # Errors
/// The database does not answer.
pub async fn seen(connection: &mut PgConnection) -> sqlx::Result<(String, i64)> {
    sqlx::query_as("SELECT owner, epoch FROM visits_ownership")
        .fetch_one(connection)
        .await
}

/// Sets the owner and the epoch, once no transaction holds a lock on the row. Returns `false`
/// if the row already has this epoch or a later one, because another switch came first.
///
/// # Errors
/// The database does not answer, or the row stays locked for too long.
pub async fn say(connection: &mut PgConnection, owner: &str, epoch: i64) -> sqlx::Result<bool> {
    let said = sqlx::query("UPDATE visits_ownership SET owner = $1, epoch = $2 WHERE epoch < $2")
        .bind(owner)
        .bind(epoch)
        .execute(connection)
        .await?;
    Ok(said.rows_affected() == 1)
}
// ANCHOR_END: row
