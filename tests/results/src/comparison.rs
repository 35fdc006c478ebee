//! What was found of a quantity: the value of each side, and the sides compared with each other.

use serde::{Deserialize, Serialize};

/// Which way a metric is better, and what that is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// More is faster: throughput.
    Higher,
    /// Less is faster: every time.
    Lower,
    /// Less is less: memory, CPU, size.
    Less,
}

/// What can be said about a comparison, of the side above the fraction bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// More throughput, or less time.
    Faster,
    /// Less throughput, or more time.
    Slower,
    /// Less of an amount.
    Less,
    /// More of an amount.
    More,
    /// The interval holds 1, or the ratio is nearer to 1 than what counts.
    NoDifferenceShown,
    /// A gate was broken; the comparison's `reason` says which.
    Invalid,
    /// Too few blocks for a verdict: a quick run's ratio of two values.
    NotJudged,
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::Less => "less",
            Verdict::More => "more",
            Verdict::NoDifferenceShown => "no difference shown",
            Verdict::Invalid => "invalid",
            Verdict::NotJudged => "not judged",
        })
    }
}

/// The value of one side, over its valid blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SideValue {
    /// The side's id.
    pub side: String,
    /// The geometric mean over the blocks (the arithmetic mean where a value can be zero), in the metric's unit.
    pub value: f64,
    /// The smallest block.
    pub least: f64,
    /// The largest block.
    pub most: f64,
    /// How many blocks are behind it.
    pub blocks: usize,
}

/// One side compared with another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The side above the fraction bar (Rust).
    pub side: String,
    /// The side below it (Kotlin).
    pub against: String,
    /// The geometric mean of the ratios of the rounds; none when invalid.
    pub ratio: Option<f64>,
    /// The lower end of the 95 % interval; none where the value does not vary between blocks (size) or is invalid.
    pub low: Option<f64>,
    /// The upper end of the 95 % interval.
    pub high: Option<f64>,
    /// How many rounds are behind it.
    pub rounds: usize,
    /// What can be said.
    pub verdict: Verdict,
    /// Why it is invalid.
    pub reason: Option<String>,
}

impl Comparison {
    /// The comparison that a broken gate leaves behind.
    pub fn invalid(side: &str, against: &str, reason: impl Into<String>) -> Self {
        Comparison {
            side: side.to_owned(),
            against: against.to_owned(),
            ratio: None,
            low: None,
            high: None,
            rounds: 0,
            verdict: Verdict::Invalid,
            reason: Some(reason.into()),
        }
    }
}
