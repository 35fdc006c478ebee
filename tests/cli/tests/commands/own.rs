//! A crate that a learner makes in an empty folder: whatever is in it, the check says what it looks for, and nothing is lost.

// A test that cannot set up its course has to fail.
#![allow(clippy::expect_used)]

use std::fs;

use crate::folder::{Folder, assert_says, everything};

const EXERCISE: &str = "exercises/24-an-empty-folder";
const SOLUTION: &str = "solutions/24-an-empty-folder";
const ABOUT: &str = "number = 24\nkind = \"own\"\nslug = \"an-empty-folder\"\ntitle = \"An empty folder\"\nsuites = []\nedit = []\n\
                     red = []\n[minutes]\nreading = 8\ndoing = 25\nreviewing = 7\n";
const GIVEN: &str = "What is wanted.\n";

/// A course of this exercise alone.
fn course() -> Folder {
    let course = Folder::new();
    course.write(
        "Cargo.toml",
        &format!("[workspace]\nexclude = [\"{EXERCISE}\"]\n"),
    );
    course.write(&format!("{SOLUTION}/exercise.toml"), ABOUT);
    course.write(&format!("{SOLUTION}/README.md"), GIVEN);
    course.write(&format!("{SOLUTION}/src/main.rs"), "fn main() {}\n");
    course.write(&format!("{EXERCISE}/README.md"), GIVEN);
    course.write(
        &format!("{EXERCISE}/hints.md"),
        "# Hints\n\n## anything else\n\n1. One.\n2. Two.\n3. Three.\n",
    );
    course
}

/// A crate with this name in a folder of the exercise's; `.` is that folder itself.
fn with_crate(course: &Folder, folder: &str, name: &str) {
    let manifest = format!("[package]\nname = \"{name}\"\nedition = \"2024\"\n");
    course.write(&format!("{EXERCISE}/{folder}/Cargo.toml"), &manifest);
    course.write(
        &format!("{EXERCISE}/{folder}/src/main.rs"),
        "fn main() {}\n",
    );
}

#[test]
fn an_empty_folder_is_told_how_to_begin() {
    let said = course().fails(&["check", "exercise-24"], 1);
    let init = format!("cargo init --name exercise-24 {EXERCISE}");
    assert_says(&said, &["there is no crate", &init]);
}

#[test]
fn a_crate_that_is_not_what_is_looked_for_is_named() {
    let course = course();
    with_crate(&course, ".", "reports");
    let said = course.fails(&["check", "exercise-24"], 1);
    assert_says(
        &said,
        &["has the name reports", "write name = \"exercise-24\""],
    );

    course.write(&format!("{EXERCISE}/Cargo.toml"), "[package\n");
    let said = course.fails(&["check", "exercise-24"], 1);
    assert_says(&said, &["cargo cannot read", "Cargo.toml"]);

    with_crate(&course, ".", "exercise-24");
    course.write(&format!("{EXERCISE}/src/lib.rs"), "");
    fs::remove_file(course.path(&format!("{EXERCISE}/src/main.rs"))).expect("removed");
    let said = course.fails(&["check", "exercise-24"], 1);
    assert_says(&said, &["makes no program", "src/main.rs"]);
}

#[test]
fn two_crates_are_one_too_many_unless_a_workspace_holds_them() {
    let course = course();
    with_crate(&course, "one", "exercise-24");
    with_crate(&course, "two", "two");
    let said = course.fails(&["check", "exercise-24"], 1);
    assert_says(&said, &["two crates", "one/Cargo.toml", "two/Cargo.toml"]);

    let members = "[workspace]\nresolver = \"3\"\nmembers = [\"two\"]\n";
    course.write(&format!("{EXERCISE}/Cargo.toml"), members);
    let said = course.fails(&["check", "exercise-24"], 1);
    assert_says(&said, &["has the name two"]);
}

#[test]
fn what_does_not_compile_is_the_learners_and_is_remembered() {
    let course = course();
    with_crate(&course, ".", "exercise-24");
    course.write(
        &format!("{EXERCISE}/src/main.rs"),
        "fn main() { let port: u16 = \"8080\"; }\n",
    );
    let said = course.fails(&["check", "exercise-24"], 1);
    assert_says(
        &said,
        &["E0308", "does not compile", "just hint exercise-24"],
    );
    // As an editor opens it where the reader is.
    let here = course.path(&format!("{EXERCISE}/src"));
    let mut check = course.tool();
    let check = check.args(["check", "exercise-24"]);
    let check = check.env("WORKSHOP_CALLED_FROM", here).output();
    let said = everything(&check.expect("the tool starts"));
    assert_says(&said, &["--> main.rs:1:"]);
    let said = course.passes(&["hint", "exercise-24"]);
    assert_says(&said, &["E0308", "One."]);
}

#[test]
fn a_reset_keeps_the_whole_crate_as_an_attempt() {
    let course = course();
    with_crate(&course, ".", "exercise-24");
    course.write(&format!("{EXERCISE}/migrations/0001.sql"), "SELECT 1;\n");
    course.write(&format!("{EXERCISE}/README.md"), "mine\n");
    let said = course.passes(&["reset", "exercise-24"]);
    assert_says(&said, &["Your files are kept in", "migrations/0001.sql"]);
    let left = workshop_base::files::read_tree(&course.path(EXERCISE)).expect("a folder");
    let left: Vec<String> = left.keys().map(|path| path.display().to_string()).collect();
    assert_eq!(left, ["README.md", "hints.md"]);
    assert_eq!(course.read(&format!("{EXERCISE}/README.md")), GIVEN);
    let attempts = course.path(".workshop/attempts/exercise-24");
    let attempt = fs::read_dir(attempts)
        .expect("attempts")
        .flatten()
        .find(|entry| entry.path().is_dir())
        .expect("one attempt");
    for file in [
        "Cargo.toml",
        "src/main.rs",
        "migrations/0001.sql",
        "README.md",
    ] {
        assert!(attempt.path().join(file).exists(), "{file} is not kept");
    }
}

#[test]
fn no_reference_takes_the_place_of_ones_own() {
    let said = course().fails(&["solution", "exercise-24", "--apply"], 2);
    assert_says(&said, &["a service of your own"]);
}

#[test]
fn both_references_are_told_by_their_files() {
    let course = course();
    let main = "//! Begins.\n\nfn main() {}\n";
    course.write(&format!("{SOLUTION}/src/main.rs"), main);
    let stages = [
        "1-start-and-stop",
        "2-the-frame",
        "3-reports-once",
        "4-pages-and-edits",
        "6-bad-days",
        "7-later-releases",
        "8-strangers",
    ];
    let suites = stages.map(|stage| format!("stage-{stage}"));
    let judged_alike = ABOUT.replace("suites = []", &format!("suites = {suites:?}"));
    course.write(&format!("{SOLUTION}/exercise.toml"), &judged_alike);
    course.write("tests/peers/rocket-reports/src/page.rs", "//! A page.\n");
    let said = course.passes(&["solution", "exercise-24"]);
    assert_says(
        &said,
        &["On axum", "main.rs", "Begins.", "On Rocket", "A page."],
    );
    let said = course.passes(&["solution", "exercise-24", "--axum"]);
    assert_says(&said, &["On axum"]);
    assert!(!said.contains("On Rocket"), "{said}");
}
