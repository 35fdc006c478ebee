//! The state after a debugging case, for a person to look at.

use super::Context;

/// The default `LOG_LEVEL`.
pub const QUIET: &str = "warn";

/// A case that was played.
pub struct Reproduction {
    /// The service as it is now, with its database.
    pub stage: Context,
    /// What was done, and what was seen from outside.
    pub seen: Vec<String>,
    /// The values that only this run has, which are accepted as evidence.
    pub evidence: Vec<String>,
}
