//! The data sets: what they hold, how they are made, how a run gets its own copy.

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

/// stand-in
pub struct RunDatabase {
    url: String,
}

impl RunDatabase {
    /// stand-in
    pub async fn create(
        _: &crate::postgres::Server,
        _: &crate::workspace::Workspace,
        _: DataSet,
    ) -> anyhow::Result<Self> {
        Ok(RunDatabase {
            url: std::env::var("STANDIN_URL")?,
        })
    }
    /// stand-in
    pub fn url(&self) -> &str {
        &self.url
    }
    /// stand-in
    pub async fn remove(self) -> anyhow::Result<()> {
        Ok(())
    }
}
