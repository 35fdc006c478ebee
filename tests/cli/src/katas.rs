//! The katas of an exercise: small programs, each one file in the crate's `tests` with its own tests at the end. They are judged in
//! order, and the next one opens when those before it are green.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use tokio::process::Command;

use crate::state::{self, Fault, LastCheck};
use workshop_base::exercise::{Exercise, Kind};
use workshop_base::workspace::Workspace;
use workshop_base::{files, originals, patches};
use workshop_harness::build::{self, Crate};
use workshop_harness::failure::Failure;
use workshop_harness::report::{Report, TestStatus};

/// How long a test may run. Each of them is done in milliseconds, unless its code never ends.
const LIMIT: Duration = Duration::from_secs(5);

/// Runs a program with 2 GB of memory at most, so that a loop which collects something forever does no harm.
const WITHIN_MEMORY: &str = "ulimit -v 2097152 2>/dev/null; exec \"$0\" \"$@\"";

/// The katas of one exercise, as the course ships them.
pub struct Katas<'a> {
    /// The folder of the references, as it is shown.
    folder: String,
    limit: Duration,
    all: Vec<Kata<'a>>,
}

struct Kata<'a> {
    /// Relative to the crate's folder.
    file: &'a Path,
    tests: Vec<&'a str>,
    /// The tests' text, from the first of them to the end of the file.
    text: String,
}

/// How many katas were green at the last check; none where the exercise has no katas.
pub fn green(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<Option<usize>> {
    if exercise.kind != Kind::Katas {
        return Ok(None);
    }
    let last = state::recall(workspace, exercise).last_check;
    Ok(Some(Katas::of(workspace, exercise)?.green(last.as_ref())))
}

impl<'a> Katas<'a> {
    /// Reads them: each file of the edit list is one.
    pub fn of(workspace: &Workspace, exercise: &'a Exercise) -> anyhow::Result<Self> {
        let reference = originals::reference_files(workspace, exercise)?;
        let kata = |file: &'a PathBuf| {
            let text = patches::text(&reference, file);
            let start = text.find("#[test]").unwrap_or_default();
            let text = text[start..].to_owned();
            let tests = exercise.red.iter().map(String::as_str);
            let tests = tests.filter(|test| text.contains(&format!("fn {test}(")));
            let tests = tests.collect();
            Kata { file, tests, text }
        };
        Ok(Katas {
            folder: files::shown(workspace, &exercise.solution(workspace)),
            limit: LIMIT,
            all: exercise.edit.iter().map(kata).collect(),
        })
    }

    /// How many were green at a check: those before the first that it found something wrong with.
    fn green(&self, check: Option<&LastCheck>) -> usize {
        let Some(check) = check else { return 0 };
        if check.faults.is_empty() {
            return self.all.len();
        }
        let faulty = |kata: &Kata| check.faults.iter().any(|fault| kata.has(fault));
        self.all.iter().position(faulty).unwrap_or_default()
    }

    /// Judges those that were green before and the next one, and one more for each that turns out green.
    pub async fn judge_in_turn(
        &self,
        workspace: &Workspace,
        krate: &Crate,
        green_before: usize,
    ) -> anyhow::Result<Report> {
        let count = self.all.len();
        let mut open = count.min(green_before + 1);
        loop {
            let report = self.judge(workspace, krate, &self.all[..open]).await?;
            if !report.failed().is_empty() || open == count {
                return Ok(report);
            }
            open += 1;
        }
    }

    /// Judges all of them.
    pub async fn judge_all(&self, workspace: &Workspace, krate: &Crate) -> anyhow::Result<Report> {
        self.judge(workspace, krate, &self.all).await
    }

    /// Judges those that a patch changes.
    pub async fn judge_patched(
        &self,
        workspace: &Workspace,
        krate: &Crate,
        patch: &str,
    ) -> anyhow::Result<Report> {
        let mut patched = self.all.iter();
        let patched = patched.position(|kata| patch.contains(kata.name()));
        let place = patched.context("the patch changes no kata")?;
        self.judge(workspace, krate, &self.all[place..=place]).await
    }

    async fn judge(
        &self,
        workspace: &Workspace,
        krate: &Crate,
        katas: &[Kata<'_>],
    ) -> anyhow::Result<Report> {
        let mine = files::read_tree(&krate.folder)?;
        let is_whole = |kata: &&Kata| patches::text(&mine, kata.file).contains(&kata.text);
        let whole: Vec<&str> = katas.iter().filter(is_whole).map(Kata::name).collect();
        let programs = if whole.is_empty() {
            Vec::new()
        } else {
            build::tests(workspace, krate, &whole).await?
        };
        let mut report = Report::new(&krate.package);
        for kata in katas {
            let program = programs.iter().find(|program| kata.is_built_as(program));
            for test in &kata.tests {
                let status = match program {
                    Some(program) => run(program, test, self.limit).await?,
                    None => failed(
                        format!("the tests of {} as they were", kata.file.display()),
                        format!(
                            "other tests, or none; copy everything from the first #[test] to the end from {}/{}",
                            self.folder,
                            kata.file.display()
                        ),
                    ),
                };
                report.add(kata.name(), test, status);
            }
        }
        Ok(report)
    }
}

impl Kata<'_> {
    /// What cargo calls it.
    fn name(&self) -> &str {
        let name = self.file.file_stem().and_then(|name| name.to_str());
        name.unwrap_or_default()
    }

    /// True where a check found this wrong with it.
    fn has(&self, fault: &Fault) -> bool {
        self.tests.contains(&fault.name.as_str()) || fault.said.contains(self.name())
    }

    /// Cargo adds a hash to the name.
    fn is_built_as(&self, program: &Path) -> bool {
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        name.rsplit_once('-')
            .is_some_and(|(name, _)| name == self.name())
    }
}

/// Runs one test of a program, and ends it if it does not end.
async fn run(program: &Path, test: &str, limit: Duration) -> anyhow::Result<TestStatus> {
    let mut command = Command::new("sh");
    command
        .args(["-c", WITHIN_MEMORY])
        .arg(program)
        .args(["--exact", test, "--nocapture"])
        .env("RUST_BACKTRACE", "0")
        .kill_on_drop(true);
    let Ok(output) = tokio::time::timeout(limit, command.output()).await else {
        return Ok(failed(
            format!("an end within {limit:?}"),
            "it was still running, and was stopped: a loop that never ends, or a lock that is never free",
        ));
    };
    let output = output.with_context(|| format!("cannot run {}", program.display()))?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    if output.status.success() && stdout.contains("1 passed") {
        return Ok(TestStatus::Passed);
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let said = stderr
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with("note: run with"));
    let said = said.collect::<Vec<_>>().join("\n");
    // Before it is the thread, which is called as the test.
    let said = match said.find("panicked at") {
        Some(panic) => said[panic..].to_owned(),
        None if output.status.success() => {
            "the test was not run: something above it switches it off".to_owned()
        }
        None if said.is_empty() => output.status.to_string(),
        None => said,
    };
    Ok(failed("the test to pass", said))
}

/// A failure, with the lines of a longer text below one another.
fn failed(expected: impl Into<String>, actual: impl Into<String>) -> TestStatus {
    let actual = actual.into().replace('\n', "\n          ");
    TestStatus::Failed {
        failure: Failure::new(expected, actual),
        log: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;
    use workshop_base::exercise::Catalogue;
    use workshop_base::target::Target;

    use super::*;

    fn kata(answer: &str, test: &str) -> String {
        format!(
            "fn answer() -> i32 {{\n    {answer}\n}}\n\n#[test]\nfn {test}() {{\n    assert_eq!(answer(), 42);\n}}\n"
        )
    }

    /// What a check of these two katas says, by test; what did not run is not in it.
    async fn judged(katas: [&str; 2]) -> anyhow::Result<Vec<(String, String)>> {
        let folder = TempDir::new()?;
        let workspace = Workspace::at(folder.path());
        fs::write(
            folder.path().join("Cargo.toml"),
            "[workspace]\nresolver = \"3\"\nmembers = [\"exercises/00-two\", \"solutions/00-two\"]\n",
        )?;
        let files = [
            (
                "solutions",
                "solution-0",
                [&kata("42", "a"), &kata("42", "b")],
            ),
            (
                "exercises",
                "exercise-0",
                [&katas[0].to_owned(), &katas[1].to_owned()],
            ),
        ];
        for (place, package, [first, second]) in files {
            let place = folder.path().join(place).join("00-two");
            fs::create_dir_all(place.join("tests"))?;
            fs::write(
                place.join("Cargo.toml"),
                format!("[package]\nname = \"{package}\"\nedition = \"2024\"\n"),
            )?;
            fs::write(place.join("tests/kata_1.rs"), first)?;
            fs::write(place.join("tests/kata_2.rs"), second)?;
            fs::write(
                place.join("exercise.toml"),
                "number = 0\nslug = \"two\"\ntitle = \"Two\"\nkind = \"katas\"\nred = [\"a\", \"b\"]\n\
                 edit = [\"tests/kata_1.rs\", \"tests/kata_2.rs\"]\n\
                 [minutes]\nreading = 1\ndoing = 1\nreviewing = 1\n",
            )?;
        }
        let catalogue = Catalogue::read(&workspace)?;
        let exercise = catalogue.get(0)?;
        let mut katas = Katas::of(&workspace, exercise)?;
        katas.limit = Duration::from_secs(1);
        let krate = Crate::of(&workspace, exercise, Target::Exercise(0));
        let report = katas.judge_in_turn(&workspace, &krate, 0).await?;
        let said = |status| match status {
            TestStatus::Passed => "green".to_owned(),
            TestStatus::NotJudged(lack) => lack,
            TestStatus::Failed { failure, .. } => failure.actual,
        };
        let tests = report.tests.into_iter();
        Ok(tests
            .map(|judged| (judged.test, said(judged.status)))
            .collect())
    }

    #[tokio::test]
    async fn the_next_kata_opens_when_the_one_before_is_green() -> anyhow::Result<()> {
        let found = judged([&kata("42", "a"), &kata("todo!()", "b")]).await?;
        assert_eq!(found[0], ("a".to_owned(), "green".to_owned()));
        assert!(found[1].1.contains("not yet implemented"), "{found:?}");
        let found = judged([
            &kata("todo!()", "a"),
            "a kata that is not open need not compile",
        ])
        .await?;
        assert_eq!(found.len(), 1, "{found:?}");
        Ok(())
    }

    #[tokio::test]
    async fn a_loop_without_an_end_and_a_test_that_is_gone_or_switched_off_are_named()
    -> anyhow::Result<()> {
        let ignored = kata("42", "a").replace("#[test]", "#[ignore]\n#[test]");
        let emptied = kata("42", "a").replace("assert_eq!(answer(), 42);", "");
        for (mine, words) in [
            (kata("loop {}", "a"), "still running"),
            (ignored, "was not run"),
            (emptied, "other tests, or none"),
            ("fn answer() {}\n".to_owned(), "other tests, or none"),
        ] {
            let found = judged([&mine, ""]).await?;
            assert!(found[0].1.contains(words), "{mine}: {found:?}");
        }
        Ok(())
    }
}
