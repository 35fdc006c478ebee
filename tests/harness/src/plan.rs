//! Which tests of a target run when: those first that only ask a service, then those that wait. Where there are many questions,
//! those come first that are new in the exercise.

use crate::contract::{ContractTest, Suite};
use crate::scenarios::When;
use workshop_base::outcome::Trouble;

/// With more questions than these the ones of earlier exercises wait until the new ones have their answers.
const MANY_QUESTIONS: usize = 50;

/// Tests that run side by side. The phases of a plan follow one another.
pub struct Phase {
    /// The suites, each with those of its tests that belong to the phase.
    pub suites: Vec<Suite>,
    /// Tests that are said to be red: no reason to judge them once more.
    pub said_to_be_red: Vec<String>,
}

impl Phase {
    fn of(all: &[Suite], of_this_phase: impl Fn(&str, &ContractTest) -> bool) -> Option<Phase> {
        let suites = all.iter().map(|suite| Suite {
            name: suite.name,
            tests: suite
                .tests
                .iter()
                .filter(|test| of_this_phase(suite.name, test))
                .copied()
                .collect(),
        });
        let suites: Vec<Suite> = suites.filter(|suite| !suite.tests.is_empty()).collect();
        (!suites.is_empty()).then_some(Phase {
            suites,
            said_to_be_red: Vec::new(),
        })
    }

    /// The tests of this phase that are among these.
    pub fn some(&self, tests: &[String]) -> Option<Phase> {
        Phase::of(&self.suites, |_, test| {
            tests.iter().any(|name| name == test.name)
        })
    }

    /// Whether one of its tests runs then.
    pub fn has(&self, when: When) -> bool {
        self.tests().any(|test| test.scenario.when == when)
    }

    /// Every test of the phase.
    pub fn tests(&self) -> impl Iterator<Item = &ContractTest> {
        self.suites.iter().flat_map(|suite| &suite.tests)
    }
}

/// The phases of the suites with these names: none of them is empty. `new` are the suites among them that no earlier exercise
/// has.
pub fn phases(all: Vec<Suite>, suite_names: &[&str], new: &[&str]) -> anyhow::Result<Vec<Phase>> {
    let suites = chosen(all, suite_names)?;
    let tests = || suites.iter().flat_map(|suite| &suite.tests);
    let questions = tests().filter(|test| test.scenario.when == When::First);
    let many_questions = questions.count() > MANY_QUESTIONS;
    let waits = tests().any(|test| test.scenario.when == When::Waiting);
    let place = |suite: &str, test: &ContractTest| match test.scenario.when {
        When::First if many_questions && !new.contains(&suite) => 1,
        When::Brief if waits => 1,
        When::First | When::Brief => 0,
        When::Waiting => 1,
    };
    let phases =
        (0..=1).filter_map(|phase| Phase::of(&suites, |suite, test| place(suite, test) == phase));
    Ok(phases.collect())
}

fn chosen(mut all: Vec<Suite>, names: &[&str]) -> anyhow::Result<Vec<Suite>> {
    let known: Vec<&str> = all.iter().map(|suite| suite.name).collect();
    let mut chosen = Vec::new();
    for name in names {
        let position = all
            .iter()
            .position(|suite| suite.name == *name)
            .ok_or_else(|| {
                Trouble::new(format!("an exercise.toml names the unknown suite {name}"))
                    .expected(format!("one of: {}", known.join(", ")))
                    .next("git diff -- '*exercise.toml'")
            })?;
        chosen.push(all.remove(position));
    }
    Ok(chosen)
}
