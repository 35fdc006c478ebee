//! An experiment: what every measurement does, once. Who is measured is announced, the gate is held, blocks run in rounds,
//! duets are played, blocks become metrics with verdicts, and all of it becomes a result file with its notes and its manifest.
//!
//! A task calls the steps that it needs, in the order that it needs, and adds what is its own.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::future::LocalBoxFuture;

use crate::protocol::block::{self, Loads, Observed, Steps};
use crate::protocol::lab::{self, Lab};
use crate::protocol::machine;
use crate::protocol::neighbors::CpuTimes;
use crate::protocol::plan::{CONNECTIONS, POOL_SIZE, Plan, shuffled};
use crate::protocol::progress::{self, Progress};
pub use crate::protocol::rows::Asked;
use crate::protocol::session::Session;
use crate::protocol::subject::Subject;
use crate::protocol::{duet, gates};
use crate::tables;
use crate::tools::database::{self, CEILING_SHARE};
use crate::tools::oha::{Call, Load, Order};
use workshop_base::process;
use workshop_base::target::Language;
use workshop_base::terminal::{Style, paint};
use workshop_results::figures::figure;
use workshop_results::file::{BlockRecord, Comparison, Metric, Mode, ResultFile, SCHEMA, Verdict};
use workshop_results::key::{
    CPU_PER_REQUEST, GENERATOR_SHARE, HUNG, Key, ROUND_TRIPS, THROUGHPUT, UNSTEADY,
};
use workshop_results::metrics::{self, Definition, Kind};
use workshop_results::statistics;

/// The side above the fraction bar, and the one below it.
pub type Pair = (String, String);

/// A measurement under way.
pub struct Experiment<'a> {
    /// Where it happens.
    pub lab: &'a Lab<'a>,
    /// What is asked for.
    pub asked: &'a Asked,
    /// What blocks share.
    pub session: Session<'a>,
    /// Who is measured, Kotlin first.
    pub subjects: Vec<Subject>,
    /// The metrics so far.
    pub metrics: Vec<Metric>,
    /// What a reader must know.
    pub notes: Vec<String>,
    /// Why the whole may not be believed.
    pub invalid: Vec<String>,
    /// The shared rates: percent of the slower side's saturation, requests per second.
    pub rates: Vec<(u32, f64)>,
    /// The load's connections.
    pub connections: u32,
    /// The blocks of the rounds.
    pub records: Vec<BlockRecord>,
    duets: Vec<BlockRecord>,
    /// Those who have played them.
    partners: Vec<Pair>,
}

impl<'a> Experiment<'a> {
    /// Builds the task's rows, says what is about to happen, and begins, by the plan of this name.
    pub fn begin(
        lab: &'a Lab<'a>,
        asked: &'a Asked,
        plan: &'a str,
    ) -> LocalBoxFuture<'a, anyhow::Result<Self>> {
        Box::pin(async move {
            let cast = lab.subjects(asked).await?;
            let plan = Plan::of(plan, asked.mode)?;
            let mut experiment = Experiment::of(lab, asked, cast.subjects, plan);
            experiment.notes.extend(cast.missing);
            Ok(experiment)
        })
    }

    /// The same with subjects that are built, and a plan that is made.
    pub fn of(lab: &'a Lab<'a>, asked: &'a Asked, subjects: Vec<Subject>, plan: Plan) -> Self {
        // A plan knows how long its own rows take; a service beside the port takes about as long as one of those.
        let peers = subjects.iter().filter(|subject| subject.side.peer).count();
        let own = (subjects.len() - peers).max(1);
        let expected = plan
            .expected(asked.mode)
            .mul_f64(subjects.len() as f64 / own as f64);
        let pairs = pairs(&subjects).len();
        let duets = if plan.duets > 0 { pairs.max(1) } else { 0 };
        let parts = [(plan.rounds, "round"), (duets, "duet")];
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        println!(
            "measuring {}: {}about {}",
            paint(Style::Strong, ids(&subjects).join(" and ")),
            parts
                .map(|(count, what)| format!("{}, ", counted(*count, what)))
                .collect::<String>(),
            progress::in_words(expected)
        );
        Experiment {
            lab,
            asked,
            session: Session::new(lab, plan, Progress::begin(expected)),
            notes: standing_notes(&subjects, asked.mode),
            subjects,
            metrics: Vec::new(),
            invalid: Vec::new(),
            rates: Vec::new(),
            connections: CONNECTIONS,
            records: Vec::new(),
            duets: Vec::new(),
            partners: Vec::new(),
        }
    }

    /// An experiment that reads random records: with its load shown, and its gate passed.
    pub async fn of_reads(lab: &'a Lab<'a>, asked: &'a Asked) -> anyhow::Result<(Self, String)> {
        let mut experiment = Experiment::begin(lab, asked, &asked.task).await?;
        let path = experiment.session.records();
        experiment.show_load(&path);
        experiment.same_work().await?;
        Ok((experiment, path))
    }

    /// Shows the raw command of the load on these random paths.
    pub fn show_load(&self, path: &str) {
        self.show_load_of(path, Load::Closed);
        let plan = &self.session.plan;
        if !plan.rates.is_empty() || plan.duets > 0 {
            println!("           and at shared rates, with -q RATE --latency-correction");
        }
    }

    /// Shows the raw command of one load on these random paths.
    pub fn show_load_of(&self, path: &str, load: Load) {
        let order = Order {
            url: format!("http://127.0.0.1:PORT{path}"),
            header: self.session.header.clone(),
            call: Call::default(),
            connections: self.connections,
            duration: Duration::from_secs_f64(self.session.plan.saturation.max(1.0)),
            load,
        };
        println!("the load:  {}", order.typed());
    }

    /// The gate: all subjects do the same work as the first of them.
    pub fn same_work<'f>(&'f mut self) -> LocalBoxFuture<'f, anyhow::Result<()>> {
        Box::pin(async move {
            self.session
                .progress
                .part("the same work? 200 records, failures, round trips");
            let (url, set) = (&self.lab.database_url, self.lab.seeded.set);
            let same = gates::same_work(self.lab.workspace, &self.subjects, url, set).await?;
            for subject in &mut self.subjects {
                let round_trips = same.round_trips.get(subject.id()).copied();
                subject
                    .constants
                    .extend(round_trips.map(|count| (ROUND_TRIPS, count)));
            }
            self.notes.extend(same.declared);
            Ok(())
        })
    }

    /// Database round trips per read, by side, where they were counted.
    pub fn round_trips(&self) -> BTreeMap<String, f64> {
        let counted = |subject: &Subject| {
            let count = subject.constants.get(&ROUND_TRIPS).copied();
            Some((subject.id().to_owned(), count?))
        };
        self.subjects.iter().filter_map(counted).collect()
    }

    /// Finds the shared rates: percentages of the slower side's saturation.
    pub fn find_rates<'f>(
        &'f mut self,
        path: &'f str,
    ) -> LocalBoxFuture<'f, anyhow::Result<Vec<(u32, f64)>>> {
        Box::pin(async move {
            let mut slowest = f64::INFINITY;
            for subject in &self.subjects {
                let progress = &self.session.progress;
                progress.part(&format!("{}: finding its saturation", subject.id()));
                slowest = slowest.min(block::saturation(&self.session, subject, path).await?);
            }
            self.set_rates(slowest);
            Ok(self.rates.clone())
        })
    }

    /// The shared rates of a saturation that is known.
    pub fn set_rates(&mut self, slowest: f64) {
        let rate = |percent: &u32| (*percent, (slowest * f64::from(*percent) / 100.0).round());
        self.rates = self.session.plan.rates.iter().map(rate).collect();
    }

    /// Runs the plan's rounds with these loads: a block of every subject in each, in random order.
    pub fn rounds<'f>(
        &'f mut self,
        subjects: &'f [Subject],
        loads: &'f mut dyn Loads,
    ) -> LocalBoxFuture<'f, anyhow::Result<Vec<BlockRecord>>> {
        Box::pin(async move {
            let block = async |session: &mut Session<'_>, subject: &Subject, title: &str| {
                block::run(session, subject, loads, title).await
            };
            self.rounds_of(subjects, block).await
        })
    }

    /// The same with blocks of another kind.
    pub async fn rounds_of(
        &mut self,
        subjects: &[Subject],
        mut block: impl AsyncFnMut(&mut Session<'a>, &Subject, &str) -> anyhow::Result<Observed>,
    ) -> anyhow::Result<Vec<BlockRecord>> {
        let (rounds, mut records) = (self.session.plan.rounds, Vec::new());
        for round in 1..=rounds {
            for subject in shuffled(subjects.len())
                .into_iter()
                .map(|place| &subjects[place])
            {
                let (id, detail) = (subject.id(), &subject.detail);
                let title = format!("round {round} of {rounds}, {id}{detail}");
                self.session.progress.part(&title);
                let before = CpuTimes::now();
                let observed = block(&mut self.session, subject, &title).await?;
                self.session.neighbors.since(before);
                let place = self.records.len() + records.len() + 1;
                records.push(observed.record(round, place, id));
            }
        }
        self.notes.extend(notes_on_blocks(&records, subjects));
        self.records.extend(records.clone());
        Ok(records)
    }

    /// Plays a duet of each pair: the judge of CPU per request. With one subject and no pair, it is a solo. Returns the lowest rate
    /// that was offered.
    pub fn duets<'f>(
        &'f mut self,
        pairs: &'f [Pair],
        path: &'f str,
    ) -> LocalBoxFuture<'f, anyhow::Result<f64>> {
        Box::pin(async move {
            if self.session.plan.duets == 0 {
                return Ok(self.session.duet_rate);
            }
            let (mut offered, mut extents) = (Vec::new(), BTreeSet::new());
            let mut unsteady: Vec<&Pair> = Vec::new();
            let known = self.subjects.clone();
            // One subject by itself plays solo.
            let casts = match pairs {
                [] => vec![(known.clone(), None)],
                pairs => pairs
                    .iter()
                    .map(|pair| (cast(&known, pair), Some(pair)))
                    .collect(),
            };
            for (cast, pair) in casts {
                // No two duets share a round, so each pair is compared by the rounds of its own duet.
                let first_round = self.duets.last().map_or(1, |last| last.round + 1);
                let played = duet::play(&mut self.session, &cast, path, first_round).await?;
                for jvm in &played.unsteady {
                    self.notes.push(format!("{jvm} still got faster when its duet began, so its CPU per request is less in the long run"));
                    unsteady.extend(pair);
                }
                offered.push(played.rate);
                extents.insert(played.extent);
                self.duets.extend(played.records);
            }
            self.partners.extend_from_slice(pairs);
            let sides = ids(&self.subjects);
            let mut judged = metrics::from_blocks(&cpu()?, &self.duets, &sides, &self.partners);
            if self.asked.mode == Mode::Quick {
                let compared = judged.iter_mut().flat_map(|metric| &mut metric.comparisons);
                let is_unsteady = |pair: &&mut Comparison| {
                    let mut pairs = unsteady.iter();
                    pairs.any(|(side, against)| *side == pair.side && *against == pair.against)
                };
                compared
                    .filter(is_unsteady)
                    .for_each(|pair| pair.verdict = Verdict::NotJudged);
            }
            self.metrics.retain(|metric| metric.key != CPU_PER_REQUEST);
            self.metrics.extend(judged);
            self.notes
                .extend(note_on_duets(&offered, &extents, pairs.is_empty()));
            Ok(offered.into_iter().fold(self.session.duet_rate, f64::min))
        })
    }

    /// What a duet of each pair finds where its sides take turns instead, at this rate: at another one a read would cost something else.
    pub async fn in_turns(
        &mut self,
        pairs: &[Pair],
        path: &str,
        rate: f64,
    ) -> anyhow::Result<Vec<Comparison>> {
        self.session.duet_rate = rate;
        let (sides, cpu) = (ids(&self.subjects), cpu()?);
        let mut found = Vec::new();
        for pair in pairs {
            let cast = cast(&self.subjects, pair);
            let records = duet::in_turns(&mut self.session, &cast, path).await?;
            let metrics = metrics::from_blocks(&cpu, &records, &sides, std::slice::from_ref(pair));
            found.extend(metrics.into_iter().flat_map(|metric| metric.comparisons));
        }
        Ok(found)
    }

    /// Turns blocks into metrics with verdicts. A quick run's rounds are too few for one: they have values and ratios only.
    pub fn judge(&mut self, definitions: &[Definition], records: &[BlockRecord], pairs: &[Pair]) {
        let sides = ids(&self.subjects);
        let mut metrics = metrics::from_blocks(definitions, records, &sides, pairs);
        for metric in &mut metrics {
            let varies =
                |known: &&Definition| known.key == metric.key && known.kind == Kind::Varying;
            let varies = definitions.iter().find(varies).is_some();
            if self.asked.mode == Mode::Quick && varies {
                let mut comparisons = std::mem::take(&mut metric.comparisons);
                for pair in &mut comparisons {
                    without_verdict(pair, metric);
                }
                metric.comparisons = comparisons;
            }
        }
        // In the order of the definitions, whichever way they were measured.
        let mut before = std::mem::take(&mut self.metrics);
        metrics.extend(before.extract_if(.., |metric| is_defined(definitions, &metric.key)));
        metrics.sort_by_key(|metric| definitions.iter().position(|known| known.key == metric.key));
        self.metrics = before.into_iter().chain(metrics).collect();
    }

    /// The measurement that most exercises have: rates, rounds, a duet of each pair, verdicts. Returns the blocks.
    pub async fn compare(
        &mut self,
        path: &str,
        steps: impl FnOnce(&Plan, &[(u32, f64)]) -> Steps,
        definitions: impl FnOnce(&Plan) -> anyhow::Result<Vec<Definition>>,
    ) -> anyhow::Result<()> {
        if !self.session.plan.rates.is_empty() {
            self.find_rates(path).await?;
        }
        let (subjects, pairs) = (self.subjects.clone(), pairs(&self.subjects));
        let mut steps = steps(&self.session.plan, &self.rates);
        let records = self.rounds(&subjects, &mut steps).await?;
        self.duets(&pairs, path).await?;
        self.judge(&definitions(&self.session.plan)?, &records, &pairs);
        self.decide(&THROUGHPUT, &ids(&subjects));
        Ok(())
    }

    /// The whole is invalid when the metric that everything hangs on has no value for a side, or cannot be compared.
    pub fn decide(&mut self, key: &Key, sides: &[String]) {
        let decides = self.metrics.iter().find(|metric| metric.key == *key);
        let missing = sides
            .iter()
            .filter(|side| decides.is_none_or(|metric| metric.value(side).is_none()))
            .map(|side| format!("no block of {side} passed the gates"));
        let comparisons = decides.iter().flat_map(|metric| &metric.comparisons);
        let failed = comparisons
            .filter(|pair| sides.contains(&pair.side) && sides.contains(&pair.against))
            .filter_map(|pair| pair.reason.clone());
        let reasons: Vec<String> = missing.chain(failed).collect();
        self.invalid.extend(reasons);
    }

    /// The database alone, by pgbench with so many clients; none where there is no pgbench, which a note says.
    pub fn database_alone<'f>(&'f mut self, clients: u16) -> LocalBoxFuture<'f, Option<f64>> {
        Box::pin(async move {
            let length = Duration::from_secs_f64(self.session.plan.database);
            if length.is_zero() {
                return None;
            }
            let progress = &self.session.progress;
            progress.part(&format!(
                "the database alone, by pgbench with {clients} clients"
            ));
            let missing = match self.lab.pgbench(clients, length).await {
                Some(Ok(rate)) => return Some(rate),
                Some(Err(error)) => error.to_string(),
                None => "there is no pgbench on this machine".to_owned(),
            };
            let note = format!("what the database does alone is unknown: {missing}");
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
            None
        })
    }

    /// Says where a service's throughput is the database's rather than its own.
    pub fn compare_with_the_database(&mut self, alone: f64) {
        self.notes.push(format!(
            "pgbench alone reads {} records/s over {POOL_SIZE} connections: the ceiling of any service here",
            figure(alone)
        ));
        let throughput = self.metrics.iter().find(|metric| metric.key == THROUGHPUT);
        for value in throughput.iter().flat_map(|metric| &metric.values) {
            let share = value.value / alone;
            if share > CEILING_SHARE {
                self.notes.push(format!(
                    "{} reaches {:.0} % of that ceiling: its throughput measures PostgreSQL rather than the service",
                    value.side,
                    share * 100.0
                ));
            }
        }
    }

    /// The result, with the tables that its task declares.
    pub fn finish(mut self) -> LocalBoxFuture<'a, anyhow::Result<ResultFile>> {
        Box::pin(async move {
            let took = self.session.progress.gone();
            database::close(self.session.statements.take()).await;
            database::close(self.session.activity.take()).await;
            self.notes.extend(self.session.neighbors.note());
            let mut manifest = self.lab.manifest(&self.subjects);
            manifest.connections = self.connections;
            manifest.round_trips = self.round_trips();
            let rates = self.rates.iter();
            manifest.rates = rates
                .map(|(percent, rate)| (percent.to_string(), *rate))
                .collect();
            let records = self.records.iter();
            manifest.order = records.map(|record| record.side.clone()).collect();
            manifest.blocks = rounds_of(&self.records);
            manifest.took_s = took.as_secs_f64().round();
            let mut result = ResultFile {
                schema: SCHEMA,
                task: self.asked.task.clone(),
                exercise: format!("exercise-{}", self.asked.exercise),
                target: self.asked.target.to_string(),
                mode: self.asked.mode,
                taken_at: lab::now(),
                machine: machine::label(&manifest.machine),
                manifest,
                sides: self.subjects.iter().map(|one| one.side.clone()).collect(),
                metrics: self.metrics,
                predictions: Vec::new(),
                notes: self.notes,
                invalid: self.invalid,
                blocks: self.records.into_iter().chain(self.duets).collect(),
                tables: Vec::new(),
                charts: Vec::new(),
            };
            tables::add_declared(&mut result, &self.subjects)?;
            Ok(result)
        })
    }
}

/// In how many rounds these blocks were.
fn rounds_of(records: &[BlockRecord]) -> usize {
    records.iter().map(|record| record.round).max().unwrap_or(0)
}

fn is_defined(definitions: &[Definition], key: &Key) -> bool {
    definitions.iter().any(|definition| definition.key == *key)
}

/// `1 round`, `5 rounds`.
fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Who is compared with whom, of these.
pub fn pairs(subjects: &[Subject]) -> Vec<Pair> {
    let pairs = subjects.iter().flat_map(|subject| {
        let against = subject.against.iter();
        against.map(|against| (subject.id().to_owned(), against.clone()))
    });
    pairs.collect()
}

/// What a duet measures.
fn cpu() -> anyhow::Result<Vec<Definition>> {
    crate::protocol::metrics::closed_with("load", &[CPU_PER_REQUEST])
}

/// The two of a pair, the one above the fraction bar first.
fn cast(known: &[Subject], (side, against): &Pair) -> Vec<Subject> {
    let find = |id| known.iter().find(|subject| subject.id() == id);
    [side, against]
        .into_iter()
        .filter_map(find)
        .cloned()
        .collect()
}

/// The ids of subjects.
pub fn ids(subjects: &[Subject]) -> Vec<String> {
    subjects
        .iter()
        .map(|subject| subject.id().to_owned())
        .collect()
}

/// A ratio of a few values, and no claim.
fn without_verdict(pair: &mut Comparison, metric: &Metric) {
    let value = |side: &str| metric.value(side).map(|value| value.value);
    let ratio = value(&pair.side)
        .zip(value(&pair.against))
        .map(|(side, against)| side / against);
    if ratio.is_some() {
        pair.ratio = ratio;
        pair.verdict = Verdict::NotJudged;
        (pair.low, pair.high, pair.reason) = (None, None, None);
    }
}

fn note_on_duets(
    offered: &[f64],
    extents: &BTreeSet<(usize, Duration)>,
    alone: bool,
) -> Option<String> {
    let least = offered.iter().copied().reduce(f64::min)?;
    let most = offered.iter().copied().reduce(f64::max)?;
    let rate = if least < most {
        format!("{} to {}", figure(least), figure(most))
    } else {
        figure(most)
    };
    let who = match alone {
        true => "the service",
        false => "both sides at the same time",
    };
    let extents = extents
        .iter()
        .map(|(rounds, block)| format!("{rounds} rounds of {} s", block.as_secs()));
    let extents = extents.collect::<Vec<_>>().join(" or ");
    let bent = match alone {
        true => "",
        false => {
            "; sharing the machine draws a ratio towards 1, by a few percent (just calibrate --turns)"
        }
    };
    Some(format!(
        "CPU per request: {who} under {rate} requests/s, in {extents}, each with fresh processes{bent}"
    ))
}

fn standing_notes(subjects: &[Subject], mode: Mode) -> Vec<String> {
    let mut notes = Vec::new();
    if mode == Mode::Quick {
        notes.push("a quick run judges CPU per request and size; the rest are values of a few short blocks, without a verdict".to_owned());
    }
    let kotlin = subjects
        .iter()
        .find(|subject| subject.side.language == Language::Kotlin);
    let as_shipped = kotlin.filter(|kotlin| !kotlin.has_a_set_heap());
    notes.extend(as_shipped.map(|kotlin| {
        format!(
            "Kotlin runs as shipped, by `{}` on {}: with the JVM's default heap its memory is what its policy takes, not what it needs; exercise 8 tunes it",
            kotlin.side.command, kotlin.side.runtime
        )
    }));
    notes
        .extend(kotlin.map(|_| "the size of Kotlin is its jar's; the JVM comes on top".to_owned()));
    notes.push(format!(
        "load generator, services and PostgreSQL share the machine's {} cores",
        process::cores()
    ));
    if !process::available() {
        notes.push(process::NO_PROC.to_owned());
    }
    notes.extend(machine::warning(&machine::look()));
    notes
}

/// What the blocks say about how far they can be trusted.
pub fn notes_on_blocks(records: &[BlockRecord], subjects: &[Subject]) -> Vec<String> {
    let mut notes = Vec::new();
    let sides: BTreeSet<&str> = records.iter().map(|record| record.side.as_str()).collect();
    for side in sides {
        let of_side: Vec<&BlockRecord> = records
            .iter()
            .filter(|record| record.side == side)
            .collect();
        let values = |key: Key| -> Vec<f64> {
            of_side
                .iter()
                .filter_map(|record| record.values.get(&key).copied())
                .collect()
        };
        let unsteady = values(UNSTEADY).len();
        if unsteady > 0 {
            let compiles = subjects
                .iter()
                .any(|subject| subject.id() == side && subject.runs_as.compiles_under_load());
            // A service that is still being compiled is slower than it will be: who reads on must know which way that bends the ratio.
            let consequence = if compiles {
                ", or its virtual machine still compiled; it was still getting faster, so its speed is worse here than it is in the long run"
            } else {
                ""
            };
            notes.push(format!(
                "{side} was not steady at the end of the warm-up in {unsteady} of {} blocks: its median or its CPU per request still moved by more than a few percent{consequence}",
                of_side.len(),
            ));
        }
        let hung = values(HUNG).len();
        if hung > 0 {
            notes.push(format!(
                "{side} did not stop within ten seconds of SIGTERM in {hung} blocks and was killed"
            ));
        }
        let shares = values(GENERATOR_SHARE);
        if !shares.is_empty() {
            notes.push(format!(
                "the load generator used {:.0} % of all cores while {side} was saturated",
                statistics::mean(shares) * 100.0
            ));
        }
        for record in &of_side {
            let invalid = record.invalid.iter();
            notes.extend(invalid.map(|(key, reason)| {
                format!(
                    "round {}, {side}: {key} does not count: {reason}",
                    record.round
                )
            }));
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use workshop_results::key::P99;

    fn record(side: &str, values: &[(Key, f64)], invalid: &[(Key, &str)]) -> BlockRecord {
        let invalid = invalid.iter().cloned();
        BlockRecord {
            round: 1,
            place: 1,
            side: side.to_owned(),
            values: values.iter().cloned().collect(),
            invalid: invalid
                .map(|(key, reason)| (key, reason.to_owned()))
                .collect(),
        }
    }

    #[test]
    fn what_shakes_the_trust_in_a_block_is_noted() {
        let records = [
            record("kotlin", &[(UNSTEADY, 1.0), (GENERATOR_SHARE, 0.2)], &[]),
            record(
                "kotlin",
                &[(GENERATOR_SHARE, 0.3)],
                &[(P99, "only 90 of 100 requests/s were answered")],
            ),
        ];
        let notes = notes_on_blocks(&records, &[]).join("\n");
        for said in [
            "not steady at the end of the warm-up in 1 of 2 blocks",
            "used 25 % of all cores while kotlin was saturated",
            "p99 does not count: only 90 of 100",
        ] {
            assert!(notes.contains(said), "{notes}");
        }
    }
}
