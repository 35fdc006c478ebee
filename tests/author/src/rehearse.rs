//! `just rehearse`: what the machines of a room do in a day, done once on this one, timed, and compared with the plan.
//!
//! It uses the references, where learners have crates of their own. It records no results and no progress; what it built and
//! seeded stays, since the day needs it as well.

use std::time::{Duration, Instant};

use tokio::time::timeout;

use workshop::cli::CheckOptions;
use workshop::commands::{check, seed};
use workshop::doctor;
use workshop::subject::CheckTarget;
use workshop_base::exercise::{Catalogue, Exercise};
use workshop_base::outcome::{Outcome, Trouble};
use workshop_base::target::Target;
use workshop_base::terminal::{Style, paint};
use workshop_base::workspace::Workspace;
use workshop_book::plans::{DayPlan, Takes};
use workshop_book::render::render;
use workshop_harness::build::Profile;
use workshop_measure::protocol::builder::built;
use workshop_measure::protocol::rows::Asked;
use workshop_postgres::datasets::DataSet;
use workshop_results::file::Mode;
use workshop_tasks as tasks;

/// What is measured here reads a million records: those of the day are seeded in seconds, the article's in minutes.
const DATA_SET: DataSet = DataSet::Pi;
/// What may go on while a talk is held: builds, and the database's first start.
const TALK: Duration = Duration::from_secs(10 * 60);
/// What people would have to wait for.
const AT_ONCE: Duration = Duration::from_secs(60);
/// A check may take this part of the minutes for doing, since people check many times.
const CHECKS: u32 = 20;
/// What takes longer is stopped, and counts as what does not work.
const GIVE_UP: Duration = Duration::from_secs(30 * 60);
/// A quick measurement may take this much more than announced before the real one is expected to be late as well.
const LATE: f64 = 1.25;

/// Rehearses a plan: its exercises, and of these the measurements that every laptop takes. Or the exercises that are named.
pub async fn run(workspace: &Workspace, plan: &str, only: &[Target]) -> anyhow::Result<Outcome> {
    let catalogue = Catalogue::read(workspace)?;
    let takes = Takes::read(workspace)?;
    let DayPlan {
        exercises: mut chosen,
        mut measured,
        ..
    } = DayPlan::of(workspace, plan)?;
    if !only.is_empty() {
        chosen.clear();
        for target in only {
            chosen.extend(catalogue.of(*target)?.map(|exercise| exercise.number));
        }
        measured.clone_from(&chosen);
    }
    let exercises = chosen.into_iter().map(|number| catalogue.get(number));
    let exercises: Vec<&Exercise> = exercises.collect::<anyhow::Result<_>>()?;

    let mut rehearsal = Rehearsal::default();
    let step = rehearsal.step("just doctor", AT_ONCE, doctor::run(workspace));
    step.await;
    let what = format!("PostgreSQL, just seed {DATA_SET}");
    let step = rehearsal.step(&what, TALK, seed::run(workspace, DATA_SET, false));
    step.await;
    rehearsal.check(workspace, Target::Kotlin, TALK).await;
    for exercise in exercises {
        rehearsal.exercise(workspace, exercise).await;
        let is_measured = measured.contains(&exercise.number);
        if let Some(announced) = takes.seconds(exercise).filter(|_| is_measured) {
            rehearsal.measurement(workspace, exercise, announced).await;
        }
    }
    rehearsal.step("the book", AT_ONCE, book(workspace)).await;
    Ok(rehearsal.end())
}

/// The lines of the table, and what to do about what did not fit.
#[derive(Default)]
struct Rehearsal {
    lines: Vec<String>,
    advice: Vec<String>,
}

impl Rehearsal {
    /// Does one thing; true if it went well.
    async fn step(
        &mut self,
        what: &str,
        planned: Duration,
        doing: impl Future<Output = anyhow::Result<Outcome>>,
    ) -> bool {
        let started = Instant::now();
        let done = stopped_after(GIVE_UP, doing).await;
        let took = started.elapsed();
        match done {
            Ok(Outcome::Passed) => {
                self.took(what, planned, took);
                return true;
            }
            Ok(_) => self.failed(what, planned, took, "see its output above", what),
            Err(error) => {
                let next = Trouble::of(&error).and_then(Trouble::what_next);
                let said = error.to_string();
                let said = said.lines().next().unwrap_or_default();
                self.failed(
                    what,
                    planned,
                    took,
                    said,
                    next.as_deref().unwrap_or("just doctor"),
                );
            }
        }
        false
    }

    fn took(&mut self, what: &str, planned: Duration, took: Duration) {
        let fits = took <= planned;
        self.line(what, planned, took, if fits { "fits" } else { "too slow" });
        if !fits {
            let minutes = took.as_secs().div_ceil(60);
            self.advice.push(format!(
                "{what}: plan {minutes} minutes, have it done on every machine before the day, or show it on one"
            ));
        }
    }

    fn failed(&mut self, what: &str, planned: Duration, took: Duration, said: &str, next: &str) {
        self.line(what, planned, took, "does not work");
        self.advice
            .push(format!("{what}: {said}\n    next: {next}"));
    }

    fn line(&mut self, what: &str, planned: Duration, took: Duration, verdict: &str) {
        let (planned, took) = (planned.as_secs_f64() / 60.0, took.as_secs_f64());
        let line = format!("{planned:>5.1} min  {took:>7.1} s  {verdict:<13}  {what}");
        println!("{}", paint(Style::Strong, line.as_str()));
        self.lines.push(line);
    }

    async fn check(&mut self, workspace: &Workspace, target: Target, planned: Duration) {
        let options = CheckOptions::default();
        let checking = check::run(workspace, CheckTarget::Target(target), &options);
        self.step(&format!("just check {target}"), planned, checking)
            .await;
    }

    /// The build of an exercise, and its check.
    async fn exercise(&mut self, workspace: &Workspace, exercise: &Exercise) {
        let target = Target::Solution(exercise.number);
        let building = building(workspace, target);
        if exercise.is_crate()
            && !self
                .step(&format!("building {target}"), TALK, building)
                .await
        {
            return;
        }
        let doing = Duration::from_secs(u64::from(exercise.minutes.doing) * 60);
        self.check(workspace, target, doing / CHECKS).await;
    }

    /// A quick measurement: how long the room's one will take is worked out from it.
    async fn measurement(
        &mut self,
        workspace: &Workspace,
        exercise: &Exercise,
        (quick, standard): (u32, u32),
    ) {
        let Some(task) = exercise.task() else { return };
        let target = Target::Solution(exercise.number);
        let asked = Asked {
            task: task.to_owned(),
            exercise: exercise.number,
            target,
            mode: Mode::Quick,
            rounds: None,
            peers: false,
        };
        let mut took = Duration::ZERO;
        let measuring = async {
            let result = tasks::measure(workspace, &asked, Some(DATA_SET)).await?;
            took = Duration::from_secs_f64(result.manifest.took_s.max(0.0));
            let Some(reason) = result.invalid.first() else {
                return Ok(Outcome::Passed);
            };
            Trouble::new(format!("invalid: {reason}"))
                .next("the page Reading a measurement")
                .err()
        };
        let what = format!("just measure {target}");
        let announced = Duration::from_secs(u64::from(quick));
        let with_builds = format!("{what} --quick, with its builds");
        if self.step(&with_builds, TALK + announced, measuring).await {
            let slower = took.as_secs_f64() / announced.as_secs_f64();
            let planned = Duration::from_secs(u64::from(standard));
            let expected = planned.mul_f64(if slower > LATE { slower } else { 1.0 });
            self.took(&format!("{what}, worked out"), planned, expected);
        }
    }

    fn end(self) -> Outcome {
        println!(
            "\n{}",
            paint(Style::Strong, "  planned       took  verdict        what")
        );
        println!("{}", self.lines.join("\n"));
        if self.advice.is_empty() {
            println!("\n{}", paint(Style::Good, "everything fits"));
            return Outcome::Passed;
        }
        println!("\nwhat did not fit, and what to do:");
        for advice in &self.advice {
            println!("  {advice}");
        }
        Outcome::Failed
    }
}

/// What comes of it, or that it took too long. What it has started ends with it.
async fn stopped_after(
    limit: Duration,
    doing: impl Future<Output = anyhow::Result<Outcome>>,
) -> anyhow::Result<Outcome> {
    timeout(limit, doing).await.unwrap_or_else(|_| {
        let minutes = limit.as_secs() / 60;
        Trouble::new(format!(
            "it did not end within {minutes} minutes, and was stopped"
        ))
        .next("try it by itself")
        .err()
    })
}

/// The book, into a folder that is removed again.
async fn book(workspace: &Workspace) -> anyhow::Result<Outcome> {
    let destination = tempfile::tempdir()?;
    render(workspace, Some(destination.path()))?;
    Ok(Outcome::Passed)
}

async fn building(workspace: &Workspace, target: Target) -> anyhow::Result<Outcome> {
    built(workspace, target, Profile::Check).await?;
    Ok(Outcome::Passed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_does_not_end_is_stopped() {
        let hanging = stopped_after(Duration::ZERO, std::future::pending()).await;
        assert!(hanging.is_err_and(|error| error.to_string().contains("was stopped")));
    }

    #[tokio::test]
    async fn what_is_too_slow_or_does_not_work_is_in_the_list_at_the_end() {
        let mut rehearsal = Rehearsal::default();
        let fine = async { Ok(Outcome::Passed) };
        assert!(rehearsal.step("a build", TALK, fine).await && rehearsal.advice.is_empty());
        rehearsal.took("a check", AT_ONCE, AT_ONCE * 3);
        assert!(rehearsal.advice[0].starts_with("a check: plan 3 minutes"));
        let broken = async { Trouble::new("no nginx").next("install it").err() };
        assert!(!rehearsal.step("exercise 20", TALK, broken).await);
        assert!(
            rehearsal.advice[1].contains("no nginx") && rehearsal.advice[1].contains("install it")
        );
        assert_eq!(rehearsal.lines.len(), 3);
        assert_eq!(rehearsal.end(), Outcome::Failed);
    }
}
