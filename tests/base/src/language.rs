//! The languages of the services, and what the tool has to know of them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a service is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Language {
    /// Runs on the JVM.
    Kotlin,
    Rust,
    JavaScript,
    Python,
}

impl Language {
    /// True where a compiler runs beside the service: for a while after its start, load makes it faster.
    pub fn compiles_under_load(self) -> bool {
        matches!(self, Language::Kotlin | Language::JavaScript)
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Language::Kotlin => "Kotlin",
            Language::Rust => "Rust",
            Language::JavaScript => "JavaScript",
            Language::Python => "Python",
        })
    }
}
