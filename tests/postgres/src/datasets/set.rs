//! The sizes in which the data comes.

use std::fmt;
use std::str::FromStr;

use serde::de::IntoDeserializer;
use serde::de::value::Error as Unknown;
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
        self.serialize(f)
    }
}

impl FromStr for DataSet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let read = DataSet::deserialize(text.into_deserializer());
        read.map_err(|_: Unknown| format!("{text} isn't a data set; there are small, pi and full"))
    }
}
