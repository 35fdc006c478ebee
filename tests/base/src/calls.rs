//! The ways in which a service in another language calls a crate.

use serde::{Deserialize, Serialize};

/// What a crate is to the service that calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Calls {
    /// A program, started for each call.
    Program,
    /// A WebAssembly module in the service's process.
    Module,
    /// A native library in the service's process.
    Library,
}
