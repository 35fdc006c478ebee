//! What a judged target did: one status per test, how long each step took, and how that is told.

use std::fmt;
use std::time::Duration;

use crate::service::tail;
use workshop_base::outcome::Outcome;
use workshop_base::terminal::{Style, paint};
use workshop_requests::failure::Failure;

/// How a test ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TestStatus {
    /// The service does what the test's name says.
    Passed,
    Failed {
        /// What was expected and what came.
        failure: Failure,
        /// The last lines of the service's log at that moment.
        log: String,
    },
    /// This machine lacks what it needs: what, and what to do about it.
    NotJudged(String),
}

/// A test and its status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// The suite that the test belongs to.
    pub suite: String,
    pub test: String,
    pub status: TestStatus,
}

/// How long the steps of a check took, in the order they happened.
#[derive(Debug, Clone, Default)]
pub struct Timings {
    steps: Vec<(&'static str, Duration)>,
}

impl Timings {
    /// Adds to a step.
    pub fn add(&mut self, step: &'static str, took: Duration) {
        match self.steps.iter_mut().find(|(name, _)| *name == step) {
            Some((_, so_far)) => *so_far += took,
            None => self.steps.push((step, took)),
        }
    }

    /// Puts a step before all others.
    pub fn add_first(&mut self, step: &'static str, took: Duration) {
        self.steps.insert(0, (step, took));
    }

    fn add_all(&mut self, other: &Timings) {
        for (step, took) in &other.steps {
            self.add(step, *took);
        }
    }
}

impl fmt::Display for Timings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps = self.steps.iter();
        let steps = steps.map(|(step, took)| format!("{step} {:.3} s", took.as_secs_f64()));
        write!(f, "timings: {}", steps.collect::<Vec<_>>().join(", "))
    }
}

/// What a judged target did.
#[derive(Debug, Clone)]
pub struct Report {
    pub label: String,
    /// The tests, in the order of the suites.
    pub tests: Vec<Judged>,
    /// How long the steps took.
    pub timings: Timings,
    /// The service did not stop when it was told to, and was killed.
    pub hung_on_shutdown: bool,
    /// The tests that were red at first, and green when they were judged again: as they were at first.
    pub unsteady: Vec<Judged>,
}

impl Report {
    /// An empty report on a target.
    pub fn new(label: &str) -> Self {
        Report {
            label: label.to_owned(),
            tests: Vec::new(),
            timings: Timings::default(),
            hung_on_shutdown: false,
            unsteady: Vec::new(),
        }
    }

    /// Adds a test and its status.
    pub fn add(&mut self, suite: &str, test: &str, status: TestStatus) {
        self.tests.push(Judged {
            suite: suite.to_owned(),
            test: test.to_owned(),
            status,
        });
    }

    /// The names of the tests that failed, in order.
    pub fn failed(&self) -> Vec<String> {
        let failed = self
            .tests
            .iter()
            .filter(|judged| matches!(judged.status, TestStatus::Failed { .. }));
        failed.map(|judged| judged.test.clone()).collect()
    }

    /// The tests that could not be judged on this machine, each with what it lacks.
    pub fn not_judged(&self) -> impl Iterator<Item = (&str, &str)> {
        self.tests.iter().filter_map(|judged| match &judged.status {
            TestStatus::NotJudged(lack) => Some((judged.test.as_str(), lack.as_str())),
            TestStatus::Passed | TestStatus::Failed { .. } => None,
        })
    }

    /// Passed when no test failed, unless none of them could be judged.
    pub fn outcome(&self) -> Outcome {
        let not_judged = self.not_judged().count();
        if !self.failed().is_empty() {
            Outcome::Failed
        } else if not_judged > 0 && not_judged == self.tests.len() {
            Outcome::CouldNotJudge
        } else {
            Outcome::Passed
        }
    }

    /// This report, and then another on the same target.
    #[must_use]
    pub fn and(mut self, other: Report) -> Report {
        self.tests.extend(other.tests);
        self.timings.add_all(&other.timings);
        self.hung_on_shutdown |= other.hung_on_shutdown;
        self.unsteady.extend(other.unsteady);
        self
    }

    /// This report, once some of its red tests were judged again: what is green then counts as green, and is told.
    #[must_use]
    pub fn judged_again(mut self, again: Report) -> Report {
        self.timings.add_all(&again.timings);
        self.hung_on_shutdown |= again.hung_on_shutdown;
        for judged in again.tests {
            let green = judged.status == TestStatus::Passed;
            let mut tests = self.tests.iter_mut();
            let before = tests.find(|before| before.test == judged.test);
            if let (true, Some(before)) = (green, before) {
                self.unsteady.push(before.clone());
                before.status = TestStatus::Passed;
            }
        }
        self
    }

    /// Prints the tests by suite, the first failure in full, the others in a line each, and the closing count.
    pub fn print(&self) {
        self.print_tests();
        self.print_count();
    }

    /// Prints the tests by suite, the first failure in full, the others in a line each.
    pub fn print_tests(&self) {
        let mut printed = Printed::default();
        for judged in &self.tests {
            printed.print(&self.label, judged);
        }
    }

    /// Prints how many tests passed, what was not the same twice, and whether the service stopped when it was told to.
    pub fn print_count(&self) {
        self.print_unsteady();
        if self.hung_on_shutdown {
            println!(
                "{}: {} did not stop in time after SIGTERM and was killed; a service that is deployed must stop when told to",
                paint(Style::Warning, "note"),
                self.label
            );
        }
        let (failed, not_judged) = (self.failed().len(), self.not_judged().count());
        let passed = self.tests.len() - failed - not_judged;
        print!("\n{passed} passed, {failed} failed");
        match not_judged {
            0 => println!(),
            some => println!(", {some} not judged here"),
        }
    }

    /// Prints which tests were red at first, each with its failure, and green when they were judged again.
    pub fn print_unsteady(&self) {
        for judged in &self.unsteady {
            println!(
                "{}: {} was red at first and green when it was judged again: the machine was busy, or it fails now and then",
                paint(Style::Warning, "note"),
                judged.test
            );
            if let TestStatus::Failed { failure, .. } = &judged.status {
                let (expected, actual) = shortened(&failure.expected, &failure.actual);
                println!("      at first: expected {expected}; got {actual}");
            }
        }
    }
}

/// Tests that are printed one after the other: by suite, the first failure in full, the others in a line each.
#[derive(Debug, Default)]
pub struct Printed {
    suite: String,
    told_in_full: bool,
}

impl Printed {
    /// Prints the next test, of the target that is called so.
    pub fn print(&mut self, label: &str, judged: &Judged) {
        if judged.suite != self.suite {
            self.suite.clone_from(&judged.suite);
            println!("  {}", paint(Style::Strong, &self.suite));
        }
        let test = &judged.test;
        match &judged.status {
            TestStatus::Passed => println!("    {}    {test}", paint(Style::Good, "ok")),
            TestStatus::NotJudged(lack) => {
                let not_judged = paint(Style::Faint, "not judged here");
                println!("    {not_judged}  {test}: {lack}");
            }
            TestStatus::Failed { failure, log } => {
                println!("    {}  {test}", paint(Style::Bad, "FAIL"));
                if self.told_in_full {
                    let (expected, actual) = shortened(&failure.expected, &failure.actual);
                    println!("          expected {expected}; got {actual}");
                } else {
                    print_in_full(label, failure, log);
                    self.told_in_full = true;
                }
            }
        }
    }
}

fn print_in_full(label: &str, failure: &Failure, log: &str) {
    for line in failure.to_string().lines() {
        println!("          {line}");
    }
    if !log.trim().is_empty() {
        println!("          the service's log ends with");
        for line in log.lines() {
            println!("          {}", paint(Style::Faint, format!("| {line}")));
        }
    }
    if tail::is_cut(log) {
        println!("          just run {label} keeps the whole log, and says where it is");
    }
}

/// Two texts that differ, for a line that is to stay a line: where they are long, from shortly before the first difference.
fn shortened(expected: &str, actual: &str) -> (String, String) {
    const LONGEST: usize = 70;
    const BEFORE: usize = 15;
    let (expected, actual) = (in_a_line(expected), in_a_line(actual));
    let (expected, actual): (Vec<char>, Vec<char>) =
        (expected.chars().collect(), actual.chars().collect());
    let same = expected
        .iter()
        .zip(&actual)
        .take_while(|(expected, actual)| expected == actual)
        .count();
    let long = expected.len().max(actual.len()) > LONGEST;
    let start = if long { same.saturating_sub(BEFORE) } else { 0 };
    let cut = |text: &[char]| {
        let before = if start > 0 { "… " } else { "" };
        let after = if text.len() > start + LONGEST {
            " …"
        } else {
            ""
        };
        let shown: String = text.iter().skip(start).take(LONGEST).collect();
        format!("{before}{shown}{after}")
    };
    (cut(&expected), cut(&actual))
}

/// Several lines as one. A panic's place is left out: it's longer than what follows it, and the first failure shows it.
fn in_a_line(text: &str) -> String {
    let panic = text.strip_prefix("panicked at ");
    let text = match panic.and_then(|panic| panic.split_once(":\n")) {
        Some((_place, said)) => format!("a panic: {}", said.trim_start()),
        None => text.to_owned(),
    };
    text.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::{Report, TestStatus, shortened};
    use workshop_base::outcome::Outcome;
    use workshop_requests::failure::Failure;

    fn red() -> TestStatus {
        TestStatus::Failed {
            failure: Failure::new("an answer in time", "none"),
            log: String::new(),
        }
    }

    fn report(statuses: [(&str, TestStatus); 2]) -> Report {
        let mut report = Report::new("exercise-5");
        for (test, status) in statuses {
            report.add("suite", test, status);
        }
        report
    }

    #[test]
    fn a_short_failure_shows_where_both_sides_differ() {
        let same = format!(r#"body {{"value":"{}","odd""#, "x".repeat(80));
        let (expected, actual) =
            shortened(&format!("{same}\":true}}"), &format!("{same}\":false}}"));
        assert!(expected.ends_with("true}"), "{expected}");
        assert!(actual.ends_with("false}"), "{actual}");
        assert!(expected.starts_with("… "), "{expected}");
        let (_, panic) = shortened("no panic", "panicked at src/main.rs:5:5:\n  no\n  such id");
        assert_eq!(panic, "a panic: no such id");
        let short = shortened("status 200", "status 404");
        assert_eq!(short, ("status 200".to_owned(), "status 404".to_owned()));
    }

    #[test]
    fn what_is_green_the_second_time_counts_and_is_told() {
        let first = report([("busy", red()), ("wrong", red())]);
        let again = report([("busy", TestStatus::Passed), ("wrong", red())]);
        let both = first.judged_again(again);
        assert_eq!(both.failed(), ["wrong"]);
        let [busy] = &both.unsteady[..] else {
            panic!("one was unsteady: {both:?}");
        };
        assert_eq!((busy.test.as_str(), &busy.status), ("busy", &red()));
        assert_eq!(both.outcome(), Outcome::Failed);
    }

    #[test]
    fn a_report_without_a_judged_test_is_no_verdict() {
        let lack = || TestStatus::NotJudged("there is no nginx".to_owned());
        let some = report([("behind_nginx", lack()), ("alone", TestStatus::Passed)]);
        assert_eq!(some.outcome(), Outcome::Passed);
        assert_eq!(some.not_judged().count(), 1);
        let none = report([("behind_nginx", lack()), ("as_well", lack())]);
        assert_eq!(none.outcome(), Outcome::CouldNotJudge);
    }
}
