//! What can be checked and measured: `exercise-N`, `solution-N`, `kotlin` or a peer.

use std::fmt;
use std::str::FromStr;

pub use crate::language::Language;
use crate::peer;

/// A service of the workshop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    Exercise(u8),
    Solution(u8),
    Kotlin,
    /// A service in another language, by the name that its `peer.toml` gives it.
    Peer(&'static str),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Exercise(number) => write!(f, "exercise-{number}"),
            Target::Solution(number) => write!(f, "solution-{number}"),
            Target::Kotlin => f.write_str("kotlin"),
            Target::Peer(name) => f.write_str(name),
        }
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let target = meant(text);
        let is_a_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match target {
            Some(target) if is_a_number || target.to_string() == text => Ok(target),
            Some(target) => Err(format!("{text} isn't a target; did you mean {target}?")),
            None => Err(format!(
                "{text} isn't a target; a target is exercise-N, solution-N or kotlin, or a service beside the port: {}",
                peers()
            )),
        }
    }
}

/// The names of all peers.
fn peers() -> String {
    let names = peer::all().iter().flat_map(|peer| peer.targets.keys());
    names.map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// What somebody means who writes `exercise3`, `3`, `Solution-3` or the name of a folder.
fn meant(text: &str) -> Option<Target> {
    let text = text.to_lowercase();
    if text == "kotlin" {
        return Some(Target::Kotlin);
    }
    if let Some((name, ..)) = peer::named(&text) {
        return Some(Target::Peer(name));
    }
    let digits = text.find(|letter: char| letter.is_ascii_digit())?;
    let (word, rest) = text.split_at(digits);
    let end = rest.find(|letter: char| !letter.is_ascii_digit());
    let number = rest[..end.unwrap_or(rest.len())].parse().ok()?;
    let word = word.trim_end_matches(|letter: char| !letter.is_alphanumeric());
    if "exercises".starts_with(word) {
        Some(Target::Exercise(number))
    } else if "solutions".starts_with(word) {
        Some(Target::Solution(number))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_reads_as_it_is_written() {
        for text in ["exercise-0", "exercise-3", "solution-20", "kotlin", "node"] {
            assert_eq!(
                text.parse::<Target>().map(|target| target.to_string()),
                Ok(text.to_owned())
            );
        }
    }

    #[test]
    fn a_number_is_an_exercise() {
        for text in ["3", "03"] {
            assert_eq!(text.parse(), Ok(Target::Exercise(3)), "{text}");
        }
    }

    #[test]
    fn a_slip_is_answered_with_what_was_meant() {
        for (text, meant) in [
            ("exercise3", "exercise-3"),
            ("Exercise-3", "exercise-3"),
            ("ex 3", "exercise-3"),
            ("exercise-03", "exercise-3"),
            ("exercises/03-read-a-record", "exercise-3"),
            ("solution_20", "solution-20"),
            ("Kotlin", "kotlin"),
            ("Node", "node"),
        ] {
            let refusal = text.parse::<Target>().expect_err(text);
            let question = format!("did you mean {meant}?");
            assert!(refusal.contains(&question), "{refusal}");
        }
    }

    #[test]
    fn anything_else_is_refused_with_what_would_be_right() {
        for text in ["exercise-", "exercise-x", "exercise-300", "rust", "rust-3"] {
            let refusal = text.parse::<Target>().expect_err(text);
            assert!(
                refusal.contains("exercise-N, solution-N or kotlin"),
                "{refusal}"
            );
        }
    }
}
