//! The handlers' SQL: each statement in two forms, for the old column and for the new column.

// ANCHOR: visited-from
/// The column that tells whether a record was visited. Chosen with `VISITED_FROM`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VisitedFrom {
    /// The boolean column of release 1.
    Visited,
    /// The time of the first visit, in the column that release 2 adds.
    VisitedAt,
}

impl VisitedFrom {
    /// The `application_name` of an instance with this setting, by which `contract` recognizes it.
    pub fn application_name(self) -> &'static str {
        match self {
            VisitedFrom::Visited => "records 2 (visited)",
            VisitedFrom::VisitedAt => "records 2 (visited_at)",
        }
    }
}
// ANCHOR_END: visited-from

// ANCHOR: statement
/// A statement in both forms. The form for the new column doesn't mention the old column, so
/// it still works after the old column has been dropped.
pub struct Statement {
    visited: &'static str,
    visited_at: &'static str,
}

impl Statement {
    /// The form for this column.
    pub fn of(&self, from: VisitedFrom) -> &'static str {
        match from {
            VisitedFrom::Visited => self.visited,
            VisitedFrom::VisitedAt => self.visited_at,
        }
    }
}
// ANCHOR_END: statement

/// Fails if a column that the service needs is missing. Reads no rows.
pub const NEEDED: Statement = Statement {
    visited: "SELECT id, value, odd, divisible_by_3, visited FROM records LIMIT 0",
    visited_at: "SELECT id, value, odd, divisible_by_3, visited_at FROM records LIMIT 0",
};

// ANCHOR: statements
/// Reads one record.
pub const READ: Statement = Statement {
    visited: "SELECT id, value, odd, divisible_by_3, visited FROM records WHERE id = $1",
    // TODO
    visited_at: "",
};

/// Reads a page of records.
pub const PAGE: Statement = Statement {
    visited: "SELECT id, value, odd, divisible_by_3, visited FROM records \
              WHERE id > $1 ORDER BY id LIMIT $2",
    // TODO
    visited_at: "",
};

/// Reads all records after an id.
pub const EXPORT: Statement = Statement {
    visited: "SELECT id, value, odd, divisible_by_3, visited FROM records \
              WHERE id > $1 ORDER BY id",
    // TODO
    visited_at: "",
};

/// Marks one record as visited. A repeated visit keeps the time of the first visit.
pub const VISIT: Statement = Statement {
    visited: "UPDATE records SET visited = true WHERE id = $1 \
              RETURNING id, value, odd, divisible_by_3, visited",
    // TODO
    visited_at: "",
};

/// Marks many records as visited.
pub const VISITS: Statement = Statement {
    visited: "UPDATE records SET visited = true WHERE id = ANY($1) AND NOT visited",
    // TODO
    visited_at: "",
};
// ANCHOR_END: statements
