//! The plans of days in a room, `book/instructors/plans.toml`: which exercises, and the blocks of minutes that they make.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Table;

use workshop_base::cases::DebugCase;
use workshop_base::exercise::{Catalogue, Exercise, Minutes};
use workshop_base::files;
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;

/// Where the plans are, from the checkout's root.
pub const FILE: &str = "book/instructors/plans.toml";
/// Where the measuring says how long each measurement takes.
const MEASURING: &str = "tests/measure/src/plans.toml";

/// What the minutes of a block are for, in the order of the day.
pub const SLOTS: [&str; 5] = ["Talk", "Read", "Do", "Measure", "Review"];
/// The minutes of a block, by slot.
pub type Slots = [u32; SLOTS.len()];

/// The talk before a part and its demo, while the machines build.
const TALK: u32 = 15;
/// A bug hunt in pairs: ten minutes, and five to tell what it was.
const HUNT: u32 = 15;
/// The last half hour.
const CLOSING: u32 = 30;

/// A plan: its exercises in order, of which some are measured on every laptop, and some are followed by a bug hunt.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DayPlan {
    /// How many days it has.
    pub days: u32,
    /// The exercises.
    pub exercises: Vec<u8>,
    /// Those that every laptop measures. Of the others, the room looks at the figures in the book.
    pub measured: Vec<u8>,
    /// Those that a bug hunt follows.
    #[serde(default)]
    pub hunts: Vec<u8>,
    /// The debugging cases, by name: each comes after the exercise whose reference it is planted in, or first.
    #[serde(default)]
    pub cases: Vec<String>,
    /// The same cases, read.
    #[serde(skip)]
    known: Vec<DebugCase>,
    /// True for people new to Rust, who take half as long again.
    #[serde(default)]
    pub new_to_rust: bool,
}

/// What happens in a block of time.
#[derive(Debug, Clone, Copy)]
pub enum What<'a> {
    /// An exercise; the first one of its part comes after the talk.
    Exercise(&'a Exercise),
    /// A bug hunt in the reference of this exercise.
    Hunt(&'a Exercise),
    /// A debugging case.
    Case(&'a DebugCase),
    /// The last half hour.
    Closing,
}

impl DayPlan {
    /// The plan of this name.
    pub fn of(workspace: &Workspace, name: &str) -> anyhow::Result<DayPlan> {
        let mut plans: BTreeMap<String, DayPlan> = read(workspace, FILE)?;
        let Some(mut plan) = plans.remove(name) else {
            let names: Vec<String> = plans.into_keys().collect();
            return Trouble::new(format!("there is no plan {name}"))
                .expected(format!("one of: {}", names.join(", ")))
                .next(format!("see {FILE}"))
                .err();
        };
        for case in &plan.cases {
            plan.known.push(DebugCase::named(workspace, case)?);
        }
        Ok(plan)
    }

    /// What happens in these days, in order, with the minutes of each.
    pub fn blocks<'a>(
        &'a self,
        catalogue: &'a Catalogue,
        takes: &Takes,
    ) -> anyhow::Result<Vec<(What<'a>, Slots)>> {
        let mut blocks = Vec::new();
        let of_before = |case: &&DebugCase| !self.exercises.contains(&case.exercise);
        for case in self.known.iter().filter(of_before) {
            blocks.push((What::Case(case), self.case_slots(case)));
        }
        let mut part = None;
        for number in &self.exercises {
            let exercise = catalogue.get(*number)?;
            let measuring = takes.minutes(exercise);
            let is_measured = self.measured.contains(number);
            let slots = [
                if part == Some(&exercise.part) {
                    0
                } else {
                    TALK
                },
                exercise.minutes.reading,
                self.doing(exercise.minutes),
                if is_measured { measuring } else { 0 },
                exercise.minutes.reviewing.saturating_sub(measuring),
            ];
            part = Some(&exercise.part);
            blocks.push((What::Exercise(exercise), slots));
            if self.hunts.contains(number) {
                blocks.push((What::Hunt(exercise), [0, 0, HUNT, 0, 0]));
            }
            for case in self.known.iter().filter(|case| case.exercise == *number) {
                blocks.push((What::Case(case), self.case_slots(case)));
            }
        }
        blocks.push((What::Closing, [0, 0, 0, 0, CLOSING]));
        Ok(blocks)
    }

    fn case_slots(&self, case: &DebugCase) -> Slots {
        let Minutes {
            reading, reviewing, ..
        } = case.minutes;
        [0, reading, self.doing(case.minutes), 0, reviewing]
    }

    fn doing(&self, minutes: Minutes) -> u32 {
        match self.new_to_rust {
            true => minutes.doing * 3 / 2,
            false => minutes.doing,
        }
    }
}

/// How long measurements take, as the measuring itself announces it.
#[derive(Debug, Default, Deserialize)]
pub struct Takes {
    base: Table,
    plans: BTreeMap<String, Table>,
}

impl Takes {
    /// As the checkout has it.
    pub fn read(workspace: &Workspace) -> anyhow::Result<Takes> {
        read(workspace, MEASURING)
    }

    /// The seconds of a quick and of a standard measurement of this exercise; none where there is nothing to measure.
    pub fn seconds(&self, exercise: &Exercise) -> Option<(u32, u32)> {
        let own = self.plans.get(exercise.task()?);
        let takes = own.and_then(|plan| plan.get("takes"));
        let takes = takes.or_else(|| self.base.get("takes"))?.as_array()?;
        let seconds = |mode: usize| u32::try_from(takes.get(mode)?.as_integer()?).ok();
        seconds(0).zip(seconds(1))
    }

    /// The minutes to plan for the measurement.
    pub fn minutes(&self, exercise: &Exercise) -> u32 {
        self.seconds(exercise)
            .map_or(0, |(_, standard)| standard.div_ceil(60))
    }
}

fn read<T: serde::de::DeserializeOwned>(workspace: &Workspace, path: &str) -> anyhow::Result<T> {
    let text = files::text(&workspace.root().join(path))?;
    toml::from_str(&text).map_err(|error| {
        Trouble::new(format!("{path} is malformed: {error}"))
            .next(format!("git diff -- {path}; git restore {path}"))
            .into()
    })
}
