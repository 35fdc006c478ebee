//! The protocol: how many blocks, how long each phase, in which order, within which time.
//!
//! A round holds one block of every side, in random order. So slow changes of the machine (heat, neighbours, caches) meet all
//! sides alike, and each round gives one ratio.

use std::time::Duration;

use rand::seq::SliceRandom;

use workshop_base::target::Language;

use crate::protocol::warmup;
use workshop_results::file::Mode;

/// Connections of the load generator.
pub const CONNECTIONS: u32 = 32;
/// Connections in each service's pool.
pub const POOL_SIZE: u16 = 10;
/// The services' `DATABASE_TIMEOUT_MS`, which is their default.
pub const TIMEOUT: Duration = Duration::from_secs(1);
/// The rate, in percent of the slower side's saturation, whose p99 is the headline.
pub const HEADLINE_RATE: u32 = 60;
/// What a block needs besides its loads: start, stop, and the generator's own start for each load.
const BLOCK_OVERHEAD: Duration = Duration::from_millis(2500);
/// What a measurement needs before its first block, besides the warm-up of the calibration: the same-work gate.
const BEFORE: Duration = Duration::from_secs(8);

/// So many of each language: sides, or blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sides {
    /// On a JVM.
    pub kotlin: usize,
    /// Native binaries.
    pub rust: usize,
}

impl Sides {
    /// Counts languages.
    pub fn of(languages: impl IntoIterator<Item = Language>) -> Sides {
        let mut sides = Sides::default();
        for language in languages {
            match language {
                Language::Kotlin => sides.kotlin += 1,
                Language::Rust => sides.rust += 1,
            }
        }
        sides
    }

    /// As many of each in every one of so many rounds.
    #[must_use]
    pub fn times(self, rounds: usize) -> Sides {
        Sides {
            kotlin: self.kotlin * rounds,
            rust: self.rust * rounds,
        }
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Sides) -> Sides {
        Sides {
            kotlin: self.kotlin + other.kotlin,
            rust: self.rust + other.rust,
        }
    }
}

/// The plan of a measurement by load.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// How many rounds.
    pub rounds: usize,
    /// How the warm-up of a JVM's block is limited, before the time budget has its say. A native binary has nothing to
    /// compile; [`Plan::warm_up_of`] says what is left of it then.
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
            calibration: Duration::from_secs(if mode == Mode::Quick { 6 } else { 12 }),
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
            // Two rounds that give the JVM time to warm up say more than three that do not.
            Mode::Quick => plan(2, 2.0, 1.5, &[60], Some(60)),
            Mode::Standard => plan(5, 4.0, 1.5, &[30, 60, 90], Some(290)),
            Mode::Thorough => plan(10, 10.0, 6.0, &[30, 60, 90], None),
        }
    }

    /// The plan of exercise 4: three sides, more rounds and no open loops, since a small difference in throughput and CPU
    /// is looked for.
    pub fn guard(mode: Mode) -> Plan {
        let (rounds, saturation, budget) = match mode {
            Mode::Quick => (2, 1.5, Some(68)),
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

    /// The plan of exercise 5: one open loop well below saturation, long enough for a stall in its middle and for the
    /// backlog after it.
    pub fn stall(mode: Mode) -> Plan {
        let (open, budget) = match mode {
            Mode::Quick => (5, Some(75)),
            Mode::Standard => (8, Some(290)),
            Mode::Thorough => (8, None),
        };
        Plan {
            saturation: Duration::ZERO,
            open: Duration::from_secs(open),
            rates: vec![30],
            database: Duration::ZERO,
            budget: budget.map(Duration::from_secs),
            ..Plan::reads(mode)
        }
    }

    /// The plan of exercise 6, for the pools of several sizes. Each size needs a JVM of its own that is warm, and that takes
    /// most of the time: two rounds of those say more about the knee than three of JVMs that still compile.
    pub fn pools(mode: Mode) -> Plan {
        let (rounds, saturation, ceiling, budget) = match mode {
            Mode::Quick => (2, 1.5, 10, Some(80)),
            Mode::Standard => (2, 2.5, 40, Some(300)),
            Mode::Thorough => (10, 6.0, 60, None),
        };
        Plan {
            rounds,
            warm_up: warmup::Limits {
                ceiling: Duration::from_secs(ceiling),
                ..warm_up(mode)
            },
            calibration: Duration::ZERO,
            saturation: Duration::from_secs_f64(saturation),
            rates: Vec::new(),
            database: Duration::ZERO,
            budget: budget.map(Duration::from_secs),
            ..Plan::reads(mode)
        }
    }

    /// The plan of exercise 6, for the ping: native binaries only, and more rounds, since a small difference is looked for.
    pub fn ping(mode: Mode) -> Plan {
        let rounds = match mode {
            Mode::Quick => 2,
            Mode::Standard => 6,
            Mode::Thorough => 12,
        };
        Plan {
            rounds,
            warm_up: warm_up(Mode::Quick),
            budget: None,
            ..Plan::pools(mode)
        }
    }

    /// The plan of exercise 7: exports take as long as they take, so the rounds are all that there is to plan.
    pub fn export(mode: Mode) -> Plan {
        Plan {
            rounds: match mode {
                Mode::Quick => 3,
                Mode::Standard => 5,
                Mode::Thorough => 10,
            },
            rates: Vec::new(),
            database: Duration::ZERO,
            budget: None,
            ..Plan::reads(mode)
        }
    }

    /// The plan of exercise 8: a dozen rows, four of them on a JVM that needs its warm-up each time, as long a one as in
    /// exercise 3. Three rounds of those say more than five of JVMs that still compile.
    pub fn article(mode: Mode) -> Plan {
        let (rounds, calibration, saturation, open, ceiling) = match mode {
            Mode::Quick => (2, 5, 1.5, 1.0, 6),
            Mode::Standard => (3, 20, 3.0, 1.5, 30),
            Mode::Thorough => (8, 20, 8.0, 5.0, 60),
        };
        Plan {
            rounds,
            warm_up: warmup::Limits {
                ceiling: Duration::from_secs(ceiling),
                ..warm_up(mode)
            },
            calibration: Duration::from_secs(calibration),
            saturation: Duration::from_secs_f64(saturation),
            open: Duration::from_secs_f64(open),
            database: Duration::ZERO,
            budget: None,
            ..Plan::reads(mode)
        }
    }

    /// The plan of QR codes, two lengths of text sharing the closed loop. A code costs many times what a read does, so a JVM
    /// has compiled what it needs after fewer of them.
    pub fn codes(mode: Mode) -> Plan {
        let (rounds, saturation, open, budget) = match mode {
            Mode::Quick => (2, 3, 2, Some(75)),
            Mode::Standard => (5, 6, 2, Some(290)),
            Mode::Thorough => (10, 16, 6, None),
        };
        Plan {
            rounds,
            warm_up: warmup::Limits {
                floor: 5_000,
                ..warm_up(mode)
            },
            saturation: Duration::from_secs(saturation),
            open: Duration::from_secs(open),
            rates: vec![HEADLINE_RATE],
            database: Duration::ZERO,
            budget: budget.map(Duration::from_secs),
            ..Plan::reads(mode)
        }
    }

    /// The plan of exercise 12: QR codes at every depth, most of them on a JVM that needs its warm-up each time. As in
    /// exercise 8, three rounds of those say more than five of JVMs that still compile.
    pub fn ladder(mode: Mode) -> Plan {
        let (rounds, saturation, open, ceiling, budget) = match mode {
            Mode::Quick => (2, 2, 2, 5, Some(150)),
            Mode::Standard => (3, 6, 4, 40, Some(700)),
            Mode::Thorough => (8, 16, 6, 60, None),
        };
        let codes = Plan::codes(mode);
        Plan {
            rounds,
            warm_up: warmup::Limits {
                ceiling: Duration::from_secs(ceiling),
                ..codes.warm_up
            },
            saturation: Duration::from_secs(saturation),
            open: Duration::from_secs(open),
            budget: budget.map(Duration::from_secs),
            ..codes
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
        Plan {
            rounds: 10,
            rates: Vec::new(),
            database: Duration::ZERO,
            budget: None,
            ..Plan::reads(Mode::Standard)
        }
    }

    /// What a block takes, its warm-up aside.
    pub fn block(&self) -> Duration {
        BLOCK_OVERHEAD + self.saturation + self.open * self.rates.len() as u32
    }

    /// How the warm-up of a side's block is limited, before the time budget has its say.
    pub fn warm_up_of(&self, language: Language) -> warmup::Limits {
        match language {
            Language::Kotlin => self.warm_up,
            // No compiler runs beside it: what has to settle is connections and caches. Half the windows' length, and
            // little more than the least that can be judged.
            Language::Rust => {
                let window = self.warm_up.window / 2;
                let shorter = warmup::Limits {
                    window,
                    ..self.warm_up
                };
                warmup::Limits {
                    ceiling: shorter.shortest() * 3 / 2,
                    ..shorter
                }
            }
        }
    }

    /// What the whole is expected to take, every warm-up going to its ceiling.
    pub fn expected(&self, sides: Sides) -> Duration {
        let each = |language| self.block() + self.warm_up_of(language).ceiling;
        let rounds = self.rounds as u32;
        let expected = BEFORE
            + self.calibration * sides.kotlin as u32
            + self.warm_up_of(Language::Rust).ceiling * sides.rust as u32
            + self.database
            + each(Language::Kotlin) * rounds * sides.kotlin as u32
            + each(Language::Rust) * rounds * sides.rust as u32;
        self.budget.map_or(expected, |budget| expected.min(budget))
    }

    /// The longest that the next block's warm-up may take, when so much of the time is gone and so many blocks are left,
    /// the next one included. The JVMs share evenly what the fixed phases and the native binaries leave over: what one
    /// does not need is there for the next.
    ///
    /// None when the remaining blocks do not fit any more.
    pub fn warm_up_limit(
        &self,
        language: Language,
        gone: Duration,
        left: Sides,
    ) -> Option<Duration> {
        let ceiling = self.warm_up_of(language).ceiling;
        let Some(budget) = self.budget else {
            return Some(ceiling);
        };
        let native = self.warm_up_of(Language::Rust).ceiling;
        let fixed = self.database
            + self.block() * (left.kotlin + left.rust) as u32
            + native * left.rust as u32;
        let for_jvms = budget.checked_sub(gone)?.checked_sub(fixed)?;
        if language == Language::Rust {
            return Some(ceiling);
        }
        let limit = for_jvms / left.kotlin.max(1) as u32;
        (limit >= self.warm_up.shortest()).then(|| limit.min(ceiling))
    }

    /// How many rounds must be valid for a comparison to count.
    pub fn rounds_needed(&self) -> usize {
        (self.rounds * 3).div_ceil(5).max(self.rounds.min(2))
    }
}

fn warm_up(mode: Mode) -> warmup::Limits {
    let window = if mode == Mode::Quick { 500 } else { 1000 };
    let ceiling = match mode {
        Mode::Quick => 10,
        Mode::Standard => 30,
        Mode::Thorough => 60,
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

    const BOTH: Sides = Sides { kotlin: 1, rust: 1 };

    #[test]
    fn the_standard_plan_has_five_blocks_a_side_and_five_minutes() {
        let plan = Plan::reads(Mode::Standard);
        assert!(plan.rounds >= 5);
        assert!(plan.expected(BOTH) <= Duration::from_secs(300));
        assert_eq!(plan.rates, [30, 60, 90]);
    }

    #[test]
    fn three_sides_take_five_minutes_as_well() {
        let sides = Sides { kotlin: 1, rust: 2 };
        assert!(Plan::guard(Mode::Standard).expected(sides) <= Duration::from_secs(280));
        assert!(Plan::guard(Mode::Quick).expected(sides) <= Duration::from_secs(75));
    }

    #[test]
    fn the_stall_takes_as_long_as_the_reads() {
        assert!(Plan::stall(Mode::Standard).expected(BOTH) <= Duration::from_secs(300));
        assert!(Plan::stall(Mode::Quick).expected(BOTH) <= Duration::from_secs(75));
    }

    #[test]
    fn two_jvms_that_draw_codes_take_five_minutes() {
        let sides = Sides { kotlin: 2, rust: 0 };
        assert!(Plan::codes(Mode::Standard).expected(sides) <= Duration::from_secs(300));
        assert!(Plan::codes(Mode::Quick).expected(sides) <= Duration::from_secs(75));
    }

    #[test]
    fn the_ladder_takes_twelve_minutes_or_three_and_leaves_a_jvm_half_a_minute() {
        let sides = Sides { kotlin: 4, rust: 2 };
        assert!(Plan::ladder(Mode::Quick).expected(sides) <= Duration::from_secs(180));
        let plan = Plan::ladder(Mode::Standard);
        assert!(plan.expected(sides) <= Duration::from_secs(720));
        let calibrated = BEFORE
            + plan.calibration * sides.kotlin as u32
            + plan.warm_up_of(Language::Rust).ceiling * sides.rust as u32;
        let limit = plan.warm_up_limit(Language::Kotlin, calibrated, sides.times(plan.rounds));
        assert!(limit >= Some(Duration::from_secs(28)), "{limit:?}");
    }

    #[test]
    fn pools_and_ping_together_take_seven_minutes_or_two() {
        let both = |mode, sizes| {
            let knob = Sides { kotlin: 0, rust: 2 };
            Plan::pools(mode).expected(sizes) + Plan::ping(mode).expected(knob)
        };
        let standard = both(Mode::Standard, Sides { kotlin: 3, rust: 5 });
        assert!(standard <= Duration::from_secs(420), "{standard:?}");
        let quick = both(Mode::Quick, Sides { kotlin: 3, rust: 3 });
        assert!(quick <= Duration::from_secs(120), "{quick:?}");
    }

    #[test]
    fn the_rounds_of_the_article_take_fourteen_minutes_at_most_or_three() {
        let rows = |rust| Sides { kotlin: 4, rust };
        let without_open_loops = |mode| Plan {
            rates: Vec::new(),
            ..Plan::article(mode)
        };
        let standard = without_open_loops(Mode::Standard).expected(rows(8));
        assert!(standard <= Duration::from_secs(840), "{standard:?}");
        let quick = without_open_loops(Mode::Quick).expected(rows(3));
        assert!(quick <= Duration::from_secs(180), "{quick:?}");
    }

    #[test]
    fn the_quick_plan_takes_a_minute_and_the_thorough_one_has_ten_blocks() {
        assert!(Plan::reads(Mode::Quick).expected(BOTH) <= Duration::from_secs(60));
        assert!(Plan::reads(Mode::Thorough).rounds >= 10);
    }

    #[test]
    fn warm_ups_that_all_go_to_their_limit_keep_the_budget() {
        for plan in [Mode::Quick, Mode::Standard]
            .into_iter()
            .flat_map(|mode| [Plan::reads(mode), Plan::stall(mode)])
        {
            let mut gone = BEFORE + plan.calibration + plan.warm_up_of(Language::Rust).ceiling;
            for rounds in (1..=plan.rounds).rev() {
                let mut left = BOTH.times(rounds);
                for language in [Language::Kotlin, Language::Rust] {
                    let limit = plan.warm_up_limit(language, gone, left);
                    gone += limit.expect("there is time for a warm-up") + plan.block();
                    match language {
                        Language::Kotlin => left.kotlin -= 1,
                        Language::Rust => left.rust -= 1,
                    }
                }
            }
            let budget = plan.budget.expect("a budget");
            assert!(gone + plan.database <= budget, "{plan:?} takes {gone:?}");
        }
    }

    #[test]
    fn what_one_jvm_does_not_need_is_there_for_the_next() {
        let plan = Plan::reads(Mode::Standard);
        let gone = Duration::from_secs(100);
        let limit = |gone, kotlin| {
            plan.warm_up_limit(Language::Kotlin, gone, Sides { kotlin, rust: 0 })
                .expect("time")
        };
        let (first, taken) = (limit(gone, 8), Duration::from_secs(6));
        assert!(limit(gone + plan.block() + taken, 7) > first);
    }

    #[test]
    fn when_time_is_out_no_block_is_begun() {
        let plan = Plan::reads(Mode::Standard);
        let late = Duration::from_secs(285);
        assert_eq!(plan.warm_up_limit(Language::Kotlin, late, BOTH), None);
        let thorough = Plan::reads(Mode::Thorough);
        assert_eq!(
            thorough.warm_up_limit(Language::Kotlin, Duration::from_secs(9000), BOTH),
            Some(Duration::from_secs(60))
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
