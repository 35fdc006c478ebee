//! Classifies database errors: transient outages, or bugs in this service.

use sqlx::postgres::PgDatabaseError;

/// Whether the error is an outage (unreachable, login refused, timeout), not a rejected query.
pub fn is_outage(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut => true,
        // The next attempt prepares the statement for the new schema.
        stale if is_stale_plan(stale) => true,
        // SQLSTATE codes, from "Appendix A. PostgreSQL Error Codes" of the PostgreSQL manual.
        sqlx::Error::Database(error) => error.code().is_some_and(|code| {
            // Read-only since a failover, out of memory, too many connections, not accepting connections,
            // lock not available, query canceled; classes: connection, login, database, rollback, shutdown.
            let outages = [
                "25006", "53200", "53300", "55000", "55P03", "57014", "08", "28", "3D", "40", "57P",
            ];
            outages.iter().any(|outage| code.starts_with(outage))
        }),
        _ => false,
    }
}

/// Whether the schema has changed since the statement was prepared. The database then refuses to execute the statement.
pub fn is_stale_plan(error: &sqlx::Error) -> bool {
    let sqlx::Error::Database(error) = error else {
        return false;
    };
    match error.code().as_deref() {
        // No such prepared statement.
        Some("26000") => true,
        // By itself, this code means "feature not supported", which would be a bug in this service.
        Some("0A000") => {
            let error = error.try_downcast_ref::<PgDatabaseError>();
            error.and_then(PgDatabaseError::routine) == Some("RevalidateCachedQuery")
        }
        _ => false,
    }
}
