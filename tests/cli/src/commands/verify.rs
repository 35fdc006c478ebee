//! `just verify`: the author's gate. A starter is red exactly as declared, a reference is green, each planted mistake is
//! caught by what its file names and has a hint, the Kotlin service keeps the whole contract, and the files fit together.

use std::cell::{Cell, RefCell};
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
use workshop_base::outcome::{Outcome, Trouble};
use workshop_base::target::Target;
use workshop_base::terminal::{self, Style, paint};
use workshop_base::workspace::Workspace;
use workshop_base::{files, originals, scratch};
use workshop_harness::build::{self, BuildError, Profile, cargo_command, nginx};
use workshop_harness::copies::Copy;
use workshop_harness::plan::Phase;
use workshop_harness::report::{Report, Timings, Verdict};
use workshop_harness::run::judge_once;
use workshop_harness::scenarios::Place;
use workshop_postgres::Server;

/// Fewer planted mistakes do not show that the tests can fail.
const FEWEST_MISTAKES: usize = 2;

/// How many mistakes are in work at the same time: cargo builds one while others are judged, which mostly wait for a time limit.
const SIDE_BY_SIDE: usize = 8;

/// The same for mistakes that are judged in the copy that they were built in.
const IN_THEIR_COPIES: usize = 3;

/// Verifies one exercise, or all. After the tests nothing is linted once more, and neither the references nor the Kotlin service is
/// judged once more.
pub async fn run(workspace: &Workspace, which: &str, after_tests: bool) -> anyhow::Result<Outcome> {
    let catalogue = Catalogue::read(workspace)?;
    let server = Server::ensure(workspace).await?;
    println!("on {}", server.describe());
    let gate = Gate {
        workspace,
        server: &server,
        catalogue: &catalogue,
        after_tests,
        passed: Cell::default(),
        failed: Cell::default(),
        timings: RefCell::default(),
        since: Cell::new(Instant::now()),
    };
    for exercise in chosen(&catalogue, which)? {
        let title = format!("{} {}", exercise.name(), exercise.title);
        println!("{}", paint(Style::Strong, title));
        gate.exercise(exercise).await?;
    }
    println!("{}", paint(Style::Strong, "kotlin and the book"));
    if !after_tests {
        let faults = gate.judged(Target::Kotlin, green_faults).await?;
        gate.hold("the Kotlin service keeps the whole contract", faults);
    }
    gate.took("the Kotlin service");
    let faults = workshop_book::check::source(workspace)?;
    gate.hold(
        "the book's includes and minutes hold",
        faults.iter().map(ToString::to_string).collect(),
    );
    gate.took("the book");
    let (passed, failed) = (gate.passed.get(), gate.failed.get());
    println!("\n{}", gate.timings.borrow());
    println!("{passed} passed, {failed} failed");
    Ok(Outcome::of(failed == 0))
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

/// What is verified with, and what was found so far.
struct Gate<'a> {
    workspace: &'a Workspace,
    server: &'a Server,
    catalogue: &'a Catalogue,
    after_tests: bool,
    passed: Cell<usize>,
    failed: Cell<usize>,
    timings: RefCell<Timings>,
    since: Cell<Instant>,
}

impl Gate<'_> {
    /// Records and prints one finding: no faults is good.
    fn hold(&self, what: &str, faults: Vec<String>) {
        let count = match terminal::finding(what, faults.is_empty()) {
            true => &self.passed,
            false => &self.failed,
        };
        count.set(count.get() + 1);
        for fault in faults {
            println!("          {fault}");
        }
    }

    /// Counts the time since the last call for a part of the work.
    fn took(&self, part: &'static str) {
        let since = self.since.replace(Instant::now());
        self.timings.borrow_mut().add(part, since.elapsed());
    }

    /// What is wrong with a target once it is judged. That it does not compile is a fault as well; all other errors are no verdict.
    async fn judged(
        &self,
        target: Target,
        faults: impl FnOnce(&Report) -> Vec<String>,
    ) -> anyhow::Result<Vec<String>> {
        match check::judge(self.workspace, self.catalogue, target).await {
            Ok(report) => Ok(faults(&report)),
            Err(error) if error.is::<BuildError>() => Ok(vec![error.to_string()]),
            Err(error) => Err(error),
        }
    }

    async fn exercise(&self, exercise: &Exercise) -> anyhow::Result<()> {
        self.files(exercise)?;
        self.took("files");
        if exercise.is_rust() && !self.after_tests {
            self.hold(
                "starter and reference are formatted",
                self.formatting_faults(exercise)?,
            );
            self.hold(
                "starter and reference compile without warnings, clippy's included",
                self.clippy_faults(exercise)?,
            );
            self.took("lints");
        }
        if !self.after_tests || !exercise.is_crate() {
            let reference = Target::Solution(exercise.number);
            let faults = self.judged(reference, green_faults).await?;
            self.hold("the reference is green", faults);
            self.took("references");
        }
        // A red starter mostly waits for time limits.
        let starter = Target::Exercise(exercise.number);
        let starter = self.judged(starter, |report| red_faults(exercise, report));
        let (faults, mistakes) = tokio::join!(starter, self.mistakes(exercise));
        mistakes?;
        self.hold("the starter is red exactly as declared", faults?);
        self.took("starters and mistakes");
        Ok(())
    }

    /// What can be said without building anything.
    fn files(&self, exercise: &Exercise) -> anyhow::Result<()> {
        let (workspace, catalogue) = (self.workspace, self.catalogue);
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

    /// Plants each mistake in a copy of the reference, and judges the copy.
    async fn mistakes(&self, exercise: &Exercise) -> anyhow::Result<()> {
        let katas = match exercise.kind {
            Kind::Form => return Ok(()),
            Kind::Katas => Some(Katas::of(self.workspace, exercise)?),
            Kind::Crate => None,
        };
        let mistakes = Mistake::all(&exercise.solution(self.workspace))?;
        let count = mistakes.len();
        let few = format!("{count} found, {FEWEST_MISTAKES} expected");
        let few = Some(few).filter(|_| count < FEWEST_MISTAKES);
        self.hold("there are planted mistakes", few.into_iter().collect());
        let (copies, side_by_side) = match self.is_one_program(exercise) {
            true => (1, SIDE_BY_SIDE),
            false => (IN_THEIR_COPIES, IN_THEIR_COPIES),
        };
        let building = Mutex::new(());
        let judged = mistakes.iter().enumerate().map(async |(number, mistake)| {
            // One of the few places that cargo knows again.
            let package = format!("mistake-{}-{}", exercise.number, number % copies);
            let report = self.planted(exercise, katas.as_ref(), mistake, &package, &building);
            (mistake, report.await)
        });
        let mut judged = pin!(stream::iter(judged).buffered(side_by_side));
        while let Some((mistake, report)) = judged.next().await {
            self.caught(exercise, mistake, report)?;
        }
        Ok(())
    }

    /// What the kata says that a mistake is planted in, or the one test that the mistake names; of one that doesn't compile or start,
    /// what a check says of that.
    async fn planted(
        &self,
        exercise: &Exercise,
        katas: Option<&Katas<'_>>,
        mistake: &Mistake,
        package: &str,
        building: &Mutex<()>,
    ) -> anyhow::Result<Report> {
        let (workspace, slug) = (self.workspace, &mistake.slug);
        let turn = building.lock().await;
        let solution = exercise.solution(workspace);
        let copy = Copy::patched(workspace, &solution, package, &mistake.patch)
            .await
            .with_context(|| format!("mistake {slug}"))?;
        if let Some(katas) = katas {
            let judged = katas.judge_patched(workspace, copy.krate(), &mistake.patch);
            return judged.await;
        }
        let calls = exercise.calls();
        let mut launch = build::launch(workspace, calls, copy.krate(), Profile::Check).await?;
        let folder = scratch::folder_in_checkout(workspace, &format!("mistake-{slug}"))?;
        let _copy = match self.is_one_program(exercise) {
            true => {
                launch.program = folder.path().join("service");
                std::fs::copy(&launch.artifact, &launch.program)?;
                launch.artifact.clone_from(&launch.program);
                folder.path().clone_into(&mut launch.directory);
                drop(copy);
                None
            }
            false => Some(copy),
        };
        drop(turn);
        let test = match exercise.red.first() {
            Some(any) if !mistake.is_caught_by_a_test() => any,
            _ => &mistake.caught_by,
        };
        let suites = self.catalogue.suites_for(exercise);
        let phase = Phase::of_one_test(workshop_suites::all(), &suites, test)?;
        let phase = phase.with_context(|| {
            format!("mistake {slug}: no suite of the exercise has the test {test}")
        })?;
        let place = Place {
            workspace,
            server: self.server,
            launch: &launch,
        };
        judge_once(place, &phase).await
    }

    /// True when a reference is judged by its program alone. The program can be taken out of the copy that it was built in, and the
    /// next mistake is built there meanwhile.
    fn is_one_program(&self, exercise: &Exercise) -> bool {
        let nginx = exercise.solution(self.workspace).join(nginx::FOLDER);
        exercise.calls().is_none() && !nginx.is_dir()
    }

    /// A mistake has to be caught by what its file names, and the hint for that has to know it.
    fn caught(
        &self,
        exercise: &Exercise,
        mistake: &Mistake,
        report: anyhow::Result<Report>,
    ) -> anyhow::Result<()> {
        let check = check::outcome_of(Target::Solution(exercise.number), report)?;
        let hints = hints::of(self.workspace, exercise)?;
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

    /// Runs `cargo COMMAND --package … -- AFTER` for starter and reference.
    fn cargo(
        &self,
        exercise: &Exercise,
        command: &[&str],
        after: &[&str],
    ) -> anyhow::Result<Output> {
        let packages = [exercise.name(), exercise.reference_name()];
        let packages = packages.map(|package| format!("--package={package}"));
        let mut cargo = cargo_command();
        cargo.args(command).args(packages).arg("--").args(after);
        cargo
            .env("CARGO_TARGET_DIR", self.workspace.cargo_target())
            .current_dir(self.workspace.root())
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("cargo {} cannot be run", command[0]))
    }

    /// The files that `cargo fmt` would change.
    fn formatting_faults(&self, exercise: &Exercise) -> anyhow::Result<Vec<String>> {
        let output = self.cargo(exercise, &["fmt", "--check"], &["--files-with-diff"])?;
        let files = String::from_utf8_lossy(&output.stdout);
        if output.status.success() || !files.trim().is_empty() {
            let shown = |file| files::shown(self.workspace, Path::new(file));
            let told = files.lines().map(shown);
            return Ok(told
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
    fn clippy_faults(&self, exercise: &Exercise) -> anyhow::Result<Vec<String>> {
        let command = ["clippy", "--quiet", "--all-targets", "--keep-going"];
        let output = self.cargo(exercise, &command, &["--deny", "warnings"])?;
        let words = String::from_utf8_lossy(&output.stderr);
        let lines = words.lines().filter(|line| {
            !output.status.success() && (line.starts_with("error") || line.contains("-->"))
        });
        Ok(lines.map(str::to_owned).collect())
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
