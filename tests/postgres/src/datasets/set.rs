//! The sizes in which the data comes.

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

const NAMES: [(&str, DataSet); 3] = [
    ("small", DataSet::Small),
    ("pi", DataSet::Pi),
    ("full", DataSet::Full),
];

impl fmt::Display for DataSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(_, set)| set == self);
        f.write_str(name.map_or("", |(name, _)| name))
    }
}

impl FromStr for DataSet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = NAMES.iter().find(|(name, _)| *name == text);
        found
            .map(|(_, set)| *set)
            .ok_or_else(|| format!("{text} is no data set; there are small, pi and full"))
    }
}
