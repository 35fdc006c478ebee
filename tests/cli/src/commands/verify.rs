//! `just verify`: the author's gate. A starter is red exactly as declared, a reference is green, each planted mistake is
//! caught by the test that its file names, the Kotlin service keeps the whole contract, and the files fit together.

use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use anyhow::Context;

use crate::commands::check;
use crate::mistakes::Mistake;
use crate::{chain, hints};
use workshop_base::exercise::{Catalogue, Exercise};
use workshop_base::outcome::{Outcome, Trouble};
use workshop_base::target::Target;
use workshop_base::terminal::{Style, paint};
use workshop_base::workspace::Workspace;
use workshop_base::{files, originals};
use workshop_harness::build::{self, BuildError, Launch, Profile, cargo_command};
use workshop_harness::copies::Copy;
use workshop_harness::plan::Phase;
use workshop_harness::report::{Report, Timings, Verdict};
use workshop_harness::run::judge_once;
use workshop_harness::scenarios::Place;
use workshop_postgres::Server;

/// Fewer planted mistakes do not show that the tests can fail.
const FEWEST_MISTAKES: usize = 2;

/// Verifies one exercise, or all. After the tests the references and the Kotlin service are not judged once more.
pub async fn run(workspace: &Workspace, which: &str, after_tests: bool) -> anyhow::Result<Outcome> {
    let catalogue = Catalogue::read(workspace)?;
    let exercises = chosen(&catalogue, which)?;
    let server = Server::ensure(workspace).await?;
    println!("on {}", server.describe());
    let mut gate = Gate {
        workspace,
        server: &server,
        catalogue: &catalogue,
        after_tests,
        passed: 0,
        failed: 0,
        timings: Timings::default(),
        since: Instant::now(),
    };
    for exercise in exercises {
        println!(
            "{}",
            paint(
                Style::Strong,
                format!("{} {}", exercise.name(), exercise.title)
            )
        );
        gate.exercise(exercise).await?;
    }
    println!("{}", paint(Style::Strong, "kotlin and the book"));
    if !after_tests {
        gate.kotlin().await?;
    }
    gate.took("the Kotlin service");
    gate.book()?;
    gate.took("the book");
    println!("\n{}", gate.timings);
    println!("{} passed, {} failed", gate.passed, gate.failed);
    Ok(if gate.failed == 0 {
        Outcome::Passed
    } else {
        Outcome::Failed
    })
}

fn chosen<'a>(catalogue: &'a Catalogue, which: &str) -> anyhow::Result<Vec<&'a Exercise>> {
    if which == "all" {
        return Ok(catalogue.iter().collect());
    }
    match which.parse() {
        Ok(Target::Exercise(number)) => Ok(vec![catalogue.get(number)?]),
        _ => Err(Trouble::new(format!("{which} cannot be verified"))
            .expected(format!("all, or one of: {}", catalogue.names().join(", ")))
            .next("just verify all")
            .into()),
    }
}

/// A crate with a mistake in it and how it is started; none when it does not compile.
type Planted = Option<(Copy, Launch)>;

struct Gate<'a> {
    workspace: &'a Workspace,
    server: &'a Server,
    catalogue: &'a Catalogue,
    after_tests: bool,
    passed: usize,
    failed: usize,
    timings: Timings,
    since: Instant,
}

impl Gate<'_> {
    /// Records and prints one finding: no faults is good.
    fn hold(&mut self, what: &str, faults: &[String]) {
        if faults.is_empty() {
            self.passed += 1;
            println!("  {}    {what}", paint(Style::Good, "ok"));
        } else {
            self.failed += 1;
            println!("  {}  {what}", paint(Style::Bad, "FAIL"));
            for fault in faults {
                println!("          {fault}");
            }
        }
    }

    async fn exercise(&mut self, exercise: &Exercise) -> anyhow::Result<()> {
        let faults = self.same_outside_the_edit_list(exercise)?;
        self.hold(
            "starter and reference differ in the files of the edit list only",
            &faults,
        );
        let faults = originals::patch_faults(self.workspace, exercise)?;
        self.hold(
            "starter.patch makes the starter from the reference",
            &faults,
        );
        self.chain(exercise)?;
        let faults = self.missing_hints(exercise)?;
        self.hold("every test that is red has its hints", &faults);
        self.took("files");
        if !exercise.is_crate() {
            return self.form(exercise);
        }
        let (starter, reference) = (
            Target::Exercise(exercise.number),
            Target::Solution(exercise.number),
        );
        let packages = [starter, reference].map(|target| target.to_string());
        let faults = formatting_faults(self.workspace, &packages)?;
        self.hold("starter and reference are formatted", &faults);
        let faults = clippy_faults(self.workspace, &packages)?;
        self.hold(
            "starter and reference compile without warnings, clippy's included",
            &faults,
        );
        self.took("lints");
        let report = self.judged(starter, exercise).await;
        self.hold(
            "the starter is red exactly as declared",
            &red_faults(exercise, report)?,
        );
        self.took("starters");
        if !self.after_tests {
            let report = self.judged(reference, exercise).await;
            self.hold("the reference is green", &green_faults(report)?);
            self.took("references");
        }
        self.mistakes(exercise).await?;
        self.took("mistakes");
        Ok(())
    }

    /// Counts the time since the last call for a part of the work.
    fn took(&mut self, part: &'static str) {
        self.timings.add(part, self.since.elapsed());
        self.since = Instant::now();
    }

    fn chain(&mut self, exercise: &Exercise) -> anyhow::Result<()> {
        let faults = chain::not_carried(self.workspace, self.catalogue, exercise)?;
        self.hold("every change is carried to what grows from it", &faults);
        if let Some(grows_from) = &exercise.grows_from {
            let faults = chain::unannounced(self.workspace, self.catalogue, exercise, grows_from)?;
            self.hold(
                "the starter is the reference before it, but for edit and given",
                &faults,
            );
        }
        Ok(())
    }

    fn form(&mut self, exercise: &Exercise) -> anyhow::Result<()> {
        let starter =
            check::judge_form(self.workspace, exercise, Target::Exercise(exercise.number))?;
        self.hold(
            "the starter is red exactly as declared",
            &red_faults(exercise, Ok(starter))?,
        );
        let reference =
            check::judge_form(self.workspace, exercise, Target::Solution(exercise.number))?;
        self.hold("the reference is green", &green_faults(Ok(reference))?);
        Ok(())
    }

    fn same_outside_the_edit_list(&self, exercise: &Exercise) -> anyhow::Result<Vec<String>> {
        let reference = originals::reference(self.workspace, exercise)?;
        let starter = originals::in_place(self.workspace, exercise)?;
        let strays = files::differing(&reference, &starter).into_iter();
        Ok(strays
            .filter(|path| !exercise.edit.contains(path))
            .map(|path| path.display().to_string())
            .collect())
    }

    fn missing_hints(&self, exercise: &Exercise) -> anyhow::Result<Vec<String>> {
        let hints = hints::of(self.workspace, exercise)?;
        Ok(hints[0].missing(&exercise.red))
    }

    async fn judged(&self, target: Target, exercise: &Exercise) -> anyhow::Result<Report> {
        let launch = build::build(self.workspace, target, Profile::Check).await?;
        self.judged_launch(Some(exercise), &launch).await
    }

    async fn judged_launch(
        &self,
        exercise: Option<&Exercise>,
        launch: &Launch,
    ) -> anyhow::Result<Report> {
        check::judge_launch(
            self.workspace,
            self.server,
            self.catalogue,
            exercise,
            launch,
        )
        .await
    }

    /// Judges each mistake while the next one is built. They are built in two places in turn, so that cargo compiles what differs
    /// from the last but one.
    async fn mistakes(&mut self, exercise: &Exercise) -> anyhow::Result<()> {
        let mistakes = Mistake::all(&exercise.solution(self.workspace))?;
        let enough = if mistakes.len() < FEWEST_MISTAKES {
            vec![format!(
                "{} found, {FEWEST_MISTAKES} expected",
                mistakes.len()
            )]
        } else {
            Vec::new()
        };
        self.hold("there are planted mistakes", &enough);
        let mut built = None;
        for place in 0..=mistakes.len() {
            let build = async {
                match mistakes.get(place) {
                    Some(mistake) => self.planted(exercise, mistake, place % 2).await.map(Some),
                    None => Ok(None),
                }
            };
            let judge = async {
                match built.take() {
                    Some((mistake, planted)) => {
                        let faults = self.uncaught(exercise, mistake, planted).await?;
                        anyhow::Ok(Some((mistake, faults)))
                    }
                    None => Ok(None),
                }
            };
            let (next, judged) = tokio::join!(build, judge);
            if let Some((mistake, faults)) = judged? {
                let what = format!(
                    "mistake {} is caught by {}",
                    mistake.slug, mistake.caught_by
                );
                self.hold(&what, &faults);
            }
            built = mistakes.get(place).zip(next?);
        }
        Ok(())
    }

    async fn planted(
        &self,
        exercise: &Exercise,
        mistake: &Mistake,
        place: usize,
    ) -> anyhow::Result<Planted> {
        let package = format!("mistake-{}-{place}", exercise.number);
        let solution = exercise.solution(self.workspace);
        let copy = Copy::patched(self.workspace, &solution, &package, &mistake.patch)
            .await
            .with_context(|| format!("mistake {}", mistake.slug))?;
        let calls = exercise.calls();
        match build::launch(self.workspace, calls, copy.krate(), Profile::Check).await {
            Ok(launch) => Ok(Some((copy, launch))),
            Err(BuildError::DoesNotCompile { .. }) => Ok(None),
            Err(BuildError::CouldNotBuild(error)) => Err(error),
        }
    }

    async fn uncaught(
        &self,
        exercise: &Exercise,
        mistake: &Mistake,
        planted: Planted,
    ) -> anyhow::Result<Vec<String>> {
        let Some((_copy, launch)) = planted else {
            return Ok(vec!["it does not compile".to_owned()]);
        };
        let suites = self.catalogue.suites_for(exercise);
        let Some(test) = Phase::of_one_test(workshop_suites::all(), &suites, &mistake.caught_by)?
        else {
            return Ok(vec!["no suite of the exercise has that test".to_owned()]);
        };
        let place = Place {
            workspace: self.workspace,
            server: self.server,
            launch: &launch,
        };
        let report = judge_once(place, &test).await?;
        Ok(match report.outcome() {
            Outcome::Failed => Vec::new(),
            _ => vec!["that test passed".to_owned()],
        })
    }

    async fn kotlin(&mut self) -> anyhow::Result<()> {
        let launch = build::build(self.workspace, Target::Kotlin, Profile::Check).await?;
        let report = self.judged_launch(None, &launch).await;
        self.hold(
            "the Kotlin service keeps the whole contract",
            &green_faults(report)?,
        );
        Ok(())
    }

    fn book(&mut self) -> anyhow::Result<()> {
        let faults: Vec<String> = workshop_book::check::source(self.workspace)?
            .iter()
            .map(ToString::to_string)
            .collect();
        self.hold("the book's includes and minutes hold", &faults);
        Ok(())
    }
}

/// A crate that does not compile, or a service that does not start, is a fault of the files; all else is no verdict.
fn or_fault(report: anyhow::Result<Report>) -> anyhow::Result<Result<Report, Vec<String>>> {
    match report {
        Ok(report) => Ok(Ok(report)),
        Err(error) if error.is::<BuildError>() => Ok(Err(vec![error.to_string()])),
        Err(error) => Err(error),
    }
}

fn red_faults(exercise: &Exercise, report: anyhow::Result<Report>) -> anyhow::Result<Vec<String>> {
    let report = match or_fault(report)? {
        Ok(report) => report,
        Err(faults) => return Ok(faults),
    };
    report.print_unsteady();
    let mut undeclared = Vec::new();
    for judged in &report.tests {
        if let Verdict::Failed { failure, log } = &judged.verdict
            && !exercise.red.contains(&judged.test)
        {
            undeclared.push(format!("{} fails, but is not declared red", judged.test));
            undeclared.extend(failure.to_string().lines().map(|line| format!("  {line}")));
            undeclared.extend(log.lines().map(|line| format!("  | {line}")));
        }
    }
    let failed = report.failed();
    let unexpected = exercise.red.iter().filter(|test| !failed.contains(test));
    let unexpected = unexpected.map(|test| format!("{test} is declared red, but does not fail"));
    undeclared.extend(unexpected);
    Ok(undeclared)
}

fn green_faults(report: anyhow::Result<Report>) -> anyhow::Result<Vec<String>> {
    let report = match or_fault(report)? {
        Ok(report) => report,
        Err(faults) => return Ok(faults),
    };
    let failed = report.failed();
    if failed.is_empty() && !report.hung_on_shutdown {
        report.print_unsteady();
        return Ok(Vec::new());
    }
    report.print();
    Ok(if failed.is_empty() {
        vec!["it hung on shutdown".to_owned()]
    } else {
        failed
    })
}

/// The files that `cargo fmt` would change.
fn formatting_faults(workspace: &Workspace, packages: &[String]) -> anyhow::Result<Vec<String>> {
    let mut command = cargo_command();
    command.args(["fmt", "--check"]);
    for package in packages {
        command.args(["--package", package]);
    }
    let output = command
        .args(["--", "--files-with-diff"])
        .current_dir(workspace.root())
        .stdin(Stdio::null())
        .output()
        .context("cargo fmt cannot be run")?;
    let files = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() || !files.trim().is_empty() {
        let files = files.lines().map(|file| {
            let file = Path::new(file).strip_prefix(workspace.root());
            file.map_or_else(|_| files.clone(), |file| file.display().to_string())
        });
        return Ok(files
            .map(|file| format!("cargo fmt would change {file}"))
            .collect());
    }
    let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Trouble::new(format!("cargo fmt did not work:\n{words}"))
        .expected("rustfmt beside cargo")
        .next("rustup component add rustfmt; just doctor")
        .into())
}

/// What the compiler and clippy warn of.
fn clippy_faults(workspace: &Workspace, packages: &[String]) -> anyhow::Result<Vec<String>> {
    let mut command = cargo_command();
    command.args(["clippy", "--quiet", "--all-targets", "--keep-going"]);
    for package in packages {
        command.args(["--package", package]);
    }
    let output = command
        .arg("--target-dir")
        .arg(workspace.cargo_target())
        .args(["--", "--deny", "warnings"])
        .current_dir(workspace.root())
        .stdin(Stdio::null())
        .output()
        .context("cargo clippy cannot be run")?;
    if output.status.success() {
        return Ok(Vec::new());
    }
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok(words
        .lines()
        .filter(|line| line.starts_with("error") || line.contains("-->"))
        .map(str::to_owned)
        .collect())
}
