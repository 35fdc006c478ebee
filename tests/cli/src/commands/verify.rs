//! `just verify`: the author's gate. A starter is red exactly as declared, a reference is green, each planted mistake is
//! caught by what its file names and has a hint, the Kotlin service keeps the whole contract, and the files fit together.

use std::path::Path;
use std::pin::pin;
use std::process::{Output, Stdio};
use std::time::Instant;

use anyhow::Context;
use futures_util::{StreamExt, stream};
use tokio::sync::Mutex;

use crate::commands::check;
use crate::katas::Katas;
use crate::mistakes::Mistake;
use crate::{chain, hints};
use workshop_base::exercise::{Catalogue, Exercise, Kind};
use workshop_base::originals;
use workshop_base::outcome::{Outcome, Trouble};
use workshop_base::target::Target;
use workshop_base::terminal::{self, Style, paint};
use workshop_base::workspace::Workspace;
use workshop_harness::build::{self, BuildError, Launch, Profile, cargo_command};
use workshop_harness::copies::Copy;
use workshop_harness::plan::Phase;
use workshop_harness::report::{Report, Timings, Verdict};
use workshop_harness::run::judge_once;
use workshop_harness::scenarios::Place;
use workshop_postgres::Server;

/// Fewer planted mistakes do not show that the tests can fail.
const FEWEST_MISTAKES: usize = 2;

/// How many mistakes are in work at the same time: cargo builds one while others are judged.
const SIDE_BY_SIDE: usize = 3;

/// Verifies one exercise, or all. After the tests nothing is linted once more, and neither the references nor the Kotlin service is
/// judged once more.
pub async fn run(workspace: &Workspace, which: &str, after_tests: bool) -> anyhow::Result<Outcome> {
    let catalogue = Catalogue::read(workspace)?;
    let exercises = chosen(&catalogue, which)?;
    let server = Server::ensure(workspace).await?;
    println!("on {}", server.describe());
    let judge = Judge {
        workspace,
        server: &server,
        catalogue: &catalogue,
    };
    let mut gate = Gate {
        judge,
        after_tests,
        passed: 0,
        failed: 0,
        timings: Timings::default(),
        since: Instant::now(),
    };
    for exercise in exercises {
        let title = format!("{} {}", exercise.name(), exercise.title);
        println!("{}", paint(Style::Strong, title));
        gate.exercise(exercise).await?;
    }
    println!("{}", paint(Style::Strong, "kotlin and the book"));
    if !after_tests {
        let report = judge.target(Target::Kotlin, None).await;
        gate.hold(
            "the Kotlin service keeps the whole contract",
            faults_of(report, green_faults)?,
        );
    }
    gate.took("the Kotlin service");
    let faults = workshop_book::check::source(workspace)?;
    gate.hold(
        "the book's includes and minutes hold",
        faults.iter().map(ToString::to_string).collect(),
    );
    gate.took("the book");
    println!("\n{}", gate.timings);
    println!("{} passed, {} failed", gate.passed, gate.failed);
    Ok(Outcome::of(gate.failed == 0))
}

fn chosen<'a>(catalogue: &'a Catalogue, which: &str) -> anyhow::Result<Vec<&'a Exercise>> {
    if which == "all" {
        return Ok(catalogue.iter().collect());
    }
    let why = match which.parse() {
        Ok(Target::Exercise(number)) => return Ok(vec![catalogue.get(number)?]),
        Ok(other) => format!("{other} cannot be verified"),
        Err(why) => why,
    };
    Trouble::new(why)
        .expected(format!("all, or one of: {}", catalogue.names().join(", ")))
        .next("just verify all")
        .err()
}

struct Gate<'a> {
    judge: Judge<'a>,
    after_tests: bool,
    passed: usize,
    failed: usize,
    timings: Timings,
    since: Instant,
}

impl Gate<'_> {
    /// Records and prints one finding: no faults is good.
    fn hold(&mut self, what: &str, faults: Vec<String>) {
        if terminal::finding(what, faults.is_empty()) {
            self.passed += 1;
        } else {
            self.failed += 1;
        }
        for fault in faults {
            println!("          {fault}");
        }
    }

    async fn exercise(&mut self, exercise: &Exercise) -> anyhow::Result<()> {
        self.files(exercise)?;
        self.took("files");
        let starter = Target::Exercise(exercise.number);
        let reference = Target::Solution(exercise.number);
        let judge = self.judge;
        if exercise.is_rust() && !self.after_tests {
            let packages = [starter, reference].map(|target| target.to_string());
            self.hold(
                "starter and reference are formatted",
                formatting_faults(judge.workspace, &packages)?,
            );
            self.hold(
                "starter and reference compile without warnings, clippy's included",
                clippy_faults(judge.workspace, &packages)?,
            );
            self.took("lints");
        }
        if !self.after_tests || !exercise.is_crate() {
            let report = judge.target(reference, Some(exercise)).await;
            self.hold("the reference is green", faults_of(report, green_faults)?);
            self.took("references");
        }
        // A red starter mostly waits for time limits.
        let starter = judge.target(starter, Some(exercise));
        let (report, mistakes) = tokio::join!(starter, self.mistakes(exercise));
        mistakes?;
        self.hold(
            "the starter is red exactly as declared",
            faults_of(report, |report| red_faults(exercise, report))?,
        );
        self.took("starters and mistakes");
        Ok(())
    }

    /// What can be said without building anything.
    fn files(&mut self, exercise: &Exercise) -> anyhow::Result<()> {
        let Judge {
            workspace,
            catalogue,
            ..
        } = self.judge;
        let reference = originals::reference(workspace, exercise)?;
        let starter = originals::in_place(workspace, exercise)?;
        self.hold(
            "starter and reference differ in the files of the edit list only",
            originals::strays(exercise, &reference, &starter),
        );
        self.hold(
            "starter.patch makes the starter from the reference",
            originals::patch_faults(workspace, exercise)?,
        );
        self.hold(
            "every change is carried to what grows from it",
            chain::not_carried(workspace, catalogue, exercise)?,
        );
        if let Some(grows_from) = &exercise.grows_from {
            self.hold(
                "the starter is the reference before it, but for edit and given",
                chain::unannounced(workspace, catalogue, exercise, grows_from)?,
            );
        }
        let hints = hints::of(workspace, exercise)?;
        self.hold(
            "every test that is red has its hints",
            hints[0].missing(&exercise.red),
        );
        Ok(())
    }

    /// Counts the time since the last call for a part of the work.
    fn took(&mut self, part: &'static str) {
        self.timings.add(part, self.since.elapsed());
        self.since = Instant::now();
    }

    async fn mistakes(&mut self, exercise: &Exercise) -> anyhow::Result<()> {
        match exercise.kind {
            Kind::Crate => self.mistakes_in_crate(exercise).await,
            Kind::Katas => self.mistakes_in_katas(exercise).await,
            Kind::Form => Ok(()),
        }
    }

    async fn mistakes_in_crate(&mut self, exercise: &Exercise) -> anyhow::Result<()> {
        let judge = self.judge;
        let mistakes = Mistake::all(&exercise.solution(judge.workspace))?;
        let count = mistakes.len();
        let few = format!("{count} found, {FEWEST_MISTAKES} expected");
        let few = Some(few).filter(|_| count < FEWEST_MISTAKES);
        self.hold("there are planted mistakes", few.into_iter().collect());
        let building = Mutex::new(());
        let judged = mistakes.iter().enumerate().map(async |(number, mistake)| {
            let built = {
                let _turn = building.lock().await;
                judge
                    .planted(exercise, mistake, number % SIDE_BY_SIDE)
                    .await
            };
            (mistake, judge.mistake(exercise, mistake, built).await)
        });
        let mut judged = pin!(stream::iter(judged).buffered(SIDE_BY_SIDE));
        while let Some((mistake, report)) = judged.next().await {
            self.caught(exercise, mistake, report)?;
        }
        Ok(())
    }

    /// Plants each mistake in its kata.
    async fn mistakes_in_katas(&mut self, exercise: &Exercise) -> anyhow::Result<()> {
        let workspace = self.judge.workspace;
        let solution = exercise.solution(workspace);
        let katas = Katas::of(workspace, exercise)?;
        for mistake in Mistake::all(&solution)? {
            let copy = Copy::patched(workspace, &solution, "mistake-0", &mistake.patch).await?;
            let report = katas.judge_patched(workspace, copy.krate(), &mistake.patch);
            self.caught(exercise, &mistake, report.await)?;
        }
        Ok(())
    }

    /// A mistake has to be caught by what its file names, and the hint for that has to know it.
    fn caught(
        &mut self,
        exercise: &Exercise,
        mistake: &Mistake,
        report: anyhow::Result<Report>,
    ) -> anyhow::Result<()> {
        let check = check::outcome_of(Target::Solution(exercise.number), report)?;
        let hints = hints::of(self.judge.workspace, exercise)?;
        let caught_by = &mistake.caught_by;
        let mut faults = Vec::new();
        if !check.faults.iter().any(|fault| fault.name == *caught_by) {
            faults.push(format!("the check found {:?}", check.faults));
        }
        let words = mistake.hint.as_deref().unwrap_or_default();
        match hints::choose(&hints, &check) {
            Some((_, section)) if section.is_own() && section.says(words) => {}
            Some((_, section)) if section.is_own() => faults.push(format!(
                "its hint is for {:?}, and levels 1 and 2 don't say {words:?}",
                section.heading
            )),
            _ => faults.push("no hint is for it".to_owned()),
        }
        let slug = &mistake.slug;
        let what = format!("mistake {slug} is caught by {caught_by}, with a hint");
        self.hold(&what, faults);
        Ok(())
    }
}

/// Has targets and mistakes built and judged.
#[derive(Clone, Copy)]
struct Judge<'a> {
    workspace: &'a Workspace,
    server: &'a Server,
    catalogue: &'a Catalogue,
}

impl Judge<'_> {
    async fn target(self, target: Target, exercise: Option<&Exercise>) -> anyhow::Result<Report> {
        if let Some(alone) = exercise.filter(|exercise| !exercise.is_crate()) {
            return check::judge_alone(self.workspace, alone, target).await;
        }
        let launch = build::build(self.workspace, target, Profile::Check).await?;
        check::judge_launch(self.place(&launch), self.catalogue, exercise).await
    }

    fn place<'l>(&'l self, launch: &'l Launch) -> Place<'l> {
        Place {
            workspace: self.workspace,
            server: self.server,
            launch,
        }
    }

    /// The reference with a mistake, in one of the few places that cargo knows again, and how it is started.
    async fn planted(
        self,
        exercise: &Exercise,
        mistake: &Mistake,
        place: usize,
    ) -> anyhow::Result<(Copy, Launch)> {
        let package = format!("mistake-{}-{place}", exercise.number);
        let solution = exercise.solution(self.workspace);
        let copy = Copy::patched(self.workspace, &solution, &package, &mistake.patch)
            .await
            .with_context(|| format!("mistake {}", mistake.slug))?;
        let calls = exercise.calls();
        let launch = build::launch(self.workspace, calls, copy.krate(), Profile::Check).await?;
        Ok((copy, launch))
    }

    /// What the one test says that a mistake names; of one that doesn't compile or start, what a check says of that.
    async fn mistake(
        self,
        exercise: &Exercise,
        mistake: &Mistake,
        built: anyhow::Result<(Copy, Launch)>,
    ) -> anyhow::Result<Report> {
        let (_copy, launch) = built?;
        let suites = self.catalogue.suites_for(exercise);
        let any = exercise.red.first().unwrap_or(&mistake.caught_by);
        let test = match mistake.is_caught_by_a_test() {
            true => &mistake.caught_by,
            false => any,
        };
        let phase = Phase::of_one_test(workshop_suites::all(), &suites, test)?;
        let phase = phase.with_context(|| {
            let slug = &mistake.slug;
            format!("mistake {slug}: no suite of the exercise has the test {test}")
        })?;
        judge_once(self.place(&launch), &phase).await
    }
}

/// What is wrong with a judged target. One that does not compile is a fault as well; all other errors are no verdict.
fn faults_of(
    report: anyhow::Result<Report>,
    judge: impl FnOnce(&Report) -> Vec<String>,
) -> anyhow::Result<Vec<String>> {
    match report {
        Ok(report) => Ok(judge(&report)),
        Err(error) if error.is::<BuildError>() => Ok(vec![error.to_string()]),
        Err(error) => Err(error),
    }
}

fn red_faults(exercise: &Exercise, report: &Report) -> Vec<String> {
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
    undeclared
}

fn green_faults(report: &Report) -> Vec<String> {
    let mut faults = report.failed();
    if faults.is_empty() && report.hung_on_shutdown {
        faults.push("it hung on shutdown".to_owned());
    }
    if faults.is_empty() {
        report.print_unsteady();
    } else {
        report.print();
    }
    faults
}

/// Runs `cargo COMMAND --package … -- AFTER` in the checkout.
fn cargo(
    workspace: &Workspace,
    command: &[&str],
    packages: &[String],
    after: &[&str],
) -> anyhow::Result<Output> {
    let packages = packages
        .iter()
        .map(|package| format!("--package={package}"));
    let mut cargo = cargo_command();
    cargo.args(command).args(packages).arg("--").args(after);
    cargo
        .env("CARGO_TARGET_DIR", workspace.cargo_target())
        .current_dir(workspace.root())
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cargo {} cannot be run", command[0]))
}

/// The files that `cargo fmt` would change.
fn formatting_faults(workspace: &Workspace, packages: &[String]) -> anyhow::Result<Vec<String>> {
    let output = cargo(
        workspace,
        &["fmt", "--check"],
        packages,
        &["--files-with-diff"],
    )?;
    let files = String::from_utf8_lossy(&output.stdout);
    if output.status.success() || !files.trim().is_empty() {
        let shown = |file| workshop_base::files::shown(workspace, Path::new(file));
        let files = files.lines().map(shown);
        return Ok(files
            .map(|file| format!("cargo fmt would change {file}"))
            .collect());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    Trouble::new(format!("cargo fmt did not work:\n{}", words.trim()))
        .expected("rustfmt beside cargo")
        .next("rustup component add rustfmt; just doctor")
        .err()
}

/// What the compiler and clippy warn of.
fn clippy_faults(workspace: &Workspace, packages: &[String]) -> anyhow::Result<Vec<String>> {
    let output = cargo(
        workspace,
        &["clippy", "--quiet", "--all-targets", "--keep-going"],
        packages,
        &["--deny", "warnings"],
    )?;
    let words = String::from_utf8_lossy(&output.stderr);
    let lines = words.lines().filter(|line| {
        !output.status.success() && (line.starts_with("error") || line.contains("-->"))
    });
    Ok(lines.map(str::to_owned).collect())
}
