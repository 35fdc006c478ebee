//! What the errors of a database mean: an outage, which passes, or a bug of ours.

use sqlx::postgres::PgDatabaseError;

/// Whether the database cannot be reached, refuses the login or takes too long, rather than rejects the query.
pub fn is_outage(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut => true,
        // The next attempt prepares it for the new schema.
        stale if is_stale_plan(stale) => true,
        // The codes are PostgreSQL's, from "Appendix A. PostgreSQL Error Codes" of its manual.
        sqlx::Error::Database(error) => error.code().is_some_and(|code| {
            // Read-only since a failover, out of memory, too many connections, closed to connections,
            // lock not available, took too long; lost, refused, no such database, rolled back, stopping.
            let outages = [
                "25006", "53200", "53300", "55000", "55P03", "57014", "08", "28", "3D", "40", "57P",
            ];
            outages.iter().any(|outage| code.starts_with(outage))
        }),
        _ => false,
    }
}

/// Whether the schema has changed since the statement was prepared. The database then refuses it, and has done nothing.
pub fn is_stale_plan(error: &sqlx::Error) -> bool {
    let sqlx::Error::Database(error) = error else {
        return false;
    };
    match error.code().as_deref() {
        // No such prepared statement.
        Some("26000") => true,
        // The code alone says "not supported", which would be a bug of ours.
        Some("0A000") => {
            let error = error.try_downcast_ref::<PgDatabaseError>();
            error.and_then(PgDatabaseError::routine) == Some("RevalidateCachedQuery")
        }
        _ => false,
    }
}
