//! `service end`: ends the sharing of visits if it is safe to switch off the other service.

use sqlx::PgConnection;

use crate::{
    outbox::counts,
    ownership::{Side, seen},
};

/// Required: comparisons on at least `DAYS` days, and `READS` matching reads on those days.
const DAYS: i64 = 7;
const READS: i64 = 10_000;

// ANCHOR: reasons
/// The reasons not to end the sharing yet, one sentence each.
///
/// # Errors
/// One of the databases does not answer.
pub async fn reasons(
    kotlin: &mut PgConnection,
    rust: &mut PgConnection,
) -> sqlx::Result<Vec<String>> {
    let mut reasons = Vec::new();
    for (side, connection) in [(Side::Kotlin, &mut *kotlin), (Side::Rust, &mut *rust)] {
        let name = side.name();
        let (owner, _) = seen(connection).await?;
        if owner != Side::Rust.name() {
            reasons.push(format!("{owner} owns visits, says the database of {name}"));
        }
        let (waiting, put_aside) = counts(connection).await?;
        if waiting > 0 {
            reasons.push(format!("{waiting} events wait in the outbox of {name}"));
        }
        if put_aside > 0 {
            reasons.push(format!("{put_aside} events of {name} were put aside"));
        }
    }
    let (days, same, different): (i64, i64, i64) = sqlx::query_as(
        "SELECT count(*), coalesce(sum(same), 0)::bigint, coalesce(sum(different), 0)::bigint \
         FROM visits_compared WHERE day > current_date - $1::int AND same + different > 0",
    )
    .bind(DAYS)
    .fetch_one(rust)
    .await?;
    if different > 0 {
        reasons.push(format!(
            "{different} reads differed in the last {DAYS} days"
        ));
    }
    if days < DAYS || same < READS {
        reasons.push(format!(
            "{same} reads on {days} days were the same; it takes {READS} on {DAYS} days"
        ));
    }
    Ok(reasons)
}
// ANCHOR_END: reasons

/// Ends the sharing of visits: from now on, no events go to the other service.
///
/// # Errors
/// The database does not answer.
pub async fn stop_sharing(rust: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::query("UPDATE visits_ownership SET shared = false")
        .execute(rust)
        .await?;
    Ok(())
}
