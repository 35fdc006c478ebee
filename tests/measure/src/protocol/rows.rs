//! Who is measured: data, in `rows.toml`, by task.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use anyhow::Context;
use serde::Deserialize;

use crate::protocol::plan::Plan;
use workshop_base::exercise::Catalogue;
use workshop_base::outcome::Trouble;
use workshop_base::peer;
use workshop_base::target::Target;
use workshop_results::file::Mode;

/// The rows of a task that has none of its own.
const USUAL: &str = "usual";
/// The package of `tests/ceiling`, and its id in the results: the same read with as little as possible around it.
pub const CEILING: &str = "ceiling";

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The name of the task.
    pub task: String,
    /// The exercise it belongs to.
    pub exercise: u8,
    /// The target that was typed.
    pub target: Target,
    /// How much.
    pub mode: Mode,
    /// How many rounds, where somebody said so; the plan's without.
    pub rounds: Option<NonZeroUsize>,
    /// True when the services beside the port are measured as well.
    pub peers: bool,
}

impl Asked {
    /// The plan of this name, as it was asked for.
    pub fn plan(&self, name: &str) -> anyhow::Result<Plan> {
        let plan = Plan::of(name, self.mode)?;
        Ok(match self.rounds {
            Some(rounds) => plan.with_rounds(rounds),
            None => plan,
        })
    }
}

/// One row. `rows.toml` says what each value means.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "rows.toml says it, beside the rows")]
pub struct Row {
    pub of: String,
    pub always: bool,
    pub variant: Option<String>,
    pub flags: Vec<String>,
    pub env: BTreeMap<String, String>,
    pub heap: bool,
    pub trained: bool,
    pub agent: bool,
    pub front: bool,
    pub id: Option<String>,
    pub label: Option<String>,
    pub against: Option<Vec<String>>,
    pub tier: Option<u8>,
    pub slow: bool,
    pub decides: bool,
    pub plant: f64,
}

/// The rows of a task in a mode, with or without the services beside the port.
pub fn of(task: &str, mode: Mode, peers: bool) -> anyhow::Result<Vec<Row>> {
    let mut tasks: BTreeMap<String, Vec<Row>> = toml::from_str(include_str!("../rows.toml"))?;
    let own = tasks.remove(task).or_else(|| tasks.remove(USUAL));
    let mut rows = own.context("rows.toml has no usual rows")?;
    rows.retain(|row| (!row.slow || mode != Mode::Quick) && (peers || !row.is_a_peer()));
    Ok(rows)
}

/// What is built for a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A target.
    Target(Target),
    /// The ceiling.
    Ceiling,
}

impl Source {
    /// What is meant by this name in `rows.toml`; none where it is another row's id.
    pub fn named(name: &str, asked: &Asked, catalogue: &Catalogue) -> anyhow::Result<Option<Self>> {
        let target = match name {
            "target" => asked.target,
            "reference" => Target::Solution(asked.exercise),
            "before" => Target::Solution(before(asked.exercise, catalogue)?),
            CEILING => return Ok(Some(Source::Ceiling)),
            name => match name.parse() {
                Ok(target) => target,
                Err(_) => return Ok(None),
            },
        };
        Ok(Some(Source::Target(target)))
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Source::Target(target) => target.fmt(f),
            Source::Ceiling => f.write_str(CEILING),
        }
    }
}

/// The number of the crate before this one in the course.
fn before(number: u8, catalogue: &Catalogue) -> anyhow::Result<u8> {
    let earlier = catalogue
        .iter()
        .filter(|exercise| exercise.is_crate() && exercise.number < number);
    let last = earlier.map(|exercise| exercise.number).last();
    last.ok_or_else(|| {
        Trouble::new(format!(
            "exercise-{number} has no exercise before it to compare with"
        ))
        .next(format!("just measure exercise-{}", number + 1))
        .into()
    })
}

impl Row {
    /// True for a service beside the port, which is measured only when that is asked for.
    pub fn is_a_peer(&self) -> bool {
        !self.always && peer::named(&self.of).is_some()
    }

    /// The share of its load at saturation that is counted: less than all of it where something is planted.
    pub fn counted(&self) -> f64 {
        1.0 / (1.0 + self.plant)
    }

    /// What is built for it.
    pub fn source(&self, asked: &Asked, catalogue: &Catalogue) -> anyhow::Result<Source> {
        Source::named(&self.of, asked, catalogue)?
            .with_context(|| format!("rows.toml: {:?} is nothing that can be built", self.of))
    }

    /// The ids of the rows that it is compared with; `first` is that of the first row.
    pub fn compared_with(
        &self,
        first: &str,
        asked: &Asked,
        catalogue: &Catalogue,
    ) -> anyhow::Result<Vec<String>> {
        let Some(named) = &self.against else {
            return Ok(vec![first.to_owned()]);
        };
        let ids = named.iter().map(|name| {
            let source = Source::named(name, asked, catalogue)?;
            Ok(source.map_or_else(|| name.clone(), |source| source.to_string()))
        });
        ids.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_services_beside_the_port_are_measured_only_when_asked_for() {
        let peers = |peers| {
            let rows = of("article", Mode::Thorough, peers).unwrap();
            rows.iter().filter(|row| row.is_a_peer()).count()
        };
        assert_eq!(peers(false), 0);
        assert!(peers(true) > 0);
    }

    #[test]
    fn what_a_port_is_compared_with_is_always_measured() {
        let of = |peers| of("contacts", Mode::Quick, peers).unwrap();
        let always: Vec<String> = of(false).into_iter().map(|row| row.of).collect();
        assert_eq!(always, ["kotlin-contacts", "target"]);
        assert_eq!(of(true).len(), 4);
    }
}
