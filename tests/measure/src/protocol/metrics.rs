//! The definitions of the metrics: data, in `metrics.toml`, by group.

use std::collections::BTreeMap;

use anyhow::Context;

use workshop_results::metrics::Definition;

/// What a definition leaves open.
const OPEN: &str = "{}";

/// The definitions of a group. What one of them leaves open is filled in by each of these: what its key ends in, and how
/// that is said to people.
pub fn of<K: ToString, W: ToString>(
    group: &str,
    ends: impl IntoIterator<Item = (K, W)>,
) -> anyhow::Result<Vec<Definition>> {
    let mut groups: BTreeMap<String, Vec<Definition>> =
        toml::from_str(include_str!("../metrics.toml"))?;
    let entries = groups.remove(group);
    let entries = entries.with_context(|| format!("metrics.toml has no group {group}"))?;
    let ends: Vec<(String, String)> = ends
        .into_iter()
        .map(|(key, words)| (key.to_string(), words.to_string()))
        .collect();
    let filled = entries.into_iter().flat_map(|entry| {
        let is_open = entry.key.contains(OPEN) || entry.how.contains(OPEN);
        let fill = |(key, words): &(String, String)| Definition {
            key: entry.key.replace(OPEN, key),
            name: entry.name.replace(OPEN, words),
            how: entry.how.replace(OPEN, words),
            ..entry.clone()
        };
        if is_open {
            ends.iter().map(fill).collect()
        } else {
            vec![entry]
        }
    });
    Ok(filled.collect())
}

/// A group in which nothing is left open.
pub fn closed(group: &str) -> anyhow::Result<Vec<Definition>> {
    of::<&str, &str>(group, [])
}

/// Those of a closed group that have one of these keys.
pub fn closed_with(group: &str, keys: &[&str]) -> anyhow::Result<Vec<Definition>> {
    let mut definitions = closed(group)?;
    definitions.retain(|known| keys.contains(&known.key.as_str()));
    Ok(definitions)
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
