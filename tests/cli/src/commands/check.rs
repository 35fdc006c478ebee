//! `just check TARGET`: build, start, test; and what a learner reads of it.

use std::time::Instant;

use crate::commands::solution;
use crate::editors;
use crate::hunt::Hunt;
use crate::judge::{judge_alone, phases_of, phases_of_peer};
use crate::katas;
use crate::room;
use crate::state::{self, CheckOutcome, DOES_NOT_START, Fault, LastCheck};
use crate::subject::CheckTarget;
use workshop_base::exercise::{Catalogue, Exercise, Kind};
use workshop_base::files;
use workshop_base::outcome::{Outcome, Trouble};
use workshop_base::target::Target;
use workshop_base::terminal::{Style, paint};
use workshop_base::workspace::Workspace;
use workshop_harness::build::{BuildError, Profile};
use workshop_harness::report::{Judged, Report, TestStatus};
use workshop_harness::run::judge_phases;
use workshop_harness::scenarios::Place;
use workshop_harness::service::{NoStart, StartError};
use workshop_postgres::Server;
use workshop_suites::forms::remarks;

/// Checks one target and prints what it found.
pub async fn run(
    workspace: &Workspace,
    target: CheckTarget,
    timings: bool,
) -> anyhow::Result<Outcome> {
    let catalogue = Catalogue::read(workspace)?;
    let exercise = target.exercise(workspace, &catalogue)?;
    let judged = match (exercise, target) {
        (Some(exercise), CheckTarget::Target(target)) if exercise.is_judged_alone(target) => {
            println!("{}", paint(Style::Strong, target.to_string()));
            let judged = judge_alone(workspace, exercise, target, true).await;
            judged.inspect(Report::print_tests)
        }
        _ => built_and_judged(workspace, &catalogue, exercise, target).await,
    };
    let learners = exercise.filter(|_| target.is_an_exercise());
    let report = match judged {
        Ok(report) => report,
        Err(error) => {
            let (check, trouble) = faulty(target, error)?;
            if let Some(exercise) = learners {
                state::record(workspace, exercise, &check)?;
                room::note(workspace, exercise, &check);
            }
            return Err(trouble.failed().into());
        }
    };
    if let Some(exercise) = learners.filter(|exercise| exercise.kind == Kind::Review) {
        print!("{}", remarks::told(workspace, exercise)?);
    }
    report.print_count();
    editors::tell_places(workspace, &report)?;
    if timings {
        println!("{}", report.timings);
    }
    if let Some(exercise) = learners {
        let green = katas::green(workspace, exercise)?;
        let check = last_check(&report);
        state::record(workspace, exercise, &check)?;
        room::note(workspace, exercise, &check);
        tell_katas(workspace, exercise, green)?;
    }
    let next = match target {
        CheckTarget::Target(target) => next_step(workspace, target, exercise, &report),
        CheckTarget::Hunt => after_hunting(&Hunt::on(workspace)?, &report),
    };
    println!("\n{next}");
    Ok(report.outcome())
}

/// Judges one target by one test, and prints what it found. Nothing is remembered of it.
pub async fn run_one(
    workspace: &Workspace,
    target: CheckTarget,
    test: &str,
) -> anyhow::Result<Outcome> {
    let catalogue = Catalogue::read(workspace)?;
    let exercise = target.exercise(workspace, &catalogue)?;
    let phases = match target {
        CheckTarget::Target(Target::Peer(name)) => phases_of_peer(name)?,
        _ => phases_of(&catalogue, exercise)?,
    };
    let wanted = [test.to_owned()];
    let Some(phase) = phases.iter().find_map(|phase| phase.some(&wanted)) else {
        return Trouble::new(format!("no suite of {target} has the test {test}"))
            .expected("the name of a test, as just check prints it")
            .next(format!("just check {target}"))
            .err();
    };
    let launch = match target.build(workspace, Profile::Check).await {
        Ok(launch) => launch,
        Err(error) => return Err(faulty(target, error.into())?.1.failed().into()),
    };
    let server = Server::ensure(workspace).await?;
    let place = Place {
        workspace,
        server: &server,
        launch: &launch,
    };
    let judged = judge_phases(place, &[phase], |_| true).await;
    let report = match judged {
        Ok(report) => report,
        Err(error) => return Err(faulty(target, error)?.1.failed().into()),
    };
    report.print();
    Ok(report.outcome())
}

/// Builds a target and judges it phase by phase; the tests of each phase are printed when they have ended. Nobody with a red one
/// has to wait for the phases after it.
async fn built_and_judged(
    workspace: &Workspace,
    catalogue: &Catalogue,
    exercise: Option<&Exercise>,
    target: CheckTarget,
) -> anyhow::Result<Report> {
    let started = Instant::now();
    let launch = target.build(workspace, Profile::Check).await?;
    let built = started.elapsed();
    let started = Instant::now();
    let server = Server::ensure(workspace).await?;
    let found = started.elapsed();
    let label = paint(Style::Strong, launch.label.as_str());
    println!("{label} on {}", server.describe());

    let place = Place {
        workspace,
        server: &server,
        launch: &launch,
    };
    let phases = match target {
        CheckTarget::Target(Target::Peer(name)) => phases_of_peer(name)?,
        _ => phases_of(catalogue, exercise)?,
    };
    let mut later: usize = phases.iter().map(|phase| phase.tests().count()).sum();
    let mut report = judge_phases(place, &phases, |found| {
        found.print_tests();
        later -= found.tests.len();
        found.failed().is_empty()
    })
    .await?;
    if later > 0 {
        let later = format!("{later} more tests run when these pass");
        println!("  {}", paint(Style::Faint, later));
    }
    report.timings.add_first("server", found);
    report.timings.add_first("build", built);
    Ok(report)
}

/// What a check would remember of this judgment.
pub fn outcome_of(target: Target, judged: anyhow::Result<Report>) -> anyhow::Result<LastCheck> {
    match judged {
        Ok(report) => Ok(last_check(&report)),
        Err(error) => Ok(faulty(CheckTarget::Target(target), error)?.0),
    }
}

/// What is remembered and what is said of code that does not get as far as the tests. Other errors are handed back.
fn faulty(target: CheckTarget, error: anyhow::Error) -> anyhow::Result<(LastCheck, Trouble)> {
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

fn last_check(report: &Report) -> LastCheck {
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
fn after_hunting(hunt: &Hunt, report: &Report) -> String {
    if report.outcome() == Outcome::Passed {
        let next = format!("just hunt exercise-{} plants another", hunt.exercise);
        let next = paint(Style::Strong, next);
        return format!("You got it. {}\nnext: {next}", hunt.answer);
    }
    let next = "just run hunt to try the request by hand; just reset hunt to give up and be told";
    let next = format!("next: {}", paint(Style::Strong, next));
    let clock = hunt.clock().map(|clock| format!("{clock}\n"));
    clock.unwrap_or_default() + &next
}

/// The one command that makes sense now; after the last test of an exercise, what comes next in the book as well.
fn next_step(
    workspace: &Workspace,
    target: Target,
    exercise: Option<&Exercise>,
    report: &Report,
) -> String {
    let passed = report.outcome() == Outcome::Passed;
    let next = match (target, exercise) {
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
        _ if passed && report.tests.is_empty() => return format!("no suite judges {target}"),
        _ if passed => return format!("{target} keeps the contract"),
        _ => format!("just run {target} to try the request by hand"),
    };
    format!("next: {}", paint(Style::Strong, next))
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
