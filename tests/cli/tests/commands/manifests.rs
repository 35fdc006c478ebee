//! A manifest that a learner broke, and files with old dates, in a small workspace that cargo really builds.

use std::fs;
use std::ops::Deref;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, SystemTime};

use crate::folder::{Folder, assert_says, exercise_toml};
use workshop_base::target::Target;
use workshop_base::workspace::Workspace;
use workshop_harness::build::{self, BuildError, Profile};

const ROOT: &str = "[workspace]\nresolver = \"3\"\nmembers = [\"exercises/[0-9]*\", \"solutions/[0-9]*\"]\nexclude = [\".workshop\"]\n";

/// Two exercises whose crates print a word.
struct Course(Folder);

impl Deref for Course {
    type Target = Folder;

    fn deref(&self) -> &Folder {
        &self.0
    }
}

impl Course {
    fn new() -> Course {
        let course = Course(Folder::new());
        course.write("Cargo.toml", ROOT);
        for (number, slug) in [(3, "read"), (5, "fail")] {
            let about = exercise_toml(number, slug, slug, "src/main.rs", "a_test");
            for (kind, target) in [("exercises", "exercise"), ("solutions", "solution")] {
                let folder = format!("{kind}/0{number}-{slug}");
                let manifest =
                    format!("[package]\nname = \"{target}-{number}\"\nedition = \"2024\"\n");
                course.write(&format!("{folder}/exercise.toml"), &about);
                course.write(&format!("{folder}/Cargo.toml"), &manifest);
                course.write(&format!("{folder}/src/main.rs"), &prints(target));
            }
        }
        for number in [3, 5] {
            course.starter_patch(number);
        }
        course
    }

    async fn build(&self, target: Target) -> Result<PathBuf, BuildError> {
        let workspace = Workspace::at(self.root());
        let launch = build::build(&workspace, target, Profile::Check).await?;
        Ok(launch.program)
    }

    /// What a built program prints.
    async fn printed(&self, target: Target) -> String {
        let program = self.build(target).await;
        let program = program.unwrap_or_else(|error| panic!("{target}: {error:#}"));
        let output = Command::new(program).output();
        let output = output.unwrap_or_else(|error| panic!("{target}: {error}"));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// What the compiler, or cargo, says against a target.
    async fn fault(&self, target: Target) -> String {
        match self.build(target).await {
            Err(BuildError::DoesNotCompile { errors, .. }) => {
                errors.into_iter().map(|error| error.said).collect()
            }
            other => panic!("{target}: {other:?}"),
        }
    }
}

fn prints(word: &str) -> String {
    format!("fn main() {{\n    println!(\"{word}\");\n}}\n")
}

#[tokio::test]
async fn a_broken_manifest_breaks_its_exercise_alone() {
    let course = Course::new();
    let manifest = "exercises/05-fail/Cargo.toml";
    let whole = course.read(manifest);
    for (broken, said) in [
        ("[dependencies.nonsense", "exercises/05-fail/Cargo.toml"),
        (
            "[dependencies]\nnonsense = { path = \"nowhere\" }\n",
            "nonsense",
        ),
        (
            "[[bin]]\nname = \"exercise-5\"\npath = \"src/nowhere.rs\"\n",
            "nowhere.rs",
        ),
    ] {
        course.write(manifest, &format!("{whole}{broken}\n"));
        assert_eq!(
            course.printed(Target::Exercise(3)).await,
            "exercise\n",
            "{broken}"
        );
        assert_eq!(
            course.printed(Target::Solution(5)).await,
            "solution\n",
            "{broken}"
        );
        assert_says(&course.fault(Target::Exercise(5)).await, &[said]);
        assert_says(&course.passes(&["reset", "exercise-5"]), &["Cargo.toml"]);
        assert_eq!(course.printed(Target::Exercise(5)).await, "exercise\n");
    }
}

#[tokio::test]
async fn a_broken_lock_file_keeps_no_exercise_from_being_built_and_reset_brings_it_back() {
    let course = Course::new();
    course.printed(Target::Exercise(3)).await;
    let commit = "git init --quiet && git add --all && git -c user.name=a -c user.email=a@example.com -c commit.gpgsign=false \
                  commit --quiet --message 'A course'";
    let status = Command::new("sh")
        .args(["-ec", commit])
        .current_dir(course.root())
        .status();
    assert!(status.is_ok_and(|status| status.success()));
    let whole = course.read("Cargo.lock");
    course.write("Cargo.lock", &format!("<<<<<<< mine\n{whole}"));
    assert_eq!(course.printed(Target::Exercise(3)).await, "exercise\n");
    assert_says(
        &course.passes(&["reset", "exercise-3"]),
        &["Cargo.lock", ".workshop/attempts"],
    );
    assert_eq!(course.read("Cargo.lock"), whole);
}

#[tokio::test]
async fn what_is_built_is_what_is_on_the_disk_whatever_its_date() {
    let course = Course::new();
    let source = "exercises/03-read/src/main.rs";
    assert_eq!(course.printed(Target::Exercise(3)).await, "exercise\n");
    for word in ["reference", "starter"] {
        course.write(source, &prints(word));
        let years_ago = SystemTime::now() - Duration::from_hours(50_000);
        let file = fs::File::options().append(true).open(course.path(source));
        let dated = file.and_then(|file| file.set_modified(years_ago));
        assert!(dated.is_ok(), "{dated:?}");
        assert_eq!(
            course.printed(Target::Exercise(3)).await,
            format!("{word}\n")
        );
    }
}
