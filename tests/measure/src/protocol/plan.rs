//! The plans: how many blocks, how long each load, at which rates. They are data, in `plans.toml`.
//!
//! A round holds one block of every side, in random order. So slow changes of the machine (heat, neighbors, caches) meet all
//! sides alike, and each round gives one ratio. A duet runs two sides at the same time, so that fast changes meet both, too.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::time::Duration;

use anyhow::Context;
use rand::seq::SliceRandom;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::Table;

use crate::protocol::warmup::WarmUpLimits;
use workshop_base::target::Language;
use workshop_results::file::Mode;

/// Connections of the load generator.
pub const CONNECTIONS: u32 = 32;
/// Connections in each service's pool.
pub const POOL_SIZE: u16 = 10;
/// The services' `DATABASE_TIMEOUT_MS`, which is their default.
pub const TIMEOUT: Duration = Duration::from_secs(1);
/// The rate, in percent of the slower side's saturation, whose p99 is the headline.
pub const HEADLINE_RATE: u32 = 60;
/// The rate that each side of a duet is offered, in requests per second, where both can carry it easily.
pub const DUET_RATE: f64 = 2_000.0;

/// How much of everything. Times in seconds; `plans.toml` says what each is.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "plans.toml says it, beside the numbers")]
pub struct Plan {
    pub rounds: usize,
    pub warm_up: f64,
    pub floor: u64,
    pub saturation: f64,
    pub open: f64,
    pub rates: Vec<u32>,
    pub duets: usize,
    pub alternating: usize,
    pub database: f64,
    pub takes: [u64; 3],
}

/// How a long run is cut into chunks; `plans.toml` says what each is.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "plans.toml says it, beside the numbers")]
pub struct Chunks {
    pub largest: u64,
    pub fewest: u64,
    pub longest: f64,
    pub settles: u64,
    pub rate: f64,
    pub jvm: Vec<String>,
}

impl Chunks {
    /// Those of `plans.toml`.
    pub fn of_the_course() -> anyhow::Result<Chunks> {
        let file: PlansFile = toml::from_str(include_str!("../plans.toml"))?;
        Ok(file.chunks)
    }

    /// The requests in a chunk of a run of so many.
    pub fn size(&self, requests: u64) -> u64 {
        (requests / self.fewest).clamp(1, self.largest)
    }
}

/// What a mode makes of a plan.
#[derive(Debug, Deserialize)]
struct Factors {
    rounds: f64,
    seconds: f64,
    duets: f64,
}

#[derive(Debug, Deserialize)]
struct PlansFile {
    modes: HashMap<Mode, Factors>,
    extents: HashMap<String, HashMap<Mode, toml::Value>>,
    chunks: Chunks,
    base: Table,
    plans: Table,
}

/// What is a task's own, in a mode; `plans.toml` says what it is.
pub fn extent<T: DeserializeOwned>(task: &str, mode: Mode) -> anyhow::Result<T> {
    let mut file: PlansFile = toml::from_str(include_str!("../plans.toml"))?;
    let own = file.extents.get_mut(task).and_then(|of| of.remove(&mode));
    let own = own.with_context(|| format!("plans.toml has no extent of {task}"))?;
    own.try_into()
        .with_context(|| format!("the extent of {task}"))
}

impl Plan {
    /// The plan of this name in a mode.
    pub fn of(name: &str, mode: Mode) -> anyhow::Result<Plan> {
        let file: PlansFile = toml::from_str(include_str!("../plans.toml"))?;
        let own = file.plans.get(name).and_then(toml::Value::as_table);
        let own = own.with_context(|| format!("plans.toml has no plan {name}"))?;
        let mut table = file.base;
        table.extend(own.clone());
        let plan: Plan = table
            .try_into()
            .with_context(|| format!("the plan {name}"))?;
        let factors = file.modes.get(&mode);
        let factors = factors.context("plans.toml lacks a mode")?;
        Ok(plan.times(factors, mode))
    }

    /// The same with so many rounds, where it has any.
    pub fn with_rounds(mut self, rounds: NonZeroUsize) -> Plan {
        if self.rounds > 0 {
            let factor = rounds.get() as f64 / self.rounds as f64;
            self.takes = self.takes.map(|takes| (takes as f64 * factor) as u64);
            self.rounds = rounds.get();
        }
        self
    }

    fn times(mut self, factors: &Factors, mode: Mode) -> Plan {
        let times = |count: usize, factor: f64| (count as f64 * factor).ceil() as usize;
        self.rounds = times(self.rounds, factors.rounds);
        self.duets = times(self.duets, factors.duets);
        self.alternating = times(self.alternating, factors.rounds);
        self.saturation *= factors.seconds;
        self.open *= factors.seconds;
        self.database *= factors.seconds;
        if mode == Mode::Quick {
            self.database = 0.0;
            if self.rates.contains(&HEADLINE_RATE) {
                self.rates = vec![HEADLINE_RATE];
            }
        }
        self
    }

    /// How the warm-up of a side's block is limited.
    pub fn warm_up_of(&self, language: Language) -> WarmUpLimits {
        let jvm = WarmUpLimits {
            window: Duration::from_secs(1),
            agreeing: 3,
            tolerance: 0.05,
            floor: self.floor,
            ceiling: Duration::from_secs_f64(self.warm_up),
        };
        if language.compiles_under_load() {
            return jvm;
        }
        // No compiler runs beside it: what has to settle is connections and caches. Half the windows' length, and
        // little more than the least that can be judged.
        let window = jvm.window / 2;
        let shorter = WarmUpLimits { window, ..jvm };
        let ceiling = shorter.shortest() * 3 / 2;
        WarmUpLimits { ceiling, ..shorter }
    }

    /// The same where a native binary has had its first load, or none that is looked at: it is warm after some thousands of requests.
    pub fn short_warm_up_of(&self, language: Language) -> WarmUpLimits {
        let limits = self.warm_up_of(language);
        match language.compiles_under_load() {
            true => limits,
            false => limits.one_window(),
        }
    }

    /// How long the measurement takes, roughly.
    pub fn expected(&self, mode: Mode) -> Duration {
        let [quick, standard, thorough] = self.takes;
        Duration::from_secs(match mode {
            Mode::Quick => quick,
            Mode::Standard => standard,
            Mode::Thorough => thorough,
        })
    }
}

/// A random order of the sides for one round.
pub fn shuffled(sides: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sides).collect();
    order.shuffle(&mut rand::rng());
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_plan_has_five_rounds_and_a_quick_one_enough_duets_for_a_verdict() {
        let plan = |mode| Plan::of("reads", mode).unwrap();
        let standard = plan(Mode::Standard);
        assert_eq!((standard.rounds, standard.rates.len()), (5, 3));
        let duets = plan(Mode::Quick).duets;
        assert!(duets >= 8, "its verdict on CPU needs them");
        assert!(plan(Mode::Thorough).rounds >= 10);
    }

    #[test]
    fn more_rounds_take_longer_and_a_plan_without_any_gets_none() {
        let rounds = NonZeroUsize::new(10).unwrap();
        let plan = |name| Plan::of(name, Mode::Standard).unwrap();
        let (five, ten) = (plan("reads"), plan("reads").with_rounds(rounds));
        assert_eq!((ten.rounds, ten.takes[1]), (10, 2 * five.takes[1]));
        assert_eq!(plan("calibration").with_rounds(rounds), plan("calibration"));
    }

    #[test]
    fn every_plan_is_whole_and_an_unknown_one_is_told() {
        let file: PlansFile = toml::from_str(include_str!("../plans.toml")).unwrap();
        for name in file.plans.keys() {
            Plan::of(name, Mode::Thorough).unwrap();
        }
        let error = Plan::of("nothing", Mode::Quick).unwrap_err().to_string();
        assert!(error.contains("no plan nothing"), "{error}");
    }

    #[test]
    fn a_long_run_has_chunks_that_oha_can_hold_and_a_short_one_has_enough_to_be_judged() {
        let chunks = Chunks::of_the_course().unwrap();
        assert_eq!(
            [30_000_000, 200_000, 1].map(|requests| chunks.size(requests)),
            [50_000, 5_000, 1]
        );
    }

    #[test]
    fn every_round_holds_every_side_once() {
        for _ in 0..20 {
            let mut order = shuffled(3);
            order.sort_unstable();
            assert_eq!(order, [0, 1, 2]);
        }
    }
}
