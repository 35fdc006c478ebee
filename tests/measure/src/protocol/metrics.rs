//! The definitions of the metrics: data, in `metrics.toml`, by group.

use std::collections::BTreeMap;

use anyhow::Context;
use serde::Deserialize;

use workshop_results::file::Better;
use workshop_results::metrics::{Definition, Kind};

/// What a definition leaves open.
const OPEN: &str = "{}";

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    key: String,
    name: String,
    unit: String,
    #[serde(default)]
    sense: Sense,
    #[serde(default)]
    kind: Nature,
    #[serde(default)]
    headline: bool,
    how: String,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Sense {
    Higher,
    #[default]
    Lower,
    Less,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Nature {
    #[default]
    Varying,
    Constant,
    Zero,
}

/// The definitions of a group. What one of them leaves open is filled in by each of these: what its key ends in, and how
/// that is said to people.
pub fn of<K: ToString, W: ToString>(
    group: &str,
    ends: impl IntoIterator<Item = (K, W)>,
) -> anyhow::Result<Vec<Definition>> {
    let mut groups: BTreeMap<String, Vec<Entry>> = toml::from_str(include_str!("../metrics.toml"))?;
    let entries = groups.remove(group);
    let entries = entries.with_context(|| format!("metrics.toml has no group {group}"))?;
    let ends: Vec<(String, String)> = ends
        .into_iter()
        .map(|(key, words)| (key.to_string(), words.to_string()))
        .collect();
    let filled = entries.iter().flat_map(|entry| -> Vec<Definition> {
        if entry.is_open() {
            ends.iter()
                .map(|(key, words)| entry.filled(key, words))
                .collect()
        } else {
            vec![entry.filled("", "")]
        }
    });
    Ok(filled.collect())
}

impl Entry {
    fn is_open(&self) -> bool {
        self.key.contains(OPEN) || self.how.contains(OPEN)
    }

    fn filled(&self, key: &str, words: &str) -> Definition {
        Definition {
            key: self.key.replace(OPEN, key),
            name: self.name.replace(OPEN, words),
            unit: self.unit.clone(),
            how: self.how.replace(OPEN, words),
            better: match self.sense {
                Sense::Higher => Better::Higher,
                Sense::Lower => Better::Lower,
                Sense::Less => Better::Less,
            },
            headline: self.headline,
            kind: match self.kind {
                Nature::Varying => Kind::Varying,
                Nature::Constant => Kind::Constant,
                Nature::Zero => Kind::MayBeZero,
            },
        }
    }
}

/// A group in which nothing is left open.
pub fn closed(group: &str) -> anyhow::Result<Vec<Definition>> {
    of::<&str, &str>(group, [])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_metrics_of_the_article_share_a_key() {
        let groups = ["load", "article", "minute"].map(|group| of(group, [(30, 30), (90, 90)]));
        let all = groups.into_iter().flat_map(Result::unwrap);
        let mut keys: Vec<String> = all.map(|one| one.key).collect();
        keys.sort_unstable();
        let count = keys.len();
        keys.dedup();
        assert_eq!(keys.len(), count);
        assert!(keys.contains(&"p99_at_30".to_owned()) && keys.contains(&"p99".to_owned()));
    }
}
