//! The protocol: how many blocks, how long each phase, in which order, within which time.
//!
//! A round holds one block of every side, in random order. So slow changes of the machine (heat, neighbours, caches) meet all
//! sides alike, and each round gives one ratio.

use std::time::Duration;

use rand::seq::SliceRandom;

use super::results::Mode;
use super::warmup;

/// Connections of the load generator.
pub const CONNECTIONS: u32 = 32;
/// Connections in each service's pool.
pub const POOL_SIZE: u16 = 10;
/// The rate, in percent of the slower side's saturation, whose p99 is the headline.
pub const HEADLINE_RATE: u32 = 60;
/// What a block needs besides its loads: start, stop, and the generator's own start for each load.
const BLOCK_OVERHEAD: Duration = Duration::from_millis(2500);
/// What a measurement needs before its first block, besides the warm-up of the calibration: the same-work gate.
const BEFORE: Duration = Duration::from_secs(8);

/// The plan of a measurement by load.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// How many rounds.
    pub rounds: usize,
    /// How the warm-up of a block is limited, before the time budget has its say.
    pub warm_up: warmup::Limits,
    /// The longest warm-up of the calibration that finds the shared rates.
    pub calibration: Duration,
    /// How long the closed loop runs.
    pub saturation: Duration,
    /// How long each open loop runs.
    pub open: Duration,
    /// The open loops' rates, in percent of the slower side's saturation.
    pub rates: Vec<u32>,
    /// How long the database alone is measured; zero leaves it out.
    pub database: Duration,
    /// What the whole may take; none for no limit.
    pub budget: Option<Duration>,
}

impl Plan {
    /// The plan of exercise 3: five minutes on two cores, one minute, or the long one.
    pub fn reads(mode: Mode) -> Plan {
        let plan = |rounds, saturation: f64, open: f64, rates: &[u32], budget: Option<u64>| Plan {
            rounds,
            warm_up: warm_up(mode),
            calibration: Duration::from_secs(if mode == Mode::Quick { 3 } else { 12 }),
            saturation: Duration::from_secs_f64(saturation),
            open: Duration::from_secs_f64(open),
            rates: rates.to_vec(),
            database: Duration::from_secs(match mode {
                Mode::Quick => 0,
                Mode::Standard => 3,
                Mode::Thorough => 10,
            }),
            budget: budget.map(Duration::from_secs),
        };
        match mode {
            Mode::Quick => plan(3, 2.0, 1.5, &[60], Some(60)),
            Mode::Standard => plan(5, 4.5, 2.5, &[30, 60, 90], Some(285)),
            Mode::Thorough => plan(10, 10.0, 6.0, &[30, 60, 90], None),
        }
    }

    /// The plan of exercise 4: three sides, more rounds and no open loops, since a small difference in throughput and CPU
    /// is looked for.
    pub fn guard(mode: Mode) -> Plan {
        let (rounds, saturation, budget) = match mode {
            Mode::Quick => (3, 1.5, Some(68)),
            Mode::Standard => (6, 4.0, Some(275)),
            Mode::Thorough => (12, 10.0, None),
        };
        Plan {
            rounds,
            calibration: Duration::ZERO,
            saturation: Duration::from_secs_f64(saturation),
            rates: Vec::new(),
            database: Duration::ZERO,
            budget: budget.map(Duration::from_secs),
            ..Plan::reads(mode)
        }
    }

    /// The plan of exercise 1: the Kotlin service alone.
    pub fn baseline(mode: Mode) -> Plan {
        let rounds = match mode {
            Mode::Quick => 1,
            Mode::Standard => 3,
            Mode::Thorough => 10,
        };
        let budget = match mode {
            Mode::Quick => Some(Duration::from_secs(45)),
            Mode::Standard => Some(Duration::from_secs(140)),
            Mode::Thorough => None,
        };
        Plan {
            rounds,
            budget,
            ..Plan::reads(mode)
        }
    }

    /// The plan of the calibration: ten rounds of what decides, which is throughput.
    pub fn calibration() -> Plan {
        let plan = Plan::reads(Mode::Standard);
        Plan {
            rounds: 10,
            // Three native binaries: what is not steady by then is kept from it by the machine.
            warm_up: warmup::Limits {
                ceiling: Duration::from_secs(8),
                ..plan.warm_up
            },
            calibration: Duration::from_secs(8),
            rates: Vec::new(),
            database: Duration::ZERO,
            budget: None,
            ..plan
        }
    }

    /// What a block takes, its warm-up aside.
    pub fn block(&self) -> Duration {
        BLOCK_OVERHEAD + self.saturation + self.open * self.rates.len() as u32
    }

    /// The least that a warm-up takes.
    fn shortest_warm_up(&self) -> Duration {
        self.warm_up.window * self.warm_up.agreeing as u32
    }

    /// What the whole is expected to take with so many sides, half of the warm-ups going to their ceiling.
    pub fn expected(&self, sides: usize) -> Duration {
        let blocks = (self.rounds * sides) as u32;
        let warm_up = (self.shortest_warm_up() + self.warm_up.ceiling) / 2;
        let expected = BEFORE
            + self.calibration * sides as u32
            + self.database
            + (self.block() + warm_up) * blocks;
        self.budget.map_or(expected, |budget| expected.min(budget))
    }

    /// The longest that the next block's warm-up may take, when so much of the time is gone and so many blocks are left,
    /// the next one included: what the fixed phases leave over is shared out evenly, so what one block does not need is
    /// there for the others.
    ///
    /// None when the remaining blocks do not fit any more.
    pub fn warm_up_limit(&self, gone: Duration, blocks_left: usize) -> Option<Duration> {
        let Some(budget) = self.budget else {
            return Some(self.warm_up.ceiling);
        };
        let left = budget.saturating_sub(gone).saturating_sub(self.database);
        let each = left / blocks_left.max(1) as u32;
        let limit = each.checked_sub(self.block())?;
        (limit >= self.shortest_warm_up()).then(|| limit.min(self.warm_up.ceiling))
    }

    /// How many rounds must be valid for a comparison to count.
    pub fn rounds_needed(&self) -> usize {
        (self.rounds * 3).div_ceil(5).max(self.rounds.min(2))
    }
}

fn warm_up(mode: Mode) -> warmup::Limits {
    let window = if mode == Mode::Quick { 500 } else { 1000 };
    let ceiling = match mode {
        Mode::Quick => 6,
        Mode::Standard => 20,
        Mode::Thorough => 45,
    };
    warmup::Limits {
        window: Duration::from_millis(window),
        agreeing: 3,
        tolerance: 0.05,
        floor: 10_000,
        ceiling: Duration::from_secs(ceiling),
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
    fn the_standard_plan_has_five_blocks_a_side_and_five_minutes() {
        let plan = Plan::reads(Mode::Standard);
        assert!(plan.rounds >= 5);
        assert!(plan.expected(2) <= Duration::from_secs(300));
        assert_eq!(plan.rates, [30, 60, 90]);
    }

    #[test]
    fn the_quick_plan_takes_a_minute_and_the_thorough_one_has_ten_blocks() {
        assert!(Plan::reads(Mode::Quick).expected(2) <= Duration::from_secs(60));
        assert!(Plan::reads(Mode::Thorough).rounds >= 10);
    }

    #[test]
    fn warm_ups_that_all_go_to_their_limit_keep_the_budget() {
        for mode in [Mode::Quick, Mode::Standard] {
            let plan = Plan::reads(mode);
            let mut gone = BEFORE + plan.calibration * 2;
            for left in (1..=plan.rounds * 2).rev() {
                let limit = plan
                    .warm_up_limit(gone, left)
                    .expect("there is time for a warm-up");
                gone += limit + plan.block();
            }
            assert!(
                gone + plan.database <= plan.budget.expect("a budget"),
                "{mode:?} takes {gone:?}"
            );
        }
    }

    #[test]
    fn what_one_block_does_not_need_is_there_for_the_next() {
        let plan = Plan::reads(Mode::Standard);
        let first = plan
            .warm_up_limit(Duration::from_secs(40), 4)
            .expect("time");
        let next = plan
            .warm_up_limit(
                Duration::from_secs(40) + plan.block() + Duration::from_secs(3),
                3,
            )
            .expect("time");
        assert!(next >= first);
    }

    #[test]
    fn when_time_is_out_no_block_is_begun() {
        let plan = Plan::reads(Mode::Standard);
        assert_eq!(plan.warm_up_limit(Duration::from_secs(280), 2), None);
        assert_eq!(
            Plan::reads(Mode::Thorough).warm_up_limit(Duration::from_secs(9000), 2),
            Some(Duration::from_secs(45))
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

    #[test]
    fn most_rounds_must_be_valid() {
        assert_eq!(Plan::reads(Mode::Standard).rounds_needed(), 3);
        assert_eq!(Plan::reads(Mode::Thorough).rounds_needed(), 6);
        assert_eq!(Plan::baseline(Mode::Quick).rounds_needed(), 1);
    }
}
