//! The definitions of the metrics: data, in `metrics.toml`, by group.

use std::collections::BTreeMap;

use anyhow::Context;

use workshop_results::key::{At, Key};
use workshop_results::metrics::Definition;

/// What a definition leaves open.
const OPEN: &str = "{}";

/// The definitions of a group. What one of them leaves open is filled in by each of these: what its key ends in, and how
/// that is said to people.
pub fn of(group: &str, ats: impl IntoIterator<Item = At>) -> anyhow::Result<Vec<Definition>> {
    let mut groups: BTreeMap<String, Vec<Definition>> =
        toml::from_str(include_str!("../metrics.toml"))?;
    let entries = groups.remove(group);
    let entries = entries.with_context(|| format!("metrics.toml has no group {group}"))?;
    let ats: Vec<At> = ats.into_iter().collect();
    let filled = entries.into_iter().flat_map(|entry| {
        let key = entry.key.as_str();
        let is_open = key.contains(OPEN) || entry.how.contains(OPEN);
        let fill = |at: &At| Definition {
            key: Key::of_data(&key.replace(OPEN, &at.to_string())),
            name: entry.name.replace(OPEN, &at.words()),
            how: entry.how.replace(OPEN, &at.words()),
            ..entry.clone()
        };
        if is_open {
            ats.iter().map(fill).collect()
        } else {
            vec![entry]
        }
    });
    Ok(filled.collect())
}

/// A group in which nothing is left open.
pub fn closed(group: &str) -> anyhow::Result<Vec<Definition>> {
    of(group, [])
}

/// Those of a closed group that have one of these keys.
pub fn closed_with(group: &str, keys: &[Key]) -> anyhow::Result<Vec<Definition>> {
    let mut definitions = closed(group)?;
    definitions.retain(|known| keys.contains(&known.key));
    Ok(definitions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use workshop_results::key::{IDLE, METRICS, P99, TEN, UNCORRECTED};

    #[test]
    fn every_metric_is_named_in_the_code_and_every_name_is_defined() {
        let text = include_str!("../metrics.toml");
        let groups: BTreeMap<String, Vec<Definition>> = toml::from_str(text).unwrap();
        let closed = [IDLE, TEN, UNCORRECTED].map(|at| at.to_string());
        let name = |definition: &Definition| {
            let key = definition.key.as_str();
            let ends = closed.iter().map(String::as_str).chain([OPEN]);
            let mut names = ends.filter_map(|end| key.strip_suffix(end));
            names.next().unwrap_or(key).to_owned()
        };
        let defined: BTreeSet<String> = groups.values().flatten().map(name).collect();
        let named = METRICS.iter().map(Key::to_string).collect();
        assert_eq!(defined, named);
    }

    #[test]
    fn no_two_metrics_of_the_article_share_a_key() {
        let groups = ["load", "article", "minute"];
        let all = groups.map(|group| of(group, [At::Rate(30), At::Rate(90)]));
        let mut keys: Vec<Key> = all
            .into_iter()
            .flat_map(Result::unwrap)
            .map(|one| one.key)
            .collect();
        keys.sort_unstable();
        let count = keys.len();
        keys.dedup();
        assert_eq!(keys.len(), count);
        assert!(keys.contains(&P99.at(At::Rate(30))) && keys.contains(&P99));
    }
}
