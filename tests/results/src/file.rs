//! The result files: their schema, how they are read, how they are written.
//!
//! A [`ResultFile`] holds one measurement: who was measured (`sides`), what came out (`metrics`), under which conditions
//! (`manifest`), and why it may not be believed (`invalid`). A side is a row of its own, so that a later exercise can hold
//! Rust against several set-ups of the JVM without a new schema.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::manifest::Manifest;
use workshop_base::outcome::Trouble;
use workshop_base::target::Target;
use workshop_base::workspace::Workspace;

/// The version of the schema below. Raise it with every change that an older reader would misunderstand.
pub const SCHEMA: u32 = 1;

/// What was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// The Kotlin service alone.
    Baseline,
    /// Spawn to first answer.
    ColdStart,
    /// Random reads.
    Reads,
    /// Random reads with and without the guard.
    Guard,
    /// Random reads at a constant rate, while the database stalls.
    Stall,
    /// Random reads with pools of several sizes, and with and without the hidden ping.
    Pool,
    /// All rows at once, and pages by key and by OFFSET.
    Export,
    /// The article's table: both sides in several set-ups.
    Article,
    /// QR codes from a program of their own.
    Process,
    /// QR codes from a WebAssembly module.
    Module,
    /// QR codes from a native library.
    Library,
    /// QR codes at every depth.
    Ladder,
    /// The measuring held against itself.
    Calibration,
}

/// How much was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// About a minute, for orientation: predictions are not judged.
    Quick,
    /// At least five blocks a side, at most five minutes.
    Standard,
    /// At least ten blocks a side.
    Thorough,
}

/// The language of a side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Language {
    /// The service that is ported.
    Kotlin,
    /// The port.
    Rust,
}

impl std::fmt::Display for Language {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Language::Kotlin => "Kotlin",
            Language::Rust => "Rust",
        })
    }
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
}

/// Which way a metric is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// More is better: throughput.
    Higher,
    /// Less is better: everything else.
    Lower,
}

/// What can be said about a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The interval lies wholly on the better side of 1.
    Faster,
    /// The interval lies wholly on the worse side of 1.
    Slower,
    /// The interval holds 1.
    NoDifferenceShown,
    /// A gate was broken; the comparison's `reason` says which.
    Invalid,
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

/// One side held against another.
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

/// One metric of a measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// The stable key: `start_up`, `throughput`, `p99`, `memory`, `cpu_per_request`, `size`, `threads`, or a finer one.
    pub key: String,
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
    /// The sides held against each other; empty when there is one side only.
    pub comparisons: Vec<Comparison>,
}

/// A prediction of the reader held against the measured ratio.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JudgedPrediction {
    /// The metric's key.
    pub key: String,
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
    pub values: std::collections::BTreeMap<String, f64>,
    /// The metrics that this block may not speak for, with the reasons.
    pub invalid: std::collections::BTreeMap<String, String>,
}

/// One measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResultFile {
    /// The version of the schema, [`SCHEMA`].
    pub schema: u32,
    /// What was measured.
    pub task: Task,
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
    /// What a load generator takes for a success: exercise 4 only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wrong_key: Option<WrongKey>,
    /// A stall of the database, and what two ways of counting make of it: exercise 5 only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stall: Option<Stall>,
    /// Where more connections stop to help, and what the pool asks of the database besides: exercise 6 only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<PoolSweep>,
    /// Pages by key and by OFFSET: exercise 7 only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paging: Option<Paging>,
    /// Which side is which row of the article's table: exercise 8 only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub article: Option<Article>,
    /// The program that draws QR codes, by itself: exercise 9 only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramTimes>,
    /// What a call of Rust costs inside of the JVM: exercises 10 and 11 only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<CallTimes>,
    /// Which side is which step of the ladder: exercise 12 only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ladder: Option<Ladder>,
}

/// The same load with a key that counts and with one that does not, on one process. It shows what a gate is for, and has
/// no interval: nothing is claimed from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WrongKey {
    /// The load with the wrong key, as somebody would type it.
    pub command: String,
    /// How long each of the two ran, in seconds.
    pub seconds: f64,
    /// With a key that counts.
    pub right: KeyRun,
    /// With one that does not.
    pub wrong: KeyRun,
}

/// A run, as the load generator and as the gate see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeyRun {
    /// Answers per second.
    pub rate: f64,
    /// The share of successes by the generator's own count, 0 to 1.
    pub success: Option<f64>,
    /// How often each status came.
    pub statuses: std::collections::BTreeMap<String, u64>,
    /// Why the gate refuses the run; none when it does not.
    pub refused: Option<String>,
}

/// A load at a constant rate while the database stands still for a while, each request counted twice: from when it was
/// sent, and from when it was due.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stall {
    /// The load, as somebody would type it.
    pub command: String,
    /// The rate offered to every side, in requests per second.
    pub rate: f64,
    /// How long each run was, in seconds.
    pub seconds: f64,
    /// When the database stopped, in seconds from the beginning of the run.
    pub began_s: f64,
    /// For how many seconds it stood still.
    pub lasted_s: f64,
    /// `DATABASE_TIMEOUT_MS` of the services.
    pub timeout_ms: u64,
    /// What came out, by side.
    pub sides: Vec<StalledSide>,
}

/// What the stall was to one side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StalledSide {
    /// The side's id.
    pub side: String,
    /// How often each status came, over all runs that count.
    pub statuses: std::collections::BTreeMap<String, u64>,
    /// The corrected p99 held against the uncorrected one of the same runs.
    pub p99: Comparison,
    /// One of the runs, moment by moment.
    pub course: Course,
}

/// A run in equal moments: the slowest request of each, by both ways of counting.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Course {
    /// The length of a moment, in seconds.
    pub moment_s: f64,
    /// Milliseconds of the slowest request that was sent in each moment, counted from there; none when none was sent.
    pub uncorrected_ms: Vec<Option<f64>>,
    /// Milliseconds of the slowest request that was due in each moment, counted from there; none when none was due.
    pub corrected_ms: Vec<Option<f64>>,
}

/// Pools of several sizes under the same load. The values are metrics with the size at the end of their keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PoolSweep {
    /// The sizes, rising.
    pub sizes: Vec<u16>,
    /// The share of the best throughput that a pool must reach to count as large enough.
    pub enough: f64,
    /// Where each side's knee is, and that of `pgbench`.
    pub knees: Vec<Knee>,
    /// What pgbench reads in a second with as many clients, by size; empty where there is no pgbench.
    pub database: std::collections::BTreeMap<u16, f64>,
    /// The id of the side that asks the database before it lends a connection.
    pub with_ping: String,
    /// The id of the side that does not.
    pub without_ping: String,
}

/// The smallest pool of a side that reaches nearly what its best one does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Knee {
    /// The side's id.
    pub side: String,
    /// The size of that pool.
    pub size: u16,
    /// Its throughput as a share of the best.
    pub share: f64,
    /// The size of the pool with the best throughput.
    pub best: u16,
}

/// A page of rows asked for in two ways.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Paging {
    /// Rows of a page.
    pub limit: u32,
    /// Rows of the table.
    pub rows: u32,
    /// The pages, near and far.
    pub pages: Vec<PageTimes>,
}

/// One page, by key and by OFFSET.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PageTimes {
    /// The page, from 1.
    pub page: u32,
    /// How often it was asked for in each way.
    pub repetitions: usize,
    /// The median by key, in milliseconds.
    pub key_ms: f64,
    /// The median by OFFSET, in milliseconds.
    pub offset_ms: f64,
    /// OFFSET held against the key.
    pub offset_against_key: Comparison,
}

/// The article's table: both sides in several set-ups, in one run. The values are metrics; here is which side is which row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Article {
    /// The set-ups of Kotlin, by their sides' ids. The first is as shipped; each of the others adds something to the one
    /// before it.
    pub kotlin: Vec<String>,
    /// The port, as it would be shipped.
    pub rust: String,
    /// What each knob is held against: the reference as it would be shipped.
    pub reference: String,
    /// The reference with something changed.
    pub knobs: Vec<Knob>,
    /// The same read with as little as possible around it.
    pub ceiling: String,
    /// The article's load, in requests per second.
    pub rate: f64,
    /// How long it lasted, in seconds.
    pub seconds: f64,
    /// How the smaller heap was found.
    pub heap: HeapSearch,
    /// The images of both languages.
    pub images: Vec<Image>,
}

/// One thing that is changed in the reference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Knob {
    /// The side's id.
    pub side: String,
    /// What is changed, in a few words.
    pub title: String,
}

/// The search for the smallest heap that meets the latency goal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HeapSearch {
    /// The rate of the trials, in requests per second.
    pub rate: f64,
    /// The p99 with the JVM's own heap, in milliseconds.
    pub usual_p99_ms: f64,
    /// The p99 that a heap must keep to.
    pub goal_p99_ms: f64,
    /// The heaps that were tried, in the order of the trials.
    pub trials: Vec<HeapTrial>,
    /// The smallest that kept to it, in MB; none when not even the largest did.
    pub chosen_mb: Option<u32>,
}

/// A heap that was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HeapTrial {
    /// `-Xmx`, in MB.
    pub megabytes: u32,
    /// The p99; none when the gates refused the run.
    pub p99_ms: Option<f64>,
    /// Why it is too small; none when it is not.
    pub refused: Option<String>,
}

/// A container image of a side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Image {
    /// The side's id.
    pub side: String,
    /// Its unpacked size in MB; none where there is no such image.
    pub unpacked_mb: Option<f64>,
    /// Why there is none.
    pub missing: Option<String>,
}

/// A program by itself, from its start to its end, beside one that does nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProgramTimes {
    /// What was timed, as somebody would type it.
    pub command: String,
    /// Runs in each round.
    pub runs: usize,
    /// The program that does nothing, whose time is what a process costs.
    pub nothing: ProgramTime,
    /// The program, by the length of its text.
    pub texts: Vec<TextTime>,
}

/// How long a program runs, in milliseconds: the geometric mean over the rounds of the medians of their runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProgramTime {
    /// The mean.
    pub ms: f64,
    /// The shortest of the rounds.
    pub least_ms: f64,
    /// The longest.
    pub most_ms: f64,
}

/// How long the program takes for a text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TextTime {
    /// Bytes of the text.
    pub text_bytes: usize,
    /// Bytes of its image.
    pub image_bytes: usize,
    /// How long.
    pub time: ProgramTime,
    /// Held against the program that does nothing.
    pub against_nothing: Comparison,
}

/// Calls inside of a JVM, of Rust and of Kotlin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallTimes {
    /// The calls, by what they do and with how many bytes.
    pub calls: Vec<CallTime>,
}

/// A call that Rust answers, beside the same in Kotlin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallTime {
    /// What is called: `copy` or `code`.
    pub call: String,
    /// The bytes that it is given.
    pub bytes: usize,
    /// The geometric mean of Kotlin's rounds, in microseconds.
    pub kotlin_us: f64,
    /// That of the rounds through the border.
    pub rust_us: f64,
    /// That of the rounds with the interpreter: exercise 10 only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interpreted_us: Option<f64>,
    /// Rust held against Kotlin.
    pub rust_against_kotlin: Comparison,
}

/// One endpoint at every depth, in one run. The values are metrics; here is which side is which tier.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ladder {
    /// The tiers, from Kotlin alone up; a tier may have several rows.
    pub tiers: Vec<Tier>,
}

/// A row of the ladder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tier {
    /// How far up it is: 0 is Kotlin alone.
    pub tier: u8,
    /// The side's id.
    pub side: String,
}

/// One claim that the measuring must fulfil about itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CalibrationClaim {
    /// `same` (the reference against itself) or `slowed` (against a planted slowdown).
    pub key: String,
    /// The claim as a sentence.
    pub claim: String,
    /// Whether it held.
    pub holds: bool,
    /// The comparison on the headline metric (throughput) that decides.
    pub decides: Comparison,
}

/// The measuring held against itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CalibrationFile {
    /// The version of the schema, [`SCHEMA`].
    pub schema: u32,
    /// The claims.
    pub claims: Vec<CalibrationClaim>,
    /// The busy microseconds planted into every request of the slowed side.
    pub planted_us: f64,
    /// The slowdown aimed at, as a share: 0.15.
    pub planted_share: f64,
    /// The measurement behind the claims, with all metrics; its sides are `reference`, `again` and `slowed`.
    pub result: ResultFile,
}

impl Verdict {
    /// The verdict as words of a sentence about a metric: throughput is *faster*, memory is *less*.
    pub fn words(self, metric: &str) -> &'static str {
        let amount = matches!(
            metric.split("_at_").next().unwrap_or(metric),
            "memory"
                | "pss"
                | "threads"
                | "size"
                | "cpu_per_request"
                | "cpu_per_row"
                | "start_up_cpu"
                | "image"
                | "database_per_request"
                | "cpu_load"
                | "cpu_in_all"
                | "cpu_once"
        );
        match (self, amount) {
            (Verdict::Faster, false) => "faster",
            (Verdict::Slower, false) => "slower",
            (Verdict::Faster, true) => "less",
            (Verdict::Slower, true) => "more",
            (Verdict::NoDifferenceShown, _) => "no difference shown",
            (Verdict::Invalid, _) => "invalid",
        }
    }
}

impl Metric {
    /// The value of a side.
    pub fn value(&self, side: &str) -> Option<&SideValue> {
        self.values.iter().find(|value| value.side == side)
    }

    /// One side held against another.
    pub fn comparison(&self, side: &str, against: &str) -> Option<&Comparison> {
        self.comparisons
            .iter()
            .find(|comparison| comparison.side == side && comparison.against == against)
    }
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

impl ResultFile {
    /// Where the reader's own results of a target are: `results/exercise-3.json`.
    pub fn own_path(workspace: &Workspace, target: Target) -> PathBuf {
        workspace.results().join(format!("{target}.json"))
    }

    /// Where the committed reference results of an exercise are: `book/reference-results/exercise-3.json`.
    pub fn reference_path(workspace: &Workspace, exercise: &str) -> PathBuf {
        workspace
            .reference_results()
            .join(format!("{exercise}.json"))
    }

    /// Reads a result file.
    ///
    /// # Errors
    /// When it cannot be read, is no result file, or is of another schema version; the error names the file and the
    /// command that makes a new one.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        read(path, |value| {
            let target = value.get("target").and_then(serde_json::Value::as_str);
            let stem = path
                .file_stem()
                .map(|stem| stem.to_string_lossy().into_owned());
            format!(
                "just measure {}",
                target.map(str::to_owned).or(stem).unwrap_or_default()
            )
        })
    }

    /// Writes the file in one step: whoever reads sees the old file or the new one, never half of one.
    ///
    /// # Errors
    /// When the folder cannot be made or written to.
    pub fn write(&self, path: &Path) -> anyhow::Result<()> {
        write(path, self)
    }

    /// The metric with this key.
    pub fn metric(&self, key: &str) -> Option<&Metric> {
        self.metrics.iter().find(|metric| metric.key == key)
    }

    /// What a side is called; its id where there is no such side.
    pub fn label<'a>(&'a self, side: &'a str) -> &'a str {
        let found = self.sides.iter().find(|known| known.id == side);
        found.map_or(side, |known| known.label.as_str())
    }

    /// The first side in this language.
    pub fn side(&self, language: Language) -> Option<&Side> {
        self.sides.iter().find(|side| side.language == language)
    }

    /// The value of Kotlin: of its best set-up where there are several, which is what a claim may rest on.
    pub fn kotlin<'a>(&self, metric: &'a Metric) -> Option<&'a SideValue> {
        match &self.article {
            Some(article) => article.best_kotlin(metric),
            None => metric.value(&self.side(Language::Kotlin)?.id),
        }
    }

    /// The value of the Rust that was asked for.
    pub fn rust<'a>(&self, metric: &'a Metric) -> Option<&'a SideValue> {
        metric.value(&self.asked_for()?.id)
    }

    /// The Rust that was asked for held against Kotlin, as [`ResultFile::kotlin`] takes it.
    pub fn rust_against_kotlin<'a>(&self, metric: &'a Metric) -> Option<&'a Comparison> {
        metric.comparison(&self.asked_for()?.id, &self.kotlin(metric)?.side)
    }

    /// The side that is the target; where no side has its name, the first in Rust.
    fn asked_for(&self) -> Option<&Side> {
        let target = self
            .sides
            .iter()
            .find(|side| side.id == self.target && side.language == Language::Rust);
        target.or_else(|| self.side(Language::Rust))
    }
}

impl Article {
    /// The value of the best of Kotlin's set-ups.
    fn best_kotlin<'a>(&self, metric: &'a Metric) -> Option<&'a SideValue> {
        let values = self.kotlin.iter().filter_map(|side| metric.value(side));
        match metric.better {
            Better::Higher => values.max_by(|one, other| one.value.total_cmp(&other.value)),
            Better::Lower => values.min_by(|one, other| one.value.total_cmp(&other.value)),
        }
    }
}

impl CalibrationFile {
    /// Where the reader's own calibration is.
    pub fn own_path(workspace: &Workspace) -> PathBuf {
        workspace.results().join("calibration.json")
    }

    /// Where the committed calibration is.
    pub fn reference_path(workspace: &Workspace) -> PathBuf {
        workspace.reference_results().join("calibration.json")
    }

    /// Reads a calibration.
    ///
    /// # Errors
    /// As [`ResultFile::read`].
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        read(path, |_| "just calibrate".to_owned())
    }

    /// Writes the file in one step.
    ///
    /// # Errors
    /// When the folder cannot be made or written to.
    pub fn write(&self, path: &Path) -> anyhow::Result<()> {
        write(path, self)
    }
}

fn read<T: DeserializeOwned>(
    path: &Path,
    command: impl Fn(&serde_json::Value) -> String,
) -> anyhow::Result<T> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let value: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let next = format!("{} (it writes the file anew)", command(&value));
    match value.get("schema").and_then(serde_json::Value::as_u64) {
        Some(version) if version == u64::from(SCHEMA) => {}
        Some(version) => {
            let age = if version < u64::from(SCHEMA) {
                "an older"
            } else {
                "a newer"
            };
            return Err(Trouble::new(format!(
                "{} was written by {age} version of the course (schema {version})",
                path.display()
            ))
            .expected(format!("schema {SCHEMA}"))
            .next(next)
            .into());
        }
        None => {
            return Err(
                Trouble::new(format!("{} is no result file", path.display()))
                    .expected(format!("JSON with \"schema\": {SCHEMA}"))
                    .next(next)
                    .into(),
            );
        }
    }
    serde_json::from_value(value).map_err(|error| {
        Trouble::new(format!(
            "{} does not follow schema {SCHEMA}: {error}",
            path.display()
        ))
        .next(next)
        .into()
    })
}

fn write<T: Serialize>(path: &Path, content: &T) -> anyhow::Result<()> {
    let folder = path.parent().context("a result file needs a folder")?;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut file = tempfile::Builder::new()
        .prefix(".result-")
        // Temporary files are for their owner's eyes only; results are for everybody's.
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .tempfile_in(folder)
        .with_context(|| format!("cannot write to {}", folder.display()))?;
    serde_json::to_writer_pretty(&mut file, content)?;
    file.write_all(b"\n")?;
    file.as_file().sync_all()?;
    file.persist(path)
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(())
}

#[cfg(any(test, feature = "samples"))]
pub mod tests {
    use super::*;
    use crate::manifest::Machine;

    /// A small comparison: three times the throughput.
    pub fn sample() -> ResultFile {
        let side = |id: &str, language| Side {
            id: id.to_owned(),
            label: id.to_owned(),
            language,
            command: id.to_owned(),
            runtime: "1.0".to_owned(),
        };
        let value = |side: &str, value| SideValue {
            side: side.to_owned(),
            value,
            least: value,
            most: value,
            blocks: 5,
        };
        let comparison = Comparison {
            ratio: Some(3.0),
            low: Some(2.9),
            high: Some(3.1),
            rounds: 5,
            verdict: Verdict::Faster,
            reason: None,
            ..Comparison::invalid("solution-3", "kotlin", "")
        };
        ResultFile {
            schema: SCHEMA,
            task: Task::Reads,
            exercise: "exercise-3".to_owned(),
            target: "solution-3".to_owned(),
            mode: Mode::Standard,
            taken_at: "2025-11-21T09:30:00Z".to_owned(),
            machine: "Some CPU, 2 cores, 8 GB, Linux".to_owned(),
            manifest: Manifest {
                commit: Some("abc".to_owned()),
                dirty: Some(false),
                machine: Machine {
                    cpu: "Some CPU".to_owned(),
                    cores: 2,
                    memory_mb: 8000,
                    kernel: "Linux".to_owned(),
                    governor: None,
                    throttled: None,
                    virtualised: None,
                },
                versions: [("rustc".to_owned(), "1.95".to_owned())].into(),
                flags: [].into(),
                database: "embedded".to_owned(),
                data_set: "small".to_owned(),
                rows: 10_000,
                fingerprint: "f".to_owned(),
                pool_size: 10,
                connections: 32,
                blocks: 5,
                order: vec!["kotlin".to_owned()],
                round_trips: [("kotlin".to_owned(), 2.0)].into(),
                rates: [("60".to_owned(), 3000.0)].into(),
                took_s: 280.0,
            },
            sides: vec![
                side("kotlin", Language::Kotlin),
                side("solution-3", Language::Rust),
            ],
            metrics: vec![Metric {
                key: "throughput".to_owned(),
                name: "Throughput".to_owned(),
                unit: "requests/s".to_owned(),
                how: "closed loop".to_owned(),
                better: Better::Higher,
                headline: true,
                values: vec![value("kotlin", 5000.0), value("solution-3", 15_000.0)],
                comparisons: vec![comparison],
            }],
            predictions: Vec::new(),
            notes: vec!["a note".to_owned()],
            invalid: Vec::new(),
            blocks: Vec::new(),
            wrong_key: None,
            stall: None,
            pool: None,
            paging: None,
            article: None,
            program: None,
            calls: None,
            ladder: None,
        }
    }

    #[test]
    fn a_result_reads_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results/exercise-3.json");
        sample().write(&path).unwrap();
        let read = ResultFile::read(&path).unwrap();
        assert_eq!(read, sample());
        let throughput = read.metric("throughput").unwrap();
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
    fn a_new_result_replaces_the_old_one_and_leaves_nothing_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("exercise-3.json");
        sample().write(&path).unwrap();
        sample().write(&path).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_of_an_older_schema_is_named_with_the_command_that_makes_a_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("exercise-3.json");
        std::fs::write(&path, r#"{"schema":0,"target":"solution-3"}"#).unwrap();
        let error = ResultFile::read(&path).unwrap_err().to_string();
        assert!(
            error.contains("exercise-3.json was written by an older version"),
            "{error}"
        );
        assert!(error.contains("next: just measure solution-3"), "{error}");
    }

    #[test]
    fn a_file_without_a_schema_and_one_that_does_not_follow_it_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("exercise-2.json");
        std::fs::write(&path, "not JSON").unwrap();
        let error = ResultFile::read(&path).unwrap_err().to_string();
        assert!(
            error.contains("is no result file") && error.contains("just measure exercise-2"),
            "{error}"
        );
        std::fs::write(&path, format!(r#"{{"schema":{SCHEMA}}}"#)).unwrap();
        let error = ResultFile::read(&path).unwrap_err().to_string();
        assert!(error.contains("does not follow schema"), "{error}");
        let error = CalibrationFile::read(&path).unwrap_err().to_string();
        assert!(error.contains("just calibrate"), "{error}");
    }

    #[test]
    fn memory_is_less_and_throughput_is_faster() {
        assert_eq!(Verdict::Faster.words("memory"), "less");
        assert_eq!(Verdict::Slower.words("cpu_per_request_at_60"), "more");
        assert_eq!(Verdict::Faster.words("p99_at_90"), "faster");
        assert_eq!(Verdict::Faster.words("database_per_request"), "less");
        assert_eq!(Verdict::Faster.words("cpu_in_all_at_ten"), "less");
        assert_eq!(
            Verdict::NoDifferenceShown.words("size"),
            "no difference shown"
        );
    }
}
