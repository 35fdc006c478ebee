//! What is left of a debugging case that was played, for a person who looks.

use super::Context;

/// `LOG_LEVEL` unless something else is asked for.
pub const QUIET: &str = "warn";

/// A case that was played.
pub struct Reproduction {
    /// The service as it is now, with its database.
    pub stage: Context,
    /// What was done, and what was seen from outside.
    pub seen: Vec<String>,
    /// The values that only this run has: those of them that count as evidence.
    pub evidence: Vec<String>,
}
