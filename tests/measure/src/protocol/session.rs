//! A session: rounds of blocks, in random order, within the plan's time.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::protocol::block;

use crate::protocol::block::Loads;
use crate::protocol::lab::Lab;
use crate::protocol::plan;
use crate::protocol::plan::POOL_SIZE;
use crate::protocol::plan::Plan;
use crate::protocol::plan::Sides;
use crate::protocol::plan::TIMEOUT;
use crate::protocol::progress::Progress;
use crate::protocol::subject::Subject;
use crate::protocol::warmup::Limits;
use crate::tools::database::Statements;
use crate::tools::oha::Oha;
use workshop_base::target::Language;
use workshop_base::workspace::Workspace;
use workshop_postgres::datasets::DataSet;
use workshop_results::file::BlockRecord;
use workshop_results::statistics;

/// What blocks need.
pub struct Session<'a> {
    /// The checkout.
    pub workspace: &'a Workspace,
    /// The load generator.
    pub oha: &'a Oha,
    /// How much of everything.
    pub plan: Plan,
    /// The database that all sides read from.
    pub database_url: String,
    /// `DATABASE_TIMEOUT_MS` of the services.
    pub timeout: Duration,
    /// What is in the database.
    pub data_set: DataSet,
    /// The database's own statistics, where it keeps them.
    pub statements: Option<Statements>,
    /// Where it is.
    pub progress: Progress,
}

/// The blocks of a session.
#[derive(Debug, Default)]
pub struct Blocks {
    /// As they ran.
    pub records: Vec<BlockRecord>,
    /// What did not go as planned.
    pub notes: Vec<String>,
}

impl<'a> Session<'a> {
    /// One that reads the lab's data set, as most measurements do.
    pub fn new(lab: &Lab<'a>, oha: &'a Oha, plan: Plan, progress: Progress) -> Self {
        Session {
            workspace: lab.workspace,
            oha,
            plan,
            database_url: lab.database_url.clone(),
            timeout: TIMEOUT,
            data_set: lab.seeded.set,
            statements: None,
            progress,
        }
    }

    /// The database's execution time so far, where it is known.
    pub async fn database_time(&mut self) -> Option<Duration> {
        match &mut self.statements {
            Some(statements) => statements.execution_time().await,
            None => None,
        }
    }

    /// Finds the shared rates: percentages of the slower side's saturation.
    ///
    /// # Errors
    /// When a service does not start, or breaks a gate.
    pub async fn shared_rates(
        &mut self,
        subjects: &[Subject],
        loads: &impl Loads,
    ) -> anyhow::Result<Vec<(u32, f64)>> {
        let mut slowest = f64::INFINITY;
        for subject in subjects {
            self.progress
                .part(&format!("{}: finding its saturation", subject.id()));
            slowest = slowest.min(block::calibrate(self, subject, loads).await?);
        }
        Ok(self
            .plan
            .rates
            .iter()
            .map(|percent| (*percent, (slowest * f64::from(*percent) / 100.0).round()))
            .collect())
    }

    /// Runs the plan's rounds. When the time is out, the remaining rounds are left out and a note says so.
    ///
    /// # Errors
    /// When a service does not start or dies, or a tool cannot be run.
    pub async fn rounds(
        &mut self,
        subjects: &[Subject],
        loads: &mut impl Loads,
    ) -> anyhow::Result<Blocks> {
        let mut blocks = Blocks::default();
        let mut took: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for round in 1..=self.plan.rounds {
            let rounds_left = self.plan.rounds - round + 1;
            if self
                .plan
                .warm_up_limit(
                    Language::Kotlin,
                    self.progress.gone(),
                    sides_of(subjects).times(rounds_left),
                )
                .is_none()
                && blocks.records.len() >= 2 * subjects.len()
            {
                blocks.notes.push(format!(
                    "only {} of {} rounds fitted into the time: this machine is slow, or busy with something else",
                    round - 1,
                    self.plan.rounds
                ));
                break;
            }
            let order = plan::shuffled(subjects.len());
            for (place, side) in order.iter().enumerate() {
                let of_this_round =
                    Sides::of(order[place..].iter().map(|side| subjects[*side].runs_as));
                let blocks_left = of_this_round.plus(sides_of(subjects).times(rounds_left - 1));
                self.progress
                    .expect(self.left(&took, &order[place..], rounds_left - 1));
                let subject = &subjects[*side];
                let pool = if subject.pool_size == POOL_SIZE {
                    String::new()
                } else {
                    format!(" with a pool of {}", subject.pool_size)
                };
                let rounds = self.plan.rounds;
                let title = format!("round {round} of {rounds}, {}{pool}", subject.id());
                self.progress.part(&title);
                let limits = self.limits(subject.runs_as, blocks_left);
                let began = self.progress.gone();
                let observed = block::run(self, subject, loads, &limits, &title).await?;
                took.entry(*side)
                    .or_default()
                    .push((self.progress.gone() - began).as_secs_f64());
                blocks.records.push(BlockRecord {
                    round,
                    place: blocks.records.len() + 1,
                    side: subject.id().to_owned(),
                    values: observed.values,
                    invalid: observed.invalid,
                });
            }
        }
        let jvms = ids_that_run_as(Language::Kotlin, subjects);
        blocks
            .notes
            .extend(notes(&blocks.records, &self.plan, &jvms));
        Ok(blocks)
    }

    /// The warm-up's limits for the next block; when time is short, the least that can be judged.
    fn limits(&self, language: Language, left: Sides) -> Limits {
        let limits = self.plan.warm_up_of(language);
        let ceiling = self
            .plan
            .warm_up_limit(language, self.progress.gone(), left)
            .unwrap_or_else(|| limits.shortest());
        Limits { ceiling, ..limits }
    }

    /// What is left: the rest of this round and the rounds after it, at the pace seen so far.
    fn left(
        &self,
        took: &BTreeMap<usize, Vec<f64>>,
        rest: &[usize],
        rounds_after: usize,
    ) -> Duration {
        let sides = took.len().max(rest.len());
        let guess = (self.plan.block() + self.plan.warm_up.window * 6).as_secs_f64();
        let pace = |side: usize| {
            took.get(&side)
                .map_or(guess, |took| statistics::mean(took.iter().copied()))
        };
        let this_round: f64 = rest.iter().map(|side| pace(*side)).sum();
        let a_round: f64 = (0..sides).map(pace).sum();
        Duration::from_secs_f64(this_round + a_round * rounds_after as f64) + self.plan.database
    }
}

/// How many sides there are of each kind of process.
pub fn sides_of(subjects: &[Subject]) -> Sides {
    Sides::of(subjects.iter().map(|subject| subject.runs_as))
}

fn ids_that_run_as(language: Language, subjects: &[Subject]) -> Vec<&str> {
    let running = subjects
        .iter()
        .filter(|subject| subject.runs_as == language);
    running.map(Subject::id).collect()
}

/// What the blocks say about how far they can be trusted.
fn notes(records: &[BlockRecord], plan: &Plan, jvms: &[&str]) -> Vec<String> {
    let mut notes = Vec::new();
    let mut sides: Vec<&str> = records.iter().map(|record| record.side.as_str()).collect();
    sides.sort_unstable();
    sides.dedup();
    for side in sides {
        let of_side: Vec<&BlockRecord> = records
            .iter()
            .filter(|record| record.side == side)
            .collect();
        let count = |key: &str| {
            of_side
                .iter()
                .filter(|record| record.values.contains_key(key))
                .count()
        };
        let unsteady = count(block::UNSTEADY);
        if unsteady > 0 {
            // A JVM that still compiles is slower than it will be: who reads on must know which way that bends the ratio.
            let (or, consequence) = if jvms.contains(&side) {
                (
                    ", or the JVM still compiled",
                    "; it was still getting faster, so its speed and its CPU per request are worse here than they are in the long run",
                )
            } else {
                ("", "")
            };
            notes.push(format!(
                "{side} was not steady at the end of the warm-up in {unsteady} of {} blocks (its median or its CPU per request still moved by more than {:.0} %{or}){consequence}",
                of_side.len(),
                plan.warm_up.tolerance * 100.0
            ));
        }
        let hung = count(block::HUNG);
        if hung > 0 {
            notes.push(format!(
                "{side} did not stop within ten seconds of SIGTERM in {hung} blocks and was killed"
            ));
        }
        let shares: Vec<f64> = of_side
            .iter()
            .filter_map(|record| record.values.get(block::GENERATOR_SHARE).copied())
            .collect();
        if !shares.is_empty() {
            notes.push(format!(
                "the load generator used {:.0} % of all cores while {side} was saturated",
                statistics::mean(shares) * 100.0
            ));
        }
        for record in &of_side {
            for (key, reason) in &record.invalid {
                notes.push(format!(
                    "round {}, {side}: {key} does not count: {reason}",
                    record.round
                ));
            }
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use workshop_results::file::Mode;

    fn record(side: &str, values: &[(&str, f64)], invalid: &[(&str, &str)]) -> BlockRecord {
        BlockRecord {
            round: 1,
            place: 1,
            side: side.to_owned(),
            values: values
                .iter()
                .map(|(key, value)| ((*key).to_owned(), *value))
                .collect(),
            invalid: invalid
                .iter()
                .map(|(key, reason)| ((*key).to_owned(), (*reason).to_owned()))
                .collect(),
        }
    }

    #[test]
    fn what_shakes_the_trust_in_a_block_is_noted() {
        let records = [
            record(
                "kotlin",
                &[(block::UNSTEADY, 1.0), (block::GENERATOR_SHARE, 0.2)],
                &[],
            ),
            record(
                "kotlin",
                &[(block::GENERATOR_SHARE, 0.3)],
                &[("p99", "only 90 of 100 requests/s were answered")],
            ),
            record("solution-3", &[(block::UNSTEADY, 1.0)], &[]),
            record("solution-9", &[(block::UNSTEADY, 1.0)], &[]),
        ];
        let jvms = ["kotlin", "solution-9"];
        let notes = notes(&records, &Plan::reads(Mode::Standard), &jvms);
        for (note, still) in [(&notes[0], true), (&notes[3], false), (&notes[4], true)] {
            assert_eq!(note.contains("the JVM still compiled"), still, "{note}");
        }
        let notes = notes.join("\n");
        assert!(
            notes.contains("not steady at the end of the warm-up in 1 of 2 blocks (its median"),
            "{notes}"
        );
        assert!(
            notes.contains("used 25 % of all cores while kotlin was saturated"),
            "{notes}"
        );
        assert!(
            notes.contains("p99 does not count: only 90 of 100"),
            "{notes}"
        );
    }
}
