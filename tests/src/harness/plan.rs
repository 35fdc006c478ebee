//! Which tests of a target run when: those first that only ask a service, then those that wait for its time limits. What takes
//! the processor from others, or is told to stop, comes at the end. Where there are many questions, those come first that are
//! new in the exercise.

use crate::outcome::Trouble;
use crate::suites::{self, ContractTest, Kind, Suite};

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
    pub fn of_one_test(suite_names: &[&str], test: &str) -> anyhow::Result<Option<Phase>> {
        let suites = chosen(suite_names)?;
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
pub fn phases(suite_names: &[&str], new: &[&str]) -> anyhow::Result<Vec<Phase>> {
    let suites = chosen(suite_names)?;
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

fn chosen(names: &[&str]) -> anyhow::Result<Vec<Suite>> {
    let mut all = suites::all();
    let mut chosen = Vec::new();
    for name in names {
        let position = all
            .iter()
            .position(|suite| suite.name == *name)
            .ok_or_else(|| {
                let known: Vec<&str> = suites::all().iter().map(|suite| suite.name).collect();
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

#[cfg(test)]
mod tests {
    use super::phases;
    use crate::suites::{self, ContractTest};

    fn names_of(suite_names: &[&str], new: &[&str]) -> Vec<Vec<&'static str>> {
        let phases = phases(suite_names, new).unwrap_or_default();
        let names = phases
            .iter()
            .map(|phase| phase.tests().map(|test| test.name).collect());
        names.collect()
    }

    #[test]
    fn every_test_of_the_suites_is_in_one_phase() {
        let all = suites::all();
        let suite_names: Vec<&str> = all.iter().map(|suite| suite.name).collect();
        let mut planned = names_of(&suite_names, &["ship-it"]).concat();
        let tests = all.iter().flat_map(|suite| &suite.tests);
        let mut expected: Vec<&str> = tests.map(|test: &ContractTest| test.name).collect();
        planned.sort_unstable();
        expected.sort_unstable();
        assert_eq!(planned, expected);
    }

    #[test]
    fn one_outage_does_not_make_a_phase_of_its_own() {
        let two = ["first-route", "read-a-record"];
        assert_eq!(names_of(&two, &["read-a-record"]).len(), 1);
        let three = ["first-route", "read-a-record", "fail-the-same-way"];
        let with_other_trouble = names_of(&three, &["fail-the-same-way"]);
        assert_eq!(with_other_trouble.len(), 2);
        assert!(with_other_trouble[1].contains(&"reads_work_again_when_the_database_is_back"));
    }

    #[test]
    fn the_questions_of_earlier_exercises_wait_where_there_are_many() {
        let all = suites::all();
        let suite_names: Vec<&str> = all.iter().map(|suite| suite.name).collect();
        let names = names_of(&suite_names, &["ship-it"]);
        assert!(names[0].contains(&"every_answer_has_a_request_id"));
        assert!(!names[0].contains(&"a_known_id_answers_its_record"));
        assert!(names[1].contains(&"a_known_id_answers_its_record"));
    }

    #[test]
    fn an_unknown_suite_is_named_with_those_that_there_are() {
        let error = phases(&["first-rout"], &[])
            .err()
            .map(|error| format!("{error:#}"));
        let error = error.unwrap_or_default();
        assert!(
            error.contains("first-rout") && error.contains("first-route"),
            "{error}"
        );
    }
}
