//! `just check TARGET`: build, start, test; and what a learner reads of it.

use std::time::Instant;

use crate::cli::{CheckOptions, Format};
use crate::commands::solution;
use crate::documents::Document;
use crate::editors;
use crate::hunt::Hunt;
use crate::judge::{asked_for, judge_alone, phases_of, phases_of_peer};
use crate::katas;
use crate::room;
use crate::state::{self, CheckOutcome, DOES_NOT_START, Fault, LastCheck};
use crate::subject::CheckTarget;
use crate::teller::Teller;
use workshop_base::exercise::{Catalogue, Exercise, Kind};
use workshop_base::files;
use workshop_base::outcome::{Outcome, Trouble};
use workshop_base::target::Target;
use workshop_base::terminal::{Style, paint};
use workshop_base::workspace::Workspace;
use workshop_harness::build::{BuildError, Profile};
use workshop_harness::plan::Phase;
use workshop_harness::report::{Judged, Report, TestStatus};
use workshop_harness::run::judge_phases;
use workshop_harness::scenarios::Place;
use workshop_harness::service::{NoStart, StartError};
use workshop_postgres::Server;
use workshop_suites::forms::remarks;

/// Checks one target and prints what it found. What only some of its tests say isn't remembered.
pub async fn run(
    workspace: &Workspace,
    target: CheckTarget,
    options: &CheckOptions,
) -> anyhow::Result<Outcome> {
    let catalogue = Catalogue::read(workspace)?;
    let exercise = target.exercise(workspace, &catalogue)?;
    let learners = exercise.filter(|_| target.is_an_exercise());
    let checking = Checking {
        workspace,
        exercise,
        target,
        wanted: wanted(workspace, learners, target, options)?,
        is_quiet: options.format != Format::Text,
    };
    let report = match checking.judged(&catalogue).await {
        Ok(report) => report,
        Err(error) => {
            let (check, trouble) = faulty(target, error)?;
            if let Some(exercise) = learners {
                state::record(workspace, exercise, &check)?;
                room::note(workspace, exercise, &check);
            }
            let next = trouble.what_next().unwrap_or_default();
            checking.print(options.format, &check, None, next)?;
            return Err(trouble.failed().into());
        }
    };
    let check = last_check(&report);
    let is_whole = checking.wanted.is_empty();
    let mut green_before = None;
    if let Some(exercise) = learners.filter(|_| is_whole) {
        green_before = katas::green(workspace, exercise)?;
        state::record(workspace, exercise, &check)?;
        room::note(workspace, exercise, &check);
    }
    let next = match target {
        _ if !is_whole && check.outcome == CheckOutcome::Passed => {
            format!("just check {target}, with all of its tests")
        }
        CheckTarget::Target(target) => next_step(workspace, target, exercise, &report),
        CheckTarget::Hunt => {
            "just run hunt to try the request by hand; just reset hunt to give up and be told"
                .to_owned()
        }
    };
    if checking.is_quiet {
        checking.print(options.format, &check, Some(&report), next)?;
        return Ok(report.outcome());
    }
    if let Some(exercise) = learners.filter(|exercise| exercise.kind == Kind::Review) {
        print!("{}", remarks::told(workspace, exercise)?);
    }
    report.print_count();
    editors::tell_places(&editors::places(workspace, &report)?);
    if options.timings {
        println!("{}", report.timings);
    }
    if let Some(exercise) = learners.filter(|_| is_whole) {
        tell_katas(workspace, exercise, green_before)?;
    }
    match target {
        CheckTarget::Hunt if is_whole => {
            println!("\n{}", after_hunting(&Hunt::on(workspace)?, &report, &next))
        }
        _ => println!("\n{}", words_of(&next)),
    }
    Ok(report.outcome())
}

/// The names of the tests that are asked for; none for all of them.
fn wanted(
    workspace: &Workspace,
    learners: Option<&Exercise>,
    target: CheckTarget,
    options: &CheckOptions,
) -> anyhow::Result<Vec<String>> {
    if !options.last_failed {
        return Ok(options.only.clone());
    }
    let memory = learners.map(|exercise| state::recall(workspace, exercise));
    let check = memory.and_then(|memory| memory.last_check);
    match check {
        Some(check) if check.outcome == CheckOutcome::Failed => {
            Ok(check.faults.into_iter().map(|fault| fault.name).collect())
        }
        // It did not get as far as the tests.
        Some(check) if check.outcome != CheckOutcome::Passed => Ok(Vec::new()),
        _ => Trouble::new(format!("no test of {target} was red at its last check"))
            .expected("a check of an exercise of yours that was red; others aren't remembered")
            .next(format!("just check {target}"))
            .err(),
    }
}

/// A check under way.
struct Checking<'a> {
    workspace: &'a Workspace,
    exercise: Option<&'a Exercise>,
    target: CheckTarget,
    /// Words for the tests that are asked for; none for all of them.
    wanted: Vec<String>,
    is_quiet: bool,
}

impl Checking<'_> {
    async fn judged(&self, catalogue: &Catalogue) -> anyhow::Result<Report> {
        let (Some(exercise), CheckTarget::Target(target)) = (self.exercise, self.target) else {
            return self.built_and_judged(catalogue).await;
        };
        if !exercise.is_judged_alone(target) {
            return self.built_and_judged(catalogue).await;
        }
        if !self.is_quiet {
            println!("{}", paint(Style::Strong, target.to_string()));
        }
        let mut report = judge_alone(self.workspace, exercise, target, true).await?;
        if !self.wanted.is_empty() {
            let tests = report.tests.iter();
            let tests: Vec<(&str, &str)> = tests.map(|test| (&*test.suite, &*test.test)).collect();
            let names = asked_for(&tests, &self.wanted, self.target)?;
            report.tests.retain(|judged| names.contains(&judged.test));
        }
        if !self.is_quiet {
            report.print_tests();
        }
        Ok(report)
    }

    /// Builds the target and judges it phase by phase; each test is printed when it has ended. Nobody with a red one has to wait for the
    /// phases after it.
    async fn built_and_judged(&self, catalogue: &Catalogue) -> anyhow::Result<Report> {
        let phases = self.phases(catalogue)?;
        let started = Instant::now();
        let launch = self.target.build(self.workspace, Profile::Check).await?;
        let built = started.elapsed();
        let started = Instant::now();
        let server = Server::ensure(self.workspace).await?;
        let found = started.elapsed();
        if !self.is_quiet {
            let label = paint(Style::Strong, launch.label.as_str());
            println!("{label} on {}", server.describe());
        }
        let place = Place {
            workspace: self.workspace,
            server: &server,
            launch: &launch,
        };
        let mut teller = Teller::of(&phases, self.is_quiet, !self.wanted.is_empty());
        let mut report = judge_phases(place, &phases, &mut teller).await?;
        let left = teller.left();
        drop(teller);
        if left > 0 && !self.is_quiet {
            let left = format!("{left} more tests run when these pass");
            println!("  {}", paint(Style::Faint, left));
        }
        report.timings.add_first("server", found);
        report.timings.add_first("build", built);
        Ok(report)
    }

    /// The phases of the target, with the tests that are asked for.
    fn phases(&self, catalogue: &Catalogue) -> anyhow::Result<Vec<Phase>> {
        let phases = match self.target {
            CheckTarget::Target(Target::Peer(name)) => phases_of_peer(name)?,
            _ => phases_of(catalogue, self.exercise)?,
        };
        if self.wanted.is_empty() {
            return Ok(phases);
        }
        let suites = phases.iter().flat_map(|phase| &phase.suites);
        let tests = suites.flat_map(|suite| suite.tests.iter().map(|test| (suite.name, test.name)));
        let tests: Vec<(&str, &str)> = tests.collect();
        let names = asked_for(&tests, &self.wanted, self.target)?;
        Ok(phases
            .iter()
            .filter_map(|phase| phase.some(&names))
            .collect())
    }

    /// Prints for a program, if one reads it.
    fn print(
        &self,
        format: Format,
        check: &LastCheck,
        report: Option<&Report>,
        next: String,
    ) -> anyhow::Result<()> {
        if !self.is_quiet {
            return Ok(());
        }
        let places = report.map(|report| editors::places(self.workspace, report));
        let document = Document {
            target: self.target.to_string(),
            check,
            report,
            places: places.transpose()?.unwrap_or_default(),
            next,
        };
        print!("{}", document.text(format)?);
        Ok(())
    }
}

/// What a check would remember of this judgment.
pub fn outcome_of(target: Target, judged: anyhow::Result<Report>) -> anyhow::Result<LastCheck> {
    match judged {
        Ok(report) => Ok(last_check(&report)),
        Err(error) => Ok(faulty(CheckTarget::Target(target), error)?.0),
    }
}

/// What is remembered and what is said of code that does not get as far as the tests. Other errors are handed back.
pub(super) fn faulty(
    target: CheckTarget,
    error: anyhow::Error,
) -> anyhow::Result<(LastCheck, Trouble)> {
    let start = error.downcast_ref::<StartError>();
    if let Some(exited) = start.filter(|start| matches!(start.why, NoStart::Exited(_))) {
        let fault = Fault::new(DOES_NOT_START, &exited.log);
        let check = LastCheck::now(CheckOutcome::DoesNotStart, vec![fault]);
        let next = match target.is_an_exercise() {
            true => format!("just hint {target}; just run {target} starts it alone"),
            false => format!("just run {target} starts it alone"),
        };
        return Ok((check, exited.trouble().next(next)));
    }
    let (label, errors) = match error.downcast()? {
        BuildError::DoesNotCompile { label, errors } => (label, errors),
        BuildError::CouldNotBuild(error) => return Err(error),
    };
    let trouble = Trouble::new(format!(
        "{label} does not compile; see the compiler's messages above"
    ));
    let of_rustc = errors.iter().find(|error| error.code.starts_with('E'));
    let explain = of_rustc.map_or(String::new(), |error| {
        format!("; rustc --explain {} tells more", error.code)
    });
    let next = match target.is_an_exercise() {
        true => format!("just hint {target}{explain}"),
        false => format!("just check {target}, once it is fixed"),
    };
    let faults = errors.into_iter();
    let faults = faults.map(|error| Fault {
        place: error.place,
        ..Fault::new(error.code, error.said)
    });
    let check = LastCheck::now(CheckOutcome::DoesNotCompile, faults.collect());
    Ok((check, trouble.next(next)))
}

pub(super) fn last_check(report: &Report) -> LastCheck {
    let fault = |judged: &Judged| match &judged.status {
        TestStatus::Passed | TestStatus::NotJudged(_) => None,
        TestStatus::Failed { failure, log } => {
            Some(Fault::new(&judged.test, format!("{failure}\n{log}")))
        }
    };
    let faults: Vec<Fault> = report.tests.iter().filter_map(fault).collect();
    let outcome = match report.outcome() {
        Outcome::Passed => CheckOutcome::Passed,
        _ => CheckOutcome::Failed,
    };
    LastCheck::now(outcome, faults)
}

/// Prints how many katas are green, what else one could have written in those that are now and were not `before`, and which file is
/// to be edited now.
fn tell_katas(
    workspace: &Workspace,
    exercise: &Exercise,
    before: Option<usize>,
) -> anyhow::Result<()> {
    let Some(green) = katas::green(workspace, exercise)? else {
        return Ok(());
    };
    println!("{green} of {} katas are green", exercise.edit.len());
    let before = before.unwrap_or_default().min(green);
    solution::tell_ways_in(workspace, exercise, &exercise.edit[before..green])?;
    if let Some(open) = exercise.edit.get(green) {
        let open = exercise.starter(workspace).join(open);
        println!("open now: {}", files::shown(workspace, &open));
    }
    Ok(())
}

/// What a hunt comes to: the answer once it is green, the clock and the ways on before that.
pub(super) fn after_hunting(hunt: &Hunt, report: &Report, next: &str) -> String {
    if report.outcome() == Outcome::Passed {
        return format!("You got it. {}\n{}", hunt.answer, words_of(&hunt.another()));
    }
    let clock = hunt.clock().map(|clock| format!("{clock}\n"));
    clock.unwrap_or_default() + &words_of(next)
}

fn words_of(next: &str) -> String {
    match next.starts_with("just ") {
        true => format!("next: {}", paint(Style::Strong, next)),
        false => next.to_owned(),
    }
}

/// The one command that makes sense now; after the last test of an exercise, what comes next in the book as well.
fn next_step(
    workspace: &Workspace,
    target: Target,
    exercise: Option<&Exercise>,
    report: &Report,
) -> String {
    let passed = report.outcome() == Outcome::Passed;
    match (target, exercise) {
        (Target::Exercise(_), Some(exercise)) if passed => {
            let first = match exercise.task() {
                Some(_) => format!("just measure {target}"),
                None => "just progress".to_owned(),
            };
            first + &ahead_in_book(workspace, exercise).unwrap_or_default()
        }
        (Target::Exercise(_), Some(exercise)) if exercise.is_judged_alone(target) => {
            format!("just hint {target}")
        }
        (Target::Exercise(_), _) => {
            format!("just hint {target}; just run {target} to try the request by hand")
        }
        _ if passed && report.tests.is_empty() => format!("no suite judges {target}"),
        _ if passed => format!("{target} keeps the contract"),
        _ => format!("just run {target} to try the request by hand"),
    }
}

/// The page after the exercise's; nothing where the book cannot be read: a check does not need it.
fn ahead_in_book(workspace: &Workspace, exercise: &Exercise) -> Option<String> {
    let summary = files::text(&workspace.book().join("SUMMARY.md")).ok()?;
    let page = format!("exercises/{}.md", exercise.folder());
    let mut pages = summary.lines().filter_map(entry);
    pages.find(|(_, file)| *file == page)?;
    let (title, _) = pages.next()?;
    Some(format!("; then, in the book, {title}"))
}

/// The title and the file of a line of `SUMMARY.md`: `- [Setting up](setting-up.md)`.
fn entry(line: &str) -> Option<(&str, &str)> {
    let (title, file) = line.split_once('[')?.1.rsplit_once("](")?;
    Some((title, file.strip_suffix(')')?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_green_exercise_leads_to_the_page_that_its_own_page_names() -> anyhow::Result<()> {
        let workspace = Workspace::find()?;
        let catalogue = Catalogue::read(&workspace)?;
        for exercise in catalogue.iter() {
            let next = ahead_in_book(&workspace, exercise).unwrap_or_default();
            let title = next.strip_prefix("; then, in the book, ");
            assert!(title.is_some_and(|title| !title.is_empty()), "{next}");
        }
        Ok(())
    }
}
