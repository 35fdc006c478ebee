//! The result files: their schema, how they are read, how they are written.
//!
//! A [`ResultFile`] holds one measurement: who was measured (`sides`), what came out (`metrics`), under which conditions
//! (`manifest`), and why it may not be believed (`invalid`). A side is a row of its own, so that a later exercise can hold
//! Rust against several set-ups of the JVM without a new schema.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use crate::comparison::{Better, Comparison, SideValue, Verdict};
use crate::key::Key;
use crate::manifest::Manifest;
use crate::shown::{Chart, Table};

use workshop_base::files;
use workshop_base::outcome::Trouble;
use workshop_base::target::Language;
use workshop_base::workspace::Workspace;

/// The version of the schema below. Raise it with every change that an older reader would misunderstand.
pub const SCHEMA: u32 = 2;
/// The task and the target of the measuring compared with itself, and the name of its file.
pub const CALIBRATION: &str = "calibration";
/// The task and the target of what is measured in rounds compared with itself, and the name of its file.
pub const ROUNDS: &str = "calibration-rounds";
/// The task and the target of duets compared with turns, and the name of its file.
pub const TURNS: &str = "turns";
/// The task and the target of a run that goes on for long, and the name of its file.
pub const ENDURANCE: &str = "endurance";

/// How much was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// About a minute, for orientation: CPU per request and size are judged.
    Quick,
    /// About five minutes.
    Standard,
    /// Twice the blocks, and longer ones.
    Thorough,
}

/// One service under measurement: a row of the table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Side {
    /// What the metrics refer to: `kotlin`, `exercise-3`, `solution-3`.
    pub id: String,
    /// For people: `Kotlin`, `your Rust`, `Rust (the reference)`.
    pub label: String,
    /// The language.
    pub language: Language,
    /// The command line, without paths of this machine.
    pub command: String,
    /// Compiler or virtual machine, with its version.
    pub runtime: String,
    /// True for a service beside the port: no claim about Kotlin or Rust rests on it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub peer: bool,
}

/// One metric of a measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// The stable key: `start_up`, `throughput`, `p99_at_30`.
    pub key: Key,
    /// For people: `Throughput`.
    pub name: String,
    /// The unit of the values: `requests/s`, `ms`, `MB`, `µs`.
    pub unit: String,
    /// How it was taken, in half a sentence.
    pub how: String,
    /// Which way is better.
    pub better: Better,
    /// True for the metrics that the table shows first; the others are detail.
    pub headline: bool,
    /// The sides' values.
    pub values: Vec<SideValue>,
    /// The sides compared with each other; empty when there is one side only.
    pub comparisons: Vec<Comparison>,
}

/// A prediction of the reader compared with the measured ratio.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JudgedPrediction {
    /// The metric's key.
    pub key: Key,
    /// The ratio, Rust divided by Kotlin, that the reader wrote down.
    pub predicted: f64,
    /// How sure the reader was, in percent.
    pub confidence: f64,
    /// The ratio that was measured.
    pub measured: f64,
    /// How far off: the larger of the two divided by the smaller, so 1 is exact.
    pub factor: f64,
    /// True when the factor is at most two.
    pub held: bool,
}

/// One block as it ran, for those who want to compute for themselves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BlockRecord {
    /// The round, from 1.
    pub round: usize,
    /// The place in the order of all blocks, from 1.
    pub place: usize,
    /// The side's id.
    pub side: String,
    /// The raw values by metric key.
    pub values: std::collections::BTreeMap<Key, f64>,
    /// The metrics that this block may not speak for, with the reasons.
    pub invalid: std::collections::BTreeMap<Key, String>,
}

/// One measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResultFile {
    /// The version of the schema, [`SCHEMA`].
    pub schema: u32,
    /// The name of the task: what `[measure]` of an `exercise.toml` names, or `calibration`.
    pub task: String,
    /// The exercise it belongs to: `exercise-3`.
    pub exercise: String,
    /// The target that was asked for: `exercise-3` or `solution-3`; `kotlin` for the baseline.
    pub target: String,
    /// How much was measured.
    pub mode: Mode,
    /// When, in UTC: `2025-11-21T09:30:00Z`.
    pub taken_at: String,
    /// The machine in one line.
    pub machine: String,
    /// The conditions.
    pub manifest: Manifest,
    /// Who was measured, Kotlin first.
    pub sides: Vec<Side>,
    /// What came out; headline metrics first.
    pub metrics: Vec<Metric>,
    /// The reader's predictions, where they could be judged.
    pub predictions: Vec<JudgedPrediction>,
    /// What a reader must know to read the numbers rightly.
    pub notes: Vec<String>,
    /// Why the whole measurement is invalid; empty when it is not.
    pub invalid: Vec<String>,
    /// The blocks as they ran.
    pub blocks: Vec<BlockRecord>,
    /// What the task shows beside its metrics.
    #[serde(default)]
    pub tables: Vec<Table>,
    /// What it draws.
    #[serde(default)]
    pub charts: Vec<Chart>,
}

impl BlockRecord {
    /// The value of a metric that this block may speak for.
    pub fn valid(&self, key: &Key) -> Option<f64> {
        let is_invalid = self.invalid.contains_key(key);
        self.values.get(key).copied().filter(|_| !is_invalid)
    }
}

impl Metric {
    /// The value of a side.
    pub fn value(&self, side: &str) -> Option<&SideValue> {
        self.values.iter().find(|value| value.side == side)
    }

    /// The best of these values.
    pub fn best<'a>(&self, values: impl Iterator<Item = &'a SideValue>) -> Option<&'a SideValue> {
        let by_value = |one: &&SideValue, other: &&SideValue| one.value.total_cmp(&other.value);
        match self.better {
            Better::Higher => values.max_by(by_value),
            Better::Lower | Better::Less => values.min_by(by_value),
        }
    }

    /// The name with its unit, where that says more.
    pub fn heading(&self) -> String {
        let name = self.name.to_lowercase();
        if self.unit.is_empty() || name.starts_with(&self.unit) {
            self.name.clone()
        } else {
            format!("{} ({})", self.name, self.unit)
        }
    }

    /// One side compared with another.
    pub fn comparison(&self, side: &str, against: &str) -> Option<&Comparison> {
        self.comparisons
            .iter()
            .find(|comparison| comparison.side == side && comparison.against == against)
    }
}

impl ResultFile {
    /// Where the committed reference results of an exercise are: `book/reference-results/exercise-3.json`.
    pub fn reference_path(workspace: &Workspace, exercise: &str) -> PathBuf {
        workspace
            .reference_results()
            .join(format!("{exercise}.json"))
    }

    /// Reads a result file. The error of one that cannot be used says what it is, and the command that makes a new one.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let shown = path.display();
        let text = files::text(path)?;
        // Some editors begin a file with a byte order mark.
        let text = text.trim_start_matches('\u{feff}');
        let value: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
        let schema = value.get("schema").and_then(serde_json::Value::as_u64);
        let fault = match schema {
            Some(version) if version == u64::from(SCHEMA) => match serde_json::from_value(value) {
                Ok(result) => return Ok(result),
                Err(error) => format!("{shown} does not follow schema {SCHEMA}: {error}"),
            },
            Some(version) => {
                let is_older = version < u64::from(SCHEMA);
                let age = if is_older { "an older" } else { "a newer" };
                format!("{shown} was written by {age} version of the course (schema {version})")
            }
            None => format!("{shown} is not a result file"),
        };
        Err(Trouble::new(fault)
            .expected(format!(
                "JSON with schema {SCHEMA}, as this version of the course writes it"
            ))
            .next(format!("{} (it replaces the file)", again(path)))
            .into())
    }

    /// Writes the file in one step: a reader sees the old file or the new one, never half of one.
    pub fn write(&self, path: &Path) -> anyhow::Result<()> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        files::write_atomically(path, text.as_bytes())
    }

    /// The metric with this key.
    pub fn metric(&self, key: &Key) -> Option<&Metric> {
        self.metrics.iter().find(|metric| metric.key == *key)
    }

    /// The value of a side's metric.
    pub fn value(&self, key: &Key, side: &str) -> Option<f64> {
        Some(self.metric(key)?.value(side)?.value)
    }

    /// What a side is called; its id where there is no such side.
    pub fn label<'a>(&'a self, side: &'a str) -> &'a str {
        let found = self.sides.iter().find(|known| known.id == side);
        found.map_or(side, |known| known.label.as_str())
    }

    /// A side's language where that tells the sides apart, else its label.
    pub fn heading(&self, id: &str) -> String {
        match self.sides.iter().find(|side| side.id == id) {
            Some(side) if !side.peer && self.sides_in(side.language).count() == 1 => {
                side.language.to_string()
            }
            _ => self.label(id).to_owned(),
        }
    }

    /// The value of Kotlin: of its best set-up where there are several, which is what a claim may rest on.
    pub fn kotlin<'a>(&self, metric: &'a Metric) -> Option<&'a SideValue> {
        let kotlin = self.sides_in(Language::Kotlin);
        metric.best(kotlin.filter_map(|side| metric.value(&side.id)))
    }

    /// The value of the Rust that was asked for.
    pub fn rust<'a>(&self, metric: &'a Metric) -> Option<&'a SideValue> {
        metric.value(&self.asked_for()?.id)
    }

    /// The Rust that was asked for, compared with Kotlin as [`ResultFile::kotlin`] takes it.
    pub fn rust_against_kotlin<'a>(&self, metric: &'a Metric) -> Option<&'a Comparison> {
        metric.comparison(&self.asked_for()?.id, &self.kotlin(metric)?.side)
    }

    /// The sides in a language, without the peers.
    pub fn sides_in(&self, language: Language) -> impl Iterator<Item = &Side> {
        self.sides
            .iter()
            .filter(move |side| side.language == language && !side.peer)
    }

    /// The side that is the target; where no side has its name, the first in Rust.
    pub fn asked_for(&self) -> Option<&Side> {
        let rust = || self.sides_in(Language::Rust);
        let target = rust().find(|side| side.id == self.target);
        target.or_else(|| rust().next())
    }
}

/// The command that writes this file again: a result is named after its target.
pub fn again(path: &Path) -> String {
    match &*path.file_stem().unwrap_or_default().to_string_lossy() {
        CALIBRATION => "just calibrate".to_owned(),
        ROUNDS => "just calibrate --rounds".to_owned(),
        TURNS => "just calibrate --turns".to_owned(),
        target => format!("just measure {target}"),
    }
}

/// A small comparison, for tests: three times the throughput.
#[cfg(test)]
pub fn sample() -> ResultFile {
    serde_json::from_str(include_str!("sample.json")).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::THROUGHPUT;

    #[test]
    fn a_result_reads_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results/exercise-3.json");
        sample().write(&path).unwrap();
        let read = ResultFile::read(&path).unwrap();
        assert_eq!(read, sample());
        let throughput = read.metric(&THROUGHPUT).unwrap();
        assert_eq!(
            read.kotlin(throughput).map(|value| value.value),
            Some(5000.0)
        );
        assert_eq!(
            read.rust_against_kotlin(throughput)
                .and_then(|comparison| comparison.ratio),
            Some(3.0)
        );
    }

    #[test]
    fn a_result_that_an_editor_has_saved_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("exercise-3.json");
        sample().write(&path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let saved = format!("\u{feff}{}", text.replace('\n', "\r\n"));
        std::fs::write(&path, saved).unwrap();
        assert_eq!(ResultFile::read(&path).unwrap(), sample());
    }

    #[test]
    fn a_new_result_replaces_the_old_one_and_leaves_nothing_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("exercise-3.json");
        sample().write(&path).unwrap();
        sample().write(&path).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_cannot_be_used_says_what_it_is_and_how_to_replace_it() {
        let folder = tempfile::tempdir().unwrap();
        let error = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            ResultFile::read(&path).unwrap_err().to_string()
        };
        let older = error("solution-3.json", r#"{"schema":1,"target":"solution-3"}"#);
        assert!(older.contains("an older version of the course"), "{older}");
        assert!(older.contains("next: just measure solution-3"), "{older}");
        let newer = error("calibration.json", r#"{"schema":99}"#);
        assert!(newer.contains("a newer version"), "{newer}");
        assert!(newer.contains("next: just calibrate"), "{newer}");
        let other = error("exercise-2.json", "not JSON");
        assert!(other.contains("is not a result file"), "{other}");
        let broken = error("exercise-2.json", &format!(r#"{{"schema":{SCHEMA}}}"#));
        assert!(broken.contains("does not follow schema"), "{broken}");
    }
}
