//! `just verify`: the author's gate. A starter is red exactly as declared, a reference is green, each planted mistake is
//! caught by what its file names and has a hint, the Kotlin service keeps the whole contract, and the files fit together.

use std::future;
use std::path::Path;
use std::process::{Output, Stdio};

use anyhow::Context;
use futures_util::StreamExt;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesOrdered;
use tokio::sync::{Mutex, Semaphore};

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
use workshop_harness::build::launch::Launch;
use workshop_harness::build::{self, BuildError, Profile, cargo_command, nginx};
use workshop_harness::copies::Copy;
use workshop_harness::plan::Phase;
use workshop_harness::report::{Report, Verdict};
use workshop_harness::run::judge_mistake;
use workshop_harness::scenarios::Place;
use workshop_postgres::Server;

/// Fewer planted mistakes do not show that the tests can fail.
const FEWEST_MISTAKES: usize = 2;

/// How many findings are in work at the same time: cargo builds for one while others are judged, which mostly wait for a time limit.
const SIDE_BY_SIDE: usize = 8;

/// The same for mistakes that are judged in the copy that they were built in.
const COPIES: usize = 3;

/// Verifies one exercise, or all. After the tests nothing is linted once more, and neither the references nor the Kotlin service is
/// judged once more.
pub async fn run(workspace: &Workspace, which: &str, after_tests: bool) -> anyhow::Result<Outcome> {
    let catalogue = Catalogue::read(workspace)?;
    // A slip is answered before a server is started for it.
    let exercises = chosen(&catalogue, which)?;
    let server = Server::ensure(workspace).await?;
    println!("on {}", server.describe());
    let gate = Gate {
        workspace,
        server: &server,
        catalogue: &catalogue,
        after_tests,
        building: Mutex::default(),
        copies: Default::default(),
    };
    let mut looks = Vec::new();
    for exercise in exercises {
        let title = format!("{} {}", exercise.name(), exercise.title);
        let of_exercise = gate.of_exercise(exercise)?.into_iter();
        looks.extend(of_exercise.map(|look| (title.clone(), look)));
    }
    let of_all = gate.of_all().into_iter();
    looks.extend(of_all.map(|look| ("kotlin and the book".to_owned(), look)));

    let turns = Semaphore::new(SIDE_BY_SIDE);
    let looks = looks.into_iter().map(async |(title, look)| {
        let _turn = turns.acquire().await?;
        anyhow::Ok((title, look.await?))
    });
    // What was found is told in the order of the exercises, whatever was found first.
    let mut found: FuturesOrdered<_> = looks.collect();
    let (mut shown, mut passed, mut failed) = (String::new(), 0, 0);
    while let Some(found) = found.next().await {
        let (title, findings) = found?;
        if shown != title {
            println!("{}", paint(Style::Strong, &title));
            shown = title;
        }
        for (what, faults) in findings {
            match terminal::finding(&what, faults.is_empty()) {
                true => passed += 1,
                false => failed += 1,
            }
            for fault in faults {
                println!("          {fault}");
            }
        }
    }
    println!("\n{passed} passed, {failed} failed");
    Ok(Outcome::of(failed == 0))
}

/// What has to hold, and what is wrong with it: nothing is good.
type Finding = (String, Vec<String>);

/// A look at something, begun when its turn comes.
type Look<'a> = LocalBoxFuture<'a, anyhow::Result<Vec<Finding>>>;

fn finding(what: &str, faults: Vec<String>) -> Finding {
    (what.to_owned(), faults)
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

/// What is verified, and with what.
struct Gate<'a> {
    workspace: &'a Workspace,
    server: &'a Server,
    catalogue: &'a Catalogue,
    after_tests: bool,
    /// Held while a mistake is planted and built.
    building: Mutex<()>,
    /// Held while a mistake is judged in the copy that it was built in.
    copies: [Mutex<()>; COPIES],
}

impl<'a> Gate<'a> {
    /// What is looked at in an exercise.
    fn of_exercise(&'a self, exercise: &'a Exercise) -> anyhow::Result<Vec<Look<'a>>> {
        let mut looks: Vec<Look> = vec![Box::pin(async { self.files(exercise) })];
        if exercise.is_rust() && !self.after_tests {
            looks.push(Box::pin(async { self.lints(exercise) }));
        }
        if !self.after_tests || !exercise.is_crate() {
            looks.push(Box::pin(self.reference(exercise)));
        }
        looks.push(Box::pin(self.starter(exercise)));
        if exercise.kind != Kind::Form {
            let mistakes = Mistake::all(&exercise.solution(self.workspace))?;
            let count = mistakes.len();
            let few = format!("{count} found, {FEWEST_MISTAKES} expected");
            let few = Some(few).filter(|_| count < FEWEST_MISTAKES);
            let few = finding("there are planted mistakes", few.into_iter().collect());
            looks.push(Box::pin(future::ready(Ok(vec![few]))));
            for (number, mistake) in mistakes.into_iter().enumerate() {
                looks.push(Box::pin(self.mistake(exercise, mistake, number % COPIES)));
            }
        }
        Ok(looks)
    }

    /// What is looked at beside the exercises.
    fn of_all(&'a self) -> Vec<Look<'a>> {
        let book: Look = Box::pin(async {
            let faults = workshop_book::check::source(self.workspace)?;
            let faults = faults.iter().map(ToString::to_string).collect();
            Ok(vec![finding(
                "the book's includes and minutes hold",
                faults,
            )])
        });
        if self.after_tests {
            return vec![book];
        }
        let kotlin: Look = Box::pin(async {
            let faults = self.judged(Target::Kotlin, green_faults).await?;
            let what = "the Kotlin service keeps the whole contract";
            Ok(vec![finding(what, faults)])
        });
        vec![kotlin, book]
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

    /// What can be said without building anything.
    fn files(&self, exercise: &Exercise) -> anyhow::Result<Vec<Finding>> {
        let (workspace, catalogue) = (self.workspace, self.catalogue);
        let reference = originals::reference(workspace, exercise)?;
        let starter = originals::in_place(workspace, exercise)?;
        let hints = hints::of(workspace, exercise)?;
        let mut found = vec![
            finding(
                "starter and reference differ in the files of the edit list only",
                originals::strays(exercise, &reference, &starter),
            ),
            finding(
                "starter.patch makes the starter from the reference",
                originals::patch_faults(workspace, exercise)?,
            ),
            finding(
                "every change is carried to what grows from it",
                chain::not_carried(workspace, catalogue, exercise)?,
            ),
            finding(
                "every test that is red has its hints",
                hints[0].missing(&exercise.red),
            ),
        ];
        if let Some(grows_from) = &exercise.grows_from {
            found.push(finding(
                "the starter is the reference before it, but for edit and given",
                chain::unannounced(workspace, catalogue, exercise, grows_from)?,
            ));
        }
        Ok(found)
    }

    fn lints(&self, exercise: &Exercise) -> anyhow::Result<Vec<Finding>> {
        Ok(vec![
            finding(
                "starter and reference are formatted",
                self.formatting_faults(exercise)?,
            ),
            finding(
                "starter and reference compile without warnings, clippy's included",
                self.clippy_faults(exercise)?,
            ),
        ])
    }

    async fn reference(&self, exercise: &Exercise) -> anyhow::Result<Vec<Finding>> {
        let reference = Target::Solution(exercise.number);
        let faults = self.judged(reference, green_faults).await?;
        Ok(vec![finding("the reference is green", faults)])
    }

    async fn starter(&self, exercise: &Exercise) -> anyhow::Result<Vec<Finding>> {
        let starter = Target::Exercise(exercise.number);
        let faults = self.judged(starter, |report| red_faults(exercise, report));
        let what = "the starter is red exactly as declared";
        Ok(vec![finding(what, faults.await?)])
    }

    /// Plants a mistake in a copy of the reference, and judges that.
    async fn mistake(
        &self,
        exercise: &Exercise,
        mistake: Mistake,
        copy: usize,
    ) -> anyhow::Result<Vec<Finding>> {
        let report = match exercise.kind {
            Kind::Katas => self.planted_in_kata(exercise, &mistake).await,
            _ if self.is_one_program(exercise) => self.planted(exercise, &mistake).await,
            _ => self.planted_in_copy(exercise, &mistake, copy).await,
        };
        let faults = self.not_caught(exercise, &mistake, report)?;
        let (slug, caught_by) = (&mistake.slug, &mistake.caught_by);
        let what = format!("mistake {slug} is caught by {caught_by}, with a hint");
        Ok(vec![(what, faults)])
    }

    /// What the kata says that a mistake is planted in.
    async fn planted_in_kata(
        &self,
        exercise: &Exercise,
        mistake: &Mistake,
    ) -> anyhow::Result<Report> {
        let katas = Katas::of(self.workspace, exercise)?;
        let _turn = self.building.lock().await;
        let copy = self.patched(exercise, mistake, 0).await?;
        let (krate, patch) = (copy.krate(), &mistake.patch);
        katas.judge_patched(self.workspace, krate, patch).await
    }

    /// What is said of a mistake by the program that was built with it. The next one is built in the same copy meanwhile.
    async fn planted(&self, exercise: &Exercise, mistake: &Mistake) -> anyhow::Result<Report> {
        let slug = &mistake.slug;
        let folder = scratch::folder_in_checkout(self.workspace, &format!("mistake-{slug}"))?;
        let turn = self.building.lock().await;
        let copy = self.patched(exercise, mistake, 0).await?;
        let mut launch = self.built(exercise, &copy).await?;
        launch.program = folder.path().join("service");
        std::fs::copy(&launch.artifact, &launch.program)?;
        launch.artifact.clone_from(&launch.program);
        folder.path().clone_into(&mut launch.directory);
        drop((copy, turn));
        self.judged_by_its_test(exercise, mistake, &launch).await
    }

    /// The same of one that is judged in the copy that it was built in.
    async fn planted_in_copy(
        &self,
        exercise: &Exercise,
        mistake: &Mistake,
        copy: usize,
    ) -> anyhow::Result<Report> {
        let _mine = self.copies[copy].lock().await;
        let turn = self.building.lock().await;
        let copy = self.patched(exercise, mistake, copy).await?;
        let launch = self.built(exercise, &copy).await?;
        drop(turn);
        self.judged_by_its_test(exercise, mistake, &launch).await
    }

    /// A copy of the reference with a mistake in it, in one of the few places that cargo knows again.
    async fn patched(
        &self,
        exercise: &Exercise,
        mistake: &Mistake,
        number: usize,
    ) -> anyhow::Result<Copy> {
        let package = format!("mistake-{}-{number}", exercise.number);
        let solution = exercise.solution(self.workspace);
        Copy::patched(self.workspace, &solution, &package, &mistake.patch)
            .await
            .with_context(|| format!("mistake {}", mistake.slug))
    }

    async fn built(&self, exercise: &Exercise, copy: &Copy) -> anyhow::Result<Launch> {
        let (calls, profile) = (exercise.calls(), Profile::Check);
        Ok(build::launch(self.workspace, calls, copy.krate(), profile).await?)
    }

    /// What the one test says that the mistake names; of one that doesn't compile or start, what a check says of that.
    async fn judged_by_its_test(
        &self,
        exercise: &Exercise,
        mistake: &Mistake,
        launch: &Launch,
    ) -> anyhow::Result<Report> {
        let test = match exercise.red.first() {
            Some(any) if !mistake.is_caught_by_a_test() => any,
            _ => &mistake.caught_by,
        };
        let suites = self.catalogue.suites_for(exercise);
        let phase = Phase::of_one_test(workshop_suites::all(), &suites, test)?;
        let phase = phase.with_context(|| {
            let slug = &mistake.slug;
            format!("mistake {slug}: no suite of the exercise has the test {test}")
        })?;
        let place = Place {
            workspace: self.workspace,
            server: self.server,
            launch,
        };
        judge_mistake(place, &phase).await
    }

    /// True when a reference is judged by its program alone. The program can be taken out of the copy that it was built in, and the
    /// next mistake is built there meanwhile.
    fn is_one_program(&self, exercise: &Exercise) -> bool {
        let nginx = exercise.solution(self.workspace).join(nginx::FOLDER);
        exercise.calls().is_none() && !nginx.is_dir()
    }

    /// A mistake has to be caught by what its file names, and the hint for that has to know it.
    fn not_caught(
        &self,
        exercise: &Exercise,
        mistake: &Mistake,
        report: anyhow::Result<Report>,
    ) -> anyhow::Result<Vec<String>> {
        let check = check::outcome_of(Target::Solution(exercise.number), report)?;
        let hints = hints::of(self.workspace, exercise)?;
        let mut faults = Vec::new();
        let mut found = check.faults.iter();
        if !found.any(|fault| fault.name == mistake.caught_by) {
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
        Ok(faults)
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
