//! The data sets: what they hold, how they are made, how a run gets its own copy.

mod against_psql;
mod build;
mod names;
mod progress;
mod records;
mod room;
mod run;
mod seed;

pub use against_psql::{Comparison, against_psql};
pub use names::drop_everything;
pub use room::needed;
pub use run::RunDatabase;
pub use seed::{Seeded, forget_migrations, seed, seed_again, shared_url};

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A data set, by its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DataSet {
    /// 10 000 rows, for checks.
    Small,
    /// 1 000 000 rows, for a Raspberry Pi.
    Pi,
    /// 10 000 000 rows, the article's.
    Full,
}

impl DataSet {
    /// The number of rows; ids run from 1 to this.
    pub fn rows(self) -> u32 {
        match self {
            DataSet::Small => 10_000,
            DataSet::Pi => 1_000_000,
            DataSet::Full => 10_000_000,
        }
    }
}

impl fmt::Display for DataSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DataSet::Small => "small",
            DataSet::Pi => "pi",
            DataSet::Full => "full",
        })
    }
}

impl FromStr for DataSet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [DataSet::Small, DataSet::Pi, DataSet::Full]
            .into_iter()
            .find(|set| set.to_string() == text)
            .ok_or_else(|| format!("{text} is no data set; there are small, pi and full"))
    }
}
