//! Which tests of a target run when: those first that only ask a service, then those that wait for its time limits. What takes
//! the processor from others, or is told to stop, comes at the end. Where there are many questions, those come first that are
//! new in the exercise.

use crate::contract::ContractTest;
use crate::contract::Kind;
use crate::contract::Suite;
use workshop_base::outcome::Trouble;

/// With more questions than these the ones of earlier exercises wait until the new ones have their answers.
const MANY_QUESTIONS: usize = 50;

/// Tests that run side by side. The phases of a plan follow one another.
pub struct Phase {
    /// The suites, each with those of its tests that belong to the phase.
    pub suites: Vec<Suite>,
}

/// When a test runs, in the order of the phases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    /// It asks a service that nothing is wrong with.
    First,
    /// The same, and an earlier exercise asks it already.
    Again,
    /// It takes the database away, or waits for clients that are slow.
    InTrouble,
    /// It tells services to stop, or starts some of its own.
    AtTheEnd,
}

impl When {
    const ALL: [When; 4] = [When::First, When::Again, When::InTrouble, When::AtTheEnd];

    fn of(kind: &Kind) -> When {
        match kind {
            Kind::Steady(_) | Kind::Talkative(_) => When::First,
            Kind::Outage(_)
            | Kind::Silence(_)
            | Kind::Restart(_)
            | Kind::FirstStart(_)
            | Kind::Large(_) => When::InTrouble,
            Kind::Shutdown(_) | Kind::ShortRuns(_) | Kind::Own(_) => When::AtTheEnd,
        }
    }
}

impl Phase {
    fn of(all: &[Suite], of_this_phase: impl Fn(&str, &ContractTest) -> bool) -> Option<Phase> {
        let mut suites = Vec::new();
        for suite in all {
            let tests = suite.tests.iter().copied();
            let tests = tests.filter(|test| of_this_phase(suite.name, test));
            let tests: Vec<ContractTest> = tests.collect();
            if !tests.is_empty() {
                suites.push(Suite {
                    name: suite.name,
                    tests,
                });
            }
        }
        (!suites.is_empty()).then_some(Phase { suites })
    }

    /// A phase of the tests of these suites with this name; none when there are none.
    ///
    /// # Errors
    /// When a suite has no such name.
    pub fn of_one_test(
        all: Vec<Suite>,
        suite_names: &[&str],
        test: &str,
    ) -> anyhow::Result<Option<Phase>> {
        let suites = chosen(all, suite_names)?;
        Ok(Phase::of(&suites, |_, found| found.name == test))
    }

    /// The tests of this phase that are among these.
    pub(super) fn some(&self, tests: &[String]) -> Option<Phase> {
        Phase::of(&self.suites, |_, test| {
            tests.iter().any(|name| name == test.name)
        })
    }

    /// Every test of the phase.
    pub fn tests(&self) -> impl Iterator<Item = &ContractTest> {
        self.suites.iter().flat_map(|suite| &suite.tests)
    }
}

/// The phases of the suites with these names: none of them is empty. `new` are the suites among them that no earlier exercise
/// has.
///
/// # Errors
/// When a suite has no such name.
pub fn phases(all: Vec<Suite>, suite_names: &[&str], new: &[&str]) -> anyhow::Result<Vec<Phase>> {
    let suites = chosen(all, suite_names)?;
    // One outage takes no longer than the questions. Where other trouble takes seconds it can wait for that.
    let only_outages = suites
        .iter()
        .flat_map(|suite| &suite.tests)
        .filter(|test| When::of(&test.kind) == When::InTrouble)
        .all(|test| matches!(test.kind, Kind::Outage(_)));
    let tests = suites.iter().flat_map(|suite| &suite.tests);
    let questions = tests.filter(|test| When::of(&test.kind) == When::First);
    let many_questions = questions.count() > MANY_QUESTIONS;
    let when = |suite: &str, test: &ContractTest| match When::of(&test.kind) {
        When::InTrouble if only_outages => When::First,
        When::First if many_questions && !new.contains(&suite) => When::Again,
        when => when,
    };
    let phases =
        When::ALL.map(|phase| Phase::of(&suites, |suite, test| when(suite, test) == phase));
    Ok(phases.into_iter().flatten().collect())
}

fn chosen(mut all: Vec<Suite>, names: &[&str]) -> anyhow::Result<Vec<Suite>> {
    let known: Vec<&str> = all.iter().map(|suite| suite.name).collect();
    let mut chosen = Vec::new();
    for name in names {
        let position = all
            .iter()
            .position(|suite| suite.name == *name)
            .ok_or_else(|| {
                Trouble::new(format!(
                    "an exercise.toml names the suite {name}, which there is not"
                ))
                .expected(format!("one of: {}", known.join(", ")))
                .next("git diff -- '*exercise.toml'")
            })?;
        chosen.push(all.remove(position));
    }
    Ok(chosen)
}
