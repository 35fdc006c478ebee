//! Adding an exercise, as CONTRIBUTING.md says: `new-exercise` adds exercise 99 to a copy of the checkout, and without another line by
//! hand the author's gate and the book's check find nothing missing.

#![expect(
    clippy::expect_used,
    reason = "the helpers of a test may fail as the test itself may"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::editors;

/// A copy of the checkout, with a target folder that begins with what is built already.
struct Copy {
    folder: tempfile::TempDir,
}

impl Copy {
    fn new() -> Copy {
        let copy = Copy {
            folder: tempfile::tempdir().expect("a temporary folder"),
        };
        let files = run(Command::new("git")
            .args(["ls-files", "--cached", "--others", "--exclude-standard"])
            .current_dir(checkout()));
        for file in files.lines() {
            if checkout().join(file).is_file() {
                copied(&checkout().join(file), &copy.path(file));
            }
        }
        copy.take_what_is_built();
        copy
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// The libraries beside this test: the tool of the copy is then built in seconds, not in minutes.
    fn take_what_is_built(&self) {
        let this = std::env::current_exe().expect("the path of this test");
        let built = this.ancestors().nth(2).expect("the build folder");
        for folder in ["deps", ".fingerprint", "build"] {
            for file in files_below(&built.join(folder)) {
                let end = file.extension().unwrap_or_default();
                let is_program = folder == "deps" && end.is_empty();
                if !is_program && end != "o" {
                    let place = file.strip_prefix(built).expect("below it");
                    copied(&file, &self.path("target/debug").join(place));
                }
            }
        }
    }

    /// A command that works on the copy alone.
    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.folder.path())
            .env("WORKSHOP_ROOT", self.folder.path())
            .env("CARGO_TARGET_DIR", self.path("target"))
            .env("CARGO_BUILD_BUILD_DIR", self.path("target"))
            .stdin(Stdio::null());
        command
    }

    fn workshop(&self, arguments: &[&str]) -> String {
        run(self
            .command(self.path("target/debug/workshop-author"))
            .args(arguments))
    }
}

impl Drop for Copy {
    /// Its PostgreSQL goes with it.
    fn drop(&mut self) {
        let tool = self.path("target/debug/workshop-author");
        if tool.is_file() {
            let _ = self.command(tool).arg("clean").output();
        }
    }
}

#[test]
fn an_exercise_is_added_by_one_command() {
    let copy = Copy::new();
    let build = || {
        let arguments = [
            "build",
            "--quiet",
            "--workspace",
            "--bin",
            "workshop-author",
        ];
        run(copy.command("cargo").args(arguments))
    };
    build();
    copy.workshop(&["new-exercise", "99", "from", "3"]);
    assert_eq!(editors::faults(&copy.path("")), Vec::<String>::new());
    // The suite is part of the tool.
    build();
    copy.workshop(&["check", "solution-99"]);
    // The Kotlin service is left out: it would be judged by the new suite as well, and has no greeting.
    let gate = copy.workshop(&["verify", "exercise-99", "--quick"]);
    assert!(
        gate.contains("mistake a-list is caught by hello_greets_the_world"),
        "{gate}"
    );
    // Its mistakes can be hunted as well.
    copy.workshop(&["hunt", "exercise-99"]);
    let red = copy
        .command(copy.path("target/debug/workshop-author"))
        .args(["check", "hunt"])
        .output();
    assert_eq!(red.expect("it starts").status.code(), Some(1));
    for file in files_below(&copy.path("solutions/99-a-new-step/src")) {
        let name = file.file_name().expect("a name");
        let place = copy.path(".workshop/hunt/src").join(name);
        std::fs::copy(&file, place).expect("copied");
    }
    let green = copy.workshop(&["check", "hunt"]);
    assert!(green.contains("You got it."), "{green}");

    let book = copy.workshop(&["book-check"]);
    assert!(book.contains("the book is whole"), "{book}");
    let progress = copy.workshop(&["progress"]);
    assert!(progress.contains("A new step"), "{progress}");
}

/// Runs a command that has to end well; what it printed.
#[track_caller]
fn run(command: &mut Command) -> String {
    let output = command.output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{command:?}: {}\n{said}{errors}",
        output.status
    );
    said
}

/// A copy of a file that is as old as its original, so that cargo takes it for unchanged.
fn copied(from: &Path, to: &Path) {
    std::fs::create_dir_all(to.parent().expect("a parent")).expect("made");
    std::fs::copy(from, to).expect("copied");
    let modified = from
        .metadata()
        .and_then(|data| data.modified())
        .expect("a time");
    let file = std::fs::File::options()
        .write(true)
        .open(to)
        .expect("opened");
    file.set_modified(modified).expect("set");
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push(path);
        }
    }
    files
}

fn checkout() -> &'static Path {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    folder.expect("the checkout")
}
