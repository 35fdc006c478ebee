//! What can be checked and measured: `exercise-N`, `solution-N` or `kotlin`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A service of the workshop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// The learner's crate.
    Exercise(u8),
    /// The reference.
    Solution(u8),
    /// The Kotlin service.
    Kotlin,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Exercise(number) => write!(f, "exercise-{number}"),
            Target::Solution(number) => write!(f, "solution-{number}"),
            Target::Kotlin => f.write_str("kotlin"),
        }
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |digits: &str| digits.parse::<u8>().ok().filter(|number| *number > 0);
        let target = match text.split_once('-') {
            None if text == "kotlin" => Some(Target::Kotlin),
            Some(("exercise", digits)) => number(digits).map(Target::Exercise),
            Some(("solution", digits)) => number(digits).map(Target::Solution),
            _ => None,
        };
        target.ok_or_else(|| {
            format!("{text} is no target; a target is exercise-N, solution-N or kotlin")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_reads_as_it_is_written() {
        for text in ["exercise-3", "solution-12", "kotlin"] {
            assert_eq!(
                text.parse::<Target>().map(|target| target.to_string()),
                Ok(text.to_owned())
            );
        }
    }

    #[test]
    fn anything_else_is_refused_with_what_would_be_right() {
        for text in ["exercise-", "exercise-0", "exercise-x", "rust", "solution3"] {
            let refusal = text.parse::<Target>().expect_err(text);
            assert!(
                refusal.contains("exercise-N, solution-N or kotlin"),
                "{refusal}"
            );
        }
    }
}
