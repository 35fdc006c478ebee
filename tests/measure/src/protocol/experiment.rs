//! The steps that every measurement is made of. Each takes values and gives a value: subjects do the same work, are put under load in
//! turns and in duets, their blocks become metrics with verdicts, and what was found becomes a result file.
//!
//! A task calls the steps that it needs, and adds what is its own.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use futures_util::future::LocalBoxFuture;

use crate::protocol::lab::{self, Lab};
use crate::protocol::load::{self, Step, StepsOf};
use crate::protocol::plan::DUET_RATE;
use crate::protocol::rows::Asked;
use crate::protocol::session::Session;
use crate::protocol::subject::{Pair, Subject, ids, pairs, round_trips};
use crate::protocol::{block, duet, gates, machine, notes};
use crate::tables;
use crate::tools::database;
use workshop_results::file::{BlockRecord, Comparison, Metric, Mode, ResultFile, SCHEMA, Verdict};
use workshop_results::key::{
    CPU_PER_REQUEST, Key, ROUND_TRIPS, THROUGHPUT, THROUGHPUT_ALTERNATING,
};
use workshop_results::metrics::{self, Definition};

/// The shared rates: percent of the slower side's saturation, requests per second.
pub type Rates = Vec<(u32, f64)>;

/// What duets have found.
#[derive(Debug, Default)]
pub struct Duets {
    /// The blocks.
    pub blocks: Vec<BlockRecord>,
    /// The lowest rate that was offered.
    pub rate: f64,
    /// The pairs with a JVM that still got faster.
    unsteady: Vec<Pair>,
}

/// What a measurement has found.
#[derive(Debug, Default)]
pub struct Found {
    /// The shared rates, where there are any.
    pub rates: Rates,
    /// The metrics.
    pub metrics: Vec<Metric>,
    /// The blocks of the rounds.
    pub rounds: Vec<BlockRecord>,
    /// The blocks of the duets.
    pub duets: Vec<BlockRecord>,
    /// Why the whole may not be believed.
    pub invalid: Vec<String>,
}

impl Found {
    /// Together with what was found besides.
    #[must_use]
    pub fn and(mut self, other: Found) -> Found {
        self.rates.extend(other.rates);
        self.metrics.extend(other.metrics);
        self.rounds.extend(other.rounds);
        self.duets.extend(other.duets);
        self.invalid.extend(other.invalid);
        self
    }

    /// The whole is invalid when the metric that everything hangs on has no value for one of these, or cannot be compared.
    #[must_use]
    pub fn decided_by<'s>(
        mut self,
        key: &Key,
        subjects: impl IntoIterator<Item = &'s Subject>,
    ) -> Found {
        let sides: Vec<&str> = subjects.into_iter().map(Subject::id).collect();
        let decides = self.metrics.iter().find(|metric| metric.key == *key);
        let missing = sides
            .iter()
            .filter(|side| decides.is_none_or(|metric| metric.value(side).is_none()))
            .map(|side| format!("no block of {side} passed the gates"));
        let comparisons = decides.iter().flat_map(|metric| &metric.comparisons);
        let is_among = |side: &String| sides.contains(&side.as_str());
        let failed = comparisons
            .filter(|pair| is_among(&pair.side) && is_among(&pair.against))
            .filter_map(|pair| pair.reason.clone());
        self.invalid.extend(missing.chain(failed));
        self
    }
}

/// What a duet measures.
pub fn of_duets() -> anyhow::Result<Vec<Definition>> {
    crate::protocol::metrics::closed_with("load", &[CPU_PER_REQUEST, THROUGHPUT_ALTERNATING])
}

/// The two of a pair, the one above the fraction bar first.
fn cast(known: &[Subject], (side, against): &Pair) -> Vec<Subject> {
    let find = |id| known.iter().find(|subject| subject.id() == id);
    let both = [side, against].into_iter().filter_map(find);
    both.cloned().collect()
}

impl<'a> Session<'a> {
    /// A session of random reads: with its load shown, and the gate passed by all of its subjects.
    pub async fn of_reads(
        lab: &'a Lab<'a>,
        asked: &'a Asked,
    ) -> anyhow::Result<(Self, Vec<Subject>, String)> {
        let (mut session, subjects) = Session::begin(lab, asked, &asked.task).await?;
        let path = session.records();
        session.show_load(&path);
        let subjects = session.same_work(subjects).await?;
        Ok((session, subjects, path))
    }

    /// The gate: all subjects do the same work as the first of them. They come back with what they make of round trips.
    pub fn same_work<'f>(
        &'f mut self,
        mut subjects: Vec<Subject>,
    ) -> LocalBoxFuture<'f, anyhow::Result<Vec<Subject>>> {
        Box::pin(async move {
            self.progress
                .part("the same work? 200 records, failures, round trips");
            let (url, set) = (&self.lab.database_url, self.lab.seeded.set);
            let same = gates::same_work(self.lab.workspace, &subjects, url, set).await?;
            for subject in &mut subjects {
                let round_trips = same.round_trips.get(subject.id());
                let round_trips = round_trips.map(|count| (ROUND_TRIPS, *count));
                subject.constants.extend(round_trips);
            }
            self.notes.extend(same.declared);
            Ok(subjects)
        })
    }

    /// Finds the shared rates: percentages of the slower side's saturation. A plan without rates has none to find.
    pub fn find_rates<'f>(
        &'f self,
        subjects: &'f [Subject],
        path: &'f str,
    ) -> LocalBoxFuture<'f, anyhow::Result<Rates>> {
        Box::pin(async move {
            if self.plan.rates.is_empty() {
                return Ok(Rates::new());
            }
            let mut slowest = f64::INFINITY;
            for subject in subjects {
                self.progress
                    .part(&format!("{}: finding its saturation", subject.id()));
                slowest = slowest.min(block::saturation(self, subject, path).await?);
            }
            Ok(self.rates_of(slowest))
        })
    }

    /// The shared rates of a saturation that is known.
    pub fn rates_of(&self, slowest: f64) -> Rates {
        let rate = |percent: &u32| (*percent, (slowest * f64::from(*percent) / 100.0).round());
        self.plan.rates.iter().map(rate).collect()
    }

    /// The plan's rounds with these loads: a block of every subject in each, in random order.
    pub fn rounds<'f>(
        &'f mut self,
        subjects: &'f [Subject],
        steps: &'f [Step],
    ) -> LocalBoxFuture<'f, anyhow::Result<Vec<BlockRecord>>> {
        Box::pin(async move {
            let mut blocks = Vec::new();
            for turn in block::turns(&self.plan, subjects) {
                blocks.push(load::block(self, &turn, steps).await?);
            }
            Ok(blocks)
        })
    }

    /// A duet of each pair: the judge of CPU per request. With one subject and no pair, it is a solo. A plan without duets has none.
    pub fn duets<'f>(
        &'f mut self,
        subjects: &'f [Subject],
        pairs: &'f [Pair],
        path: &'f str,
    ) -> LocalBoxFuture<'f, anyhow::Result<Duets>> {
        // One subject by itself plays solo.
        let casts = match pairs {
            [] => vec![(subjects.to_vec(), Vec::new())],
            pairs => pairs
                .iter()
                .map(|pair| (cast(subjects, pair), vec![pair.clone()]))
                .collect(),
        };
        self.duets_of(casts, path)
    }

    /// The same, each with more than two sides where that spares warming up the one that all others are compared with.
    pub fn duets_of<'f>(
        &'f mut self,
        casts: Vec<(Vec<Subject>, Vec<Pair>)>,
        path: &'f str,
    ) -> LocalBoxFuture<'f, anyhow::Result<Duets>> {
        Box::pin(async move {
            let mut duets = Duets {
                rate: DUET_RATE,
                ..Duets::default()
            };
            if self.plan.duets == 0 {
                return Ok(duets);
            }
            let (mut offered, mut extents) = (Vec::new(), BTreeSet::new());
            let is_solo = casts.iter().all(|(_, pairs)| pairs.is_empty());
            for (cast, pairs) in casts {
                // No two duets share a round, so each pair is compared by the rounds of its own duet.
                let first_round = duets.blocks.last().map_or(1, |last| last.round + 1);
                let played = duet::play(self, &cast, path, first_round).await?;
                for jvm in &played.unsteady {
                    self.notes.push(format!("{jvm} still got faster when its duet began, so its CPU per request is less in the long run"));
                    let of_it = |(side, against): &&Pair| side == jvm || against == jvm;
                    duets.unsteady.extend(pairs.iter().filter(of_it).cloned());
                }
                offered.push(played.rate);
                extents.insert(played.extent);
                duets.blocks.extend(played.records);
            }
            let note = notes::on_duets(&offered, &extents, is_solo);
            self.notes.extend(note);
            duets.rate = offered.into_iter().fold(duets.rate, f64::min);
            Ok(duets)
        })
    }

    /// What a duet of each pair finds where its sides take turns instead, at this rate: at another one a read would cost something else.
    pub async fn in_turns(
        &mut self,
        subjects: &[Subject],
        path: &str,
        rate: f64,
    ) -> anyhow::Result<Vec<Comparison>> {
        let mut found = Vec::new();
        for pair in pairs(subjects) {
            let cast = cast(subjects, &pair);
            let blocks = duet::in_turns(self, &cast, path, rate).await?;
            let judged =
                metrics::from_blocks(&of_duets()?, &blocks, &ids(subjects), &[pair], false);
            found.extend(judged.into_iter().flat_map(|metric| metric.comparisons));
        }
        Ok(found)
    }

    /// Blocks as metrics with verdicts, each subject compared with those that it is to be compared with. A quick run's rounds are too few
    /// for a verdict, and so is a duet of few rounds with a JVM that still got faster.
    pub fn judged(
        &mut self,
        definitions: &[Definition],
        subjects: &[Subject],
        rounds: Vec<BlockRecord>,
        duets: Option<Duets>,
    ) -> Found {
        let duets = duets.unwrap_or_default();
        self.notes.extend(notes::on_blocks(&rounds, subjects));
        let is_quick = self.asked.mode == Mode::Quick;
        let (sides, pairs) = (ids(subjects), pairs(subjects));
        let blocks = [&rounds[..], &duets.blocks[..]].concat();
        let mut metrics = metrics::from_blocks(definitions, &blocks, &sides, &pairs, is_quick);
        let of_duets = metrics
            .iter_mut()
            .filter(|metric| metric.key == CPU_PER_REQUEST);
        for pair in of_duets.flat_map(|metric| &mut metric.comparisons) {
            let mut unsteady = duets.unsteady.iter();
            if is_quick
                && unsteady.any(|(side, against)| (side, against) == (&pair.side, &pair.against))
            {
                pair.verdict = Verdict::NotJudged;
            }
        }
        Found {
            metrics,
            rounds,
            duets: duets.blocks,
            ..Found::default()
        }
    }

    /// The measurement that most exercises have: rates, rounds, a duet of each pair, verdicts.
    pub async fn compare(
        &mut self,
        subjects: &[Subject],
        path: &str,
        steps: StepsOf,
        definitions: &[Definition],
    ) -> anyhow::Result<Found> {
        let rates = self.find_rates(subjects, path).await?;
        let steps = steps(&self.plan, path, &rates);
        let rounds = self.rounds(subjects, &steps).await?;
        let duets = self.duets(subjects, &pairs(subjects), path).await?;
        let found = self.judged(definitions, subjects, rounds, Some(duets));
        Ok(Found { rates, ..found }.decided_by(&THROUGHPUT, subjects))
    }

    /// The database alone, by pgbench with so many clients; none where there is no pgbench, which a note says.
    pub fn database_alone<'f>(&'f mut self, clients: u16) -> LocalBoxFuture<'f, Option<f64>> {
        Box::pin(async move {
            let length = Duration::from_secs_f64(self.plan.database);
            if length.is_zero() {
                return None;
            }
            self.progress.part(&format!(
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

    /// The result, with the tables that its task declares.
    pub fn finish<'f>(
        mut self,
        subjects: &'f [Subject],
        found: Found,
    ) -> LocalBoxFuture<'f, anyhow::Result<ResultFile>>
    where
        'a: 'f,
    {
        Box::pin(async move {
            let took = self.progress.gone();
            database::close(self.statements.take()).await;
            database::close(self.activity.take()).await;
            self.notes.extend(self.neighbors.note());
            self.notes.extend(notes::on_clocks(self.jumps));
            let at_the_end = notes::on_power(Path::new(machine::POWER));
            if !self
                .notes
                .iter()
                .any(|note| at_the_end.as_ref() == Some(note))
            {
                self.notes.extend(at_the_end);
            }
            let mut manifest = self.lab.manifest(subjects);
            manifest.connections = self.connections;
            manifest.round_trips = round_trips(subjects);
            let rates = found.rates.iter();
            manifest.rates = rates
                .map(|(percent, rate)| (percent.to_string(), *rate))
                .collect();
            let rounds = found.rounds.iter();
            manifest.order = rounds.clone().map(|block| block.side.clone()).collect();
            manifest.blocks = rounds.map(|block| block.round).max().unwrap_or(0);
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
                sides: subjects.iter().map(|one| one.side.clone()).collect(),
                metrics: found.metrics,
                predictions: Vec::new(),
                notes: self.notes,
                invalid: found.invalid,
                blocks: [found.rounds, found.duets].concat(),
                tables: Vec::new(),
                charts: Vec::new(),
            };
            tables::add_declared(&mut result, subjects)?;
            Ok(result)
        })
    }
}
