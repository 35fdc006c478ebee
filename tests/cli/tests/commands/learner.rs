//! The learner's commands, seen from outside: the tool run on a small course in a temporary folder.

// A test that cannot set up its course has to fail; helpers count as tests.
#![allow(clippy::expect_used)]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::ops::Deref;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::folder::{Folder, assert_says, everything, exercise_toml};
use workshop::state;
use workshop::state::{CheckOutcome, DOES_NOT_START, Fault, LastCheck};
use workshop_base::exercise::Catalogue;
use workshop_base::workspace::Workspace;

/// Longer than anything takes on a slow machine; only a hang is caught by it.
pub const HANGS: Duration = Duration::from_secs(120);

const EXERCISE: &str = "exercises/03-read-a-record";
const SOLUTION: &str = "solutions/03-read-a-record";
const HUNT: &str = ".workshop/hunt";
const STARTER_MAIN: &str = "// a header\n\nfn main() {\n    todo!()\n}\n";
const SOLUTION_MAIN: &str = "// a header\n\nfn main() {\n    serve();\n}\n";
const STARTER_READ: &str = "pub fn read() {}\n";
const SOLUTION_READ: &str = "pub fn read() {\n    // the reference\n}\n";
const PANICS: &str = "Title: Panics
Caught-by: a_known_id_answers_its_record
Why: A panic is no answer.

diff --git a/src/read.rs b/src/read.rs
--- a/src/read.rs
+++ b/src/read.rs
@@ -1,3 +1,3 @@
 pub fn read() {
-    // the reference
+    panic!()
 }
";

/// A course of two exercises: the form and one crate. There is no git in it.
pub struct Course {
    folder: Folder,
}

impl Deref for Course {
    type Target = Folder;

    fn deref(&self) -> &Folder {
        &self.folder
    }
}

impl Course {
    pub fn new() -> Self {
        let course = Course {
            folder: Folder::new(),
        };
        course.write("tests/tools.toml", "just = \"1.59.0\"\noha = \"1.16.0\"\n");
        course.write("Cargo.toml", "[workspace]\n");
        course.write("Cargo.lock", "version = 4\n");

        let form = exercise_toml(
            1,
            "predict",
            "Predict",
            "predictions.toml",
            "every_prediction_is_filled_in",
        );
        course.write("solutions/01-predict/exercise.toml", &form);
        course.write("exercises/01-predict/exercise.toml", &form);
        course.write("exercises/01-predict/hints.md", HINTS);
        course.write("exercises/hints.md", COMMON_HINTS);
        course.write(
            "solutions/01-predict/predictions.toml",
            "[size]\nratio = 0.5\n",
        );
        course.write(
            "exercises/01-predict/predictions.toml",
            "[size]\nratio = \"?\"\n",
        );

        let about = exercise_toml(
            3,
            "read-a-record",
            "Read a record",
            "src/main.rs\", \"src/read.rs\", \"src/record.rs",
            "a_known_id_answers_its_record",
        );
        for (folder, package) in [(SOLUTION, "solution-3"), (EXERCISE, "exercise-3")] {
            course.write(&format!("{folder}/exercise.toml"), &about);
            course.write(
                &format!("{folder}/Cargo.toml"),
                &format!("[package]\nname = \"{package}\"\n"),
            );
            course.write(&format!("{folder}/src/given.rs"), "// given\n");
        }
        course.write(&format!("{SOLUTION}/src/main.rs"), SOLUTION_MAIN);
        course.write(&format!("{SOLUTION}/src/read.rs"), SOLUTION_READ);
        // A file that the learner has to make: it is no part of the starter.
        course.write(&format!("{SOLUTION}/src/record.rs"), "pub struct Record;\n");
        course.write(&format!("{SOLUTION}/mistakes/panics.patch"), PANICS);
        course.write(&format!("{EXERCISE}/src/main.rs"), STARTER_MAIN);
        course.write(&format!("{EXERCISE}/src/read.rs"), STARTER_READ);
        course.write(&format!("{EXERCISE}/hints.md"), HINTS);
        for number in [1, 3] {
            course.starter_patch(number);
        }
        course
    }

    /// The learner's folder, without what the tool never writes.
    fn files(&self, folder: &str) -> BTreeMap<PathBuf, String> {
        let tree =
            workshop_base::files::read_tree(&self.path(folder)).expect("a folder that can be read");
        tree.into_iter()
            .map(|(path, bytes)| (path, String::from_utf8(bytes).expect("text")))
            .collect()
    }

    /// The complete attempts at exercise 3, oldest first.
    fn attempts(&self) -> Vec<PathBuf> {
        self.attempts_at("exercise-3")
    }

    fn attempts_at(&self, name: &str) -> Vec<PathBuf> {
        let folder = self.path(".workshop/attempts").join(name);
        let mut attempts: Vec<PathBuf> = fs::read_dir(folder)
            .into_iter()
            .flatten()
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| {
                !path
                    .file_name()
                    .expect("a name")
                    .to_string_lossy()
                    .starts_with('.')
            })
            .collect();
        attempts.sort();
        attempts
    }

    pub fn last_check(&self, outcome: CheckOutcome, faults: Vec<Fault>) {
        let workspace = Workspace::at(self.root());
        let catalogue = Catalogue::read(&workspace).expect("a catalogue");
        let exercise = catalogue.get(3).expect("exercise 3");
        state::record(&workspace, exercise, &LastCheck::now(outcome, faults))
            .expect("a state file");
    }
}

/// Faults without any words.
pub fn faults(names: &[&str]) -> Vec<Fault> {
    names.iter().map(|name| Fault::new(*name, "")).collect()
}

const HINTS: &str = "# Hints

## a_known_id_answers_its_record

1. Look at the query.
2. Use `query_as`.
3. Nearly the line:

   ```rust
   sqlx::query_as(SQL)
   ```

## an_unknown_id_answers_404_and_names_it

1. Unknown, one.
2. Unknown, two.
3. Unknown, three.

## E0277

1. Trait, one.
2. Trait, two.
3. Trait, three.

## E0277: Decode

1. Decode, one.
2. Decode, two.
3. Decode, three.

## anything else

1. Else, one.
2. Else, two.
3. Else, three.
";

/// The hints that fit every exercise.
const COMMON_HINTS: &str = "# Hints

## does not compile

1. Compiler, one.
2. Compiler, two.
3. Compiler, three.

## does not start

1. Start, one: {exercise}.
2. Start, two.
3. Start, three.

## anything else

1. Nothing.
2. Fits.
3. Here.
";

/// What a learner has done: edited a file, written the missing one, added some, changed one that is not theirs.
fn learner_s_work(course: &Course) -> BTreeMap<PathBuf, String> {
    course.write(
        &format!("{EXERCISE}/src/main.rs"),
        "fn main() { /* mine */ }\n",
    );
    course.write(&format!("{EXERCISE}/src/record.rs"), "// my record\n");
    course.write(&format!("{EXERCISE}/src/lib.rs"), "// my library\n");
    course.write(&format!("{EXERCISE}/notes.md"), "my notes\n");
    course.write(
        &format!("{EXERCISE}/Cargo.toml"),
        "[package]\nname = \"exercise-3\"\n# mine\n",
    );
    let mut files = course.files(EXERCISE);
    files.remove(Path::new("hints.md"));
    files
}

#[track_caller]
fn assert_is_starter(course: &Course) {
    let mut files = course.files(EXERCISE);
    files.remove(Path::new("notes.md"));
    let names: Vec<_> = files
        .keys()
        .map(|path| path.to_string_lossy().into_owned())
        .collect();
    assert_eq!(
        names,
        [
            "Cargo.toml",
            "exercise.toml",
            "hints.md",
            "src/given.rs",
            "src/main.rs",
            "src/read.rs"
        ]
    );
    assert_eq!(files[Path::new("src/main.rs")], STARTER_MAIN);
    assert_eq!(files[Path::new("src/read.rs")], STARTER_READ);
    assert_eq!(
        files[Path::new("Cargo.toml")],
        "[package]\nname = \"exercise-3\"\n"
    );
}

#[track_caller]
fn assert_is_reference(course: &Course) {
    assert_eq!(
        course.read(&format!("{EXERCISE}/src/main.rs")),
        SOLUTION_MAIN
    );
    assert_eq!(
        course.read(&format!("{EXERCISE}/src/read.rs")),
        SOLUTION_READ
    );
    assert_eq!(
        course.read(&format!("{EXERCISE}/src/record.rs")),
        "pub struct Record;\n"
    );
    assert_eq!(
        course.read(&format!("{EXERCISE}/Cargo.toml")),
        "[package]\nname = \"exercise-3\"\n"
    );
    for stray in ["src/lib.rs", "mistakes", "starter.patch"] {
        assert!(!course.path(EXERCISE).join(stray).exists(), "{stray}");
    }
}

#[test]
fn reset_brings_the_starter_back_without_git_and_keeps_the_attempt() {
    let course = Course::new();
    let mine = learner_s_work(&course);
    let said = course.passes(&["reset", "exercise-3"]);
    assert_is_starter(&course);
    assert_eq!(course.read(&format!("{EXERCISE}/notes.md")), "my notes\n");
    let attempts = course.attempts();
    assert_eq!(attempts.len(), 1);
    let attempt = attempts[0]
        .strip_prefix(course.root())
        .expect("inside")
        .display()
        .to_string();
    assert_eq!(course.files(&attempt), mine);
    let back = format!("cp -R {attempt}/. {EXERCISE}/");
    assert_says(
        &said,
        &[&attempt, &back, "src/lib.rs", "just check exercise-3"],
    );
}

#[test]
fn what_the_message_says_brings_an_attempt_back() {
    let course = Course::new();
    let mine = learner_s_work(&course);
    let said = course.passes(&["reset", "exercise-3"]);
    let command = said
        .lines()
        .find_map(|line| line.strip_prefix("To bring them back: "))
        .expect("a command");
    let status = Command::new("sh")
        .args(["-c", command])
        .current_dir(course.root())
        .status();
    assert!(status.expect("sh starts").success());
    let mut back = course.files(EXERCISE);
    back.remove(Path::new("hints.md"));
    assert_eq!(back, mine);
}

#[test]
fn reset_of_an_untouched_starter_does_nothing_and_says_so() {
    let course = Course::new();
    let said = course.passes(&["reset", "exercise-3"]);
    assert_says(&said, &["exercise-3 is the starter already"]);
    assert!(course.attempts().is_empty());
}

#[test]
fn every_reset_keeps_an_attempt_of_its_own() {
    let course = Course::new();
    let works = ["// first\n", "// second\n", "// third\n"];
    for work in works {
        course.write(&format!("{EXERCISE}/src/main.rs"), work);
        course.passes(&["reset", "exercise-3"]);
    }
    let kept: Vec<String> = course
        .attempts()
        .iter()
        .map(|attempt| fs::read_to_string(attempt.join("src/main.rs")).expect("a kept file"))
        .collect();
    assert_eq!(kept, works);
}

#[test]
fn reset_brings_back_a_folder_that_was_deleted() {
    let course = Course::new();
    fs::remove_dir_all(course.path(EXERCISE).join("src")).expect("removed");
    course.passes(&["reset", "exercise-3"]);
    assert_is_starter(&course);
}

#[test]
fn reset_of_one_exercise_leaves_the_others_alone() {
    let course = Course::new();
    course.write(
        "exercises/01-predict/predictions.toml",
        "[size]\nratio = 0.1\n",
    );
    learner_s_work(&course);
    course.passes(&["reset", "exercise-3"]);
    course.passes(&["solution", "exercise-3", "--apply"]);
    assert_eq!(
        course.read("exercises/01-predict/predictions.toml"),
        "[size]\nratio = 0.1\n"
    );
}

#[test]
fn a_form_is_reset_like_a_crate() {
    let course = Course::new();
    course.write(
        "exercises/01-predict/predictions.toml",
        "[size]\nratio = 0.1\n",
    );
    course.passes(&["reset", "exercise-1"]);
    assert_eq!(
        course.read("exercises/01-predict/predictions.toml"),
        "[size]\nratio = \"?\"\n"
    );
}

#[test]
fn applying_the_solution_keeps_the_attempt() {
    let course = Course::new();
    let mine = learner_s_work(&course);
    let said = course.passes(&["solution", "exercise-3", "--apply"]);
    assert_is_reference(&course);
    let attempts = course.attempts();
    assert_eq!(attempts.len(), 1);
    let attempt = attempts[0]
        .strip_prefix(course.root())
        .expect("inside")
        .display()
        .to_string();
    assert_eq!(course.files(&attempt), mine);
    assert_says(&said, &[&attempt]);
    let again = course.passes(&["solution", "exercise-3", "--apply"]);
    assert_says(&again, &["exercise-3 is the reference already"]);
    assert_eq!(course.attempts().len(), 1);
}

#[test]
fn the_solution_is_shown_as_a_difference_and_nothing_is_written() {
    let course = Course::new();
    let mine = learner_s_work(&course);
    let said = course.passes(&["solution", "exercise-3"]);
    assert_says(
        &said,
        &[
            "--- exercises/03-read-a-record/src/main.rs (yours)",
            "+++ solutions/03-read-a-record/src/main.rs (reference)",
            "-fn main() { /* mine */ }",
            "+    serve();",
            "not as the course ships them: Cargo.toml",
            "Added by you, not in the reference: notes.md, src/lib.rs",
            "just solution exercise-3 --apply",
        ],
    );
    assert!(!said.contains("src/given.rs"), "{said}");
    assert!(
        !said.contains('\u{1b}'),
        "colour without a terminal: {said:?}"
    );
    let mut files = course.files(EXERCISE);
    files.remove(Path::new("hints.md"));
    assert_eq!(files, mine);
}

#[test]
fn what_is_new_in_a_starter_is_shown_with_its_reasons() {
    let course = Course::new();
    let about = exercise_toml(4, "api-key", "API key", "src/main.rs", "no_key_answers_401");
    let about = format!("{about}\n[grows_from]\nexercise = 3\n");
    let [exercise, solution] = ["exercises/04-api-key", "solutions/04-api-key"];
    for (folder, package, main) in [
        (solution, "solution-4", "fn main() {\n    guarded();\n}\n"),
        (exercise, "exercise-4", "fn main() {\n    todo!()\n}\n"),
    ] {
        course.write(&format!("{folder}/exercise.toml"), &about);
        let manifest = format!("[package]\nname = \"{package}\"\n");
        course.write(&format!("{folder}/Cargo.toml"), &manifest);
        course.write(&format!("{folder}/src/main.rs"), main);
        course.write(&format!("{folder}/src/read.rs"), SOLUTION_READ);
        course.write(&format!("{folder}/src/record.rs"), "pub struct Record;\n");
        course.write(&format!("{folder}/src/given.rs"), "// given\n");
        course.write(
            &format!("{folder}/src/key.rs"),
            "//! The key.\n\nfn key() {}\n",
        );
    }
    course.write(
        &format!("{solution}/what-is-new.toml"),
        "questions = [\"Who asks?\", \"Who answers?\"]\n\n[why.\"src/main.rs\"]\n'// a header' = \"The header is gone.\"\n",
    );
    course.starter_patch(4);
    let said = course.passes(&["what-is-new", "exercise-4"]);
    assert_says(
        &said,
        &[
            "what is new since the reference of exercise 3",
            "2 lines of Rust are given, in 2 files; about 1 are yours to type.",
            "src/key.rs, new\nThe key.",
            "The header is gone.\n@@",
            "-// a header",
            "- Who asks?\n- Who answers?",
        ],
    );
    assert!(!said.contains("Cargo.toml"), "{said}");
    let all = course.passes(&["what-is-new"]);
    assert_says(&all, &["exercise-4        3      2      1"]);
}

#[test]
fn no_difference_is_said() {
    let course = Course::new();
    course.passes(&["solution", "exercise-3", "--apply"]);
    assert_says(
        &course.passes(&["solution", "exercise-3"]),
        &["No difference"],
    );
}

#[test]
#[cfg_attr(
    not(debug_assertions),
    ignore = "only a debug build crashes on request"
)]
fn a_crash_at_any_point_loses_nothing_and_the_next_run_finishes() {
    for command in [
        &["reset", "exercise-3"][..],
        &["solution", "exercise-3", "--apply"],
    ] {
        let mut survived = false;
        for point in 1..100 {
            let course = Course::new();
            let mine = learner_s_work(&course);
            let output = course
                .tool()
                .args(command)
                .env("WORKSHOP_CRASH_AT", point.to_string())
                .output()
                .expect("the tool starts");
            if output.status.success() {
                assert!(
                    point > 15,
                    "only {point} points to crash at: the test tests little"
                );
                survived = true;
                break;
            }
            assert!(
                output.status.signal().is_some(),
                "point {point}: {}",
                everything(&output)
            );
            assert_nothing_lost(&course, &mine, point);
            let beside = unfinished(&course.path(EXERCISE));
            assert_eq!(beside, [""; 0], "a crash at point {point}");

            course.passes(command);
            match command {
                ["reset", ..] => assert_is_starter(&course),
                _ => assert_is_reference(&course),
            }
            assert_nothing_lost(&course, &mine, point);
            assert_eq!(unfinished(course.root()), [""; 0], "point {point}");
        }
        assert!(survived, "{command:?} never came to its end");
    }
}

/// Every file of the learner is in its place or, complete, in an attempt.
#[track_caller]
fn assert_nothing_lost(course: &Course, mine: &BTreeMap<PathBuf, String>, point: u32) {
    let attempts = [course.attempts(), course.attempts_at("hunt")].concat();
    let places = [vec![course.path(EXERCISE), course.path(HUNT)], attempts].concat();
    for (path, text) in mine {
        let there = |folder: &PathBuf| {
            fs::read_to_string(folder.join(path)).is_ok_and(|found| &found == text)
        };
        let found = places.iter().any(there);
        assert!(
            found,
            "{} is lost after a crash at point {point}",
            path.display()
        );
    }
}

#[test]
fn a_hunt_plants_a_mistake_and_tells_no_more_than_the_test() {
    let course = Course::new();
    // Where the compiler catches a mistake, there is nothing to hunt.
    course.write(
        &format!("{SOLUTION}/mistakes/refused.patch"),
        &PANICS.replace("a_known_id_answers_its_record", "E0308"),
    );
    let said = course.passes(&["hunt", "exercise-3"]);
    assert_says(
        &said,
        &[
            ".workshop/hunt is the reference of exercise-3",
            "your only clue: a_known_id_answers_its_record is red",
            "next: just watch hunt",
        ],
    );
    assert!(!said.contains("anic"), "{said}");
    let planted = course.read(&format!("{HUNT}/src/read.rs"));
    assert_eq!(planted, "pub fn read() {\n    panic!()\n}\n");
    for spoiler in ["mistakes", "starter.patch"] {
        assert!(!course.path(HUNT).join(spoiler).exists(), "{spoiler}");
    }
    let again = course.passes(&["hunt", "exercise-3", "--minutes", "10"]);
    assert_says(
        &again,
        &["the clock: ", " left", "a_known_id_answers_its_record"],
    );
    assert!(
        course.attempts_at("hunt").is_empty(),
        "nothing was edited, so there is nothing to keep"
    );
}

#[test]
fn a_hunt_that_was_edited_is_kept_by_the_next_one_and_by_giving_up() {
    let course = Course::new();
    course.passes(&["hunt", "exercise-3"]);
    for (command, kept) in [
        (["hunt", "exercise-3"], "first"),
        (["reset", "hunt"], "second"),
    ] {
        course.write(&format!("{HUNT}/src/read.rs"), kept);
        let said = course.passes(&command);
        let attempts = course.attempts_at("hunt");
        let attempt = attempts.last().expect("an attempt");
        let shown = attempt.strip_prefix(course.root()).expect("inside");
        assert_says(&said, &[&format!("kept in {}", shown.display())]);
        let file = fs::read_to_string(attempt.join("src/read.rs"));
        assert_eq!(file.expect("a kept file"), kept);
    }
    assert!(!course.path(HUNT).exists());
    let said = course.fails(&["check", "hunt"], 2);
    assert_says(&said, &["you aren't on a hunt", "just hunt exercise-N"]);
}

#[test]
fn giving_up_tells_the_mistake_and_how_many_lines_it_has() {
    let course = Course::new();
    course.passes(&["hunt", "exercise-3"]);
    assert_says(
        &course.passes(&["reset", "hunt"]),
        &[
            "Panics. A panic is no answer.",
            "1 line in src/read.rs, where the reference has 1",
            "next: just hunt exercise-3",
        ],
    );
}

#[test]
fn a_hunt_is_built_by_itself_from_what_is_in_its_folder() {
    let course = Course::new();
    // It's compiled as the reference is, which is a member.
    course.write(
        "Cargo.toml",
        &format!("[workspace]\nresolver = \"3\"\nmembers = [\"{SOLUTION}\"]\n"),
    );
    course.passes(&["hunt", "exercise-3"]);
    course.write(
        &format!("{HUNT}/src/main.rs"),
        "fn main() {\n    found_it();\n}\n",
    );
    let said = course.fails(&["check", "hunt"], 1);
    assert_says(
        &said,
        &["found_it", "hunt does not compile", "next: just check hunt"],
    );
    Watching::start(&course, "hunt").wait_until_watching(HUNT);
}

/// A course with one debugging case, which is planted.
fn course_with_a_case() -> Course {
    let course = Course::new();
    let case = format!("{SOLUTION}/cases/stuck");
    course.write(&format!("{case}/case.toml"), CASE);
    course.write(&format!("{case}/feature.patch"), PANICS);
    let fix = PANICS
        .replace("-    // the reference", "-    panic!()")
        .replace("+    panic!()", "+    fixed()");
    course.write(&format!("{case}/fix.patch"), &fix);
    course.write(&format!("{case}/hints.md"), CASE_HINTS);
    course.passes(&["hunt", "stuck"]);
    course
}

const CASE: &str = r#"
title = "it is stuck"
symptoms = "It stands still, she says."
minutes = { reading = 1, doing = 1, reviewing = 1 }
red = ["a_known_id_answers_its_record"]
file = "src/read.rs"
statement = "panic!()"
mechanism = "number-wraps"
evidence = "a pid"
answer = "It panics."
ask = "Who panics?"
[suspects.database]
by = ["explain"]
why = "it was not asked"
"#;

const CASE_HINTS: &str = "# Hints

## the_form_is_filled_in

1. First of all, play it.
2. Then look.
3. Then write.

## anything else

1. one
2. two
3. three
";

#[test]
fn a_case_tells_the_symptoms_and_no_more() {
    let course = course_with_a_case();
    let said = course.passes(&["hunt", "stuck", "--minutes", "30"]);
    let next = "next: just run hunt";
    assert_says(
        &said,
        &[
            "It stands still, she says.",
            "diagnosis.toml",
            "the clock: ",
            next,
        ],
    );
    assert!(!said.contains("panic") && !said.contains("wraps"), "{said}");
    assert!(!course.path(HUNT).join("cases").exists());
    let said = course.fails(&["hunt", "nothing"], 2);
    assert_says(&said, &["there is no case nothing", "one of: stuck"]);
}

#[test]
fn a_diagnosis_is_judged_before_anything_is_built_and_a_bad_form_loses_nothing() {
    let course = course_with_a_case();
    let said = course.fails(&["check", "hunt"], 1);
    let later = "1 more tests run when these pass";
    assert_says(&said, &["the_form_is_filled_in", "is still open", later]);
    for form in [
        "file = read.rs\n",
        "line = 2\n[cleared\n",
        "# read: nothing is filled in\n",
    ] {
        course.write(&format!("{HUNT}/diagnosis.toml"), form);
        course.write(&format!("{HUNT}/src/read.rs"), "mine");
        course.fails(&["check", "hunt"], 1);
        assert_eq!(course.read(&format!("{HUNT}/diagnosis.toml")), form);
        assert_eq!(course.read(&format!("{HUNT}/src/read.rs")), "mine");
    }
}

#[test]
fn a_case_has_hints_for_what_is_wrong_with_the_diagnosis() {
    let course = course_with_a_case();
    assert_says(
        &course.passes(&["hint", "hunt"]),
        &["next: just check hunt"],
    );
    course.fails(&["check", "hunt"], 1);
    let first = course.passes(&["hint", "hunt"]);
    assert_says(
        &first,
        &["hint 1 of 3 for the_form_is_filled_in", "play it"],
    );
    assert_says(
        &course.passes(&["hint", "hunt"]),
        &["hint 2 of 3", "Then look."],
    );
    let course = Course::new();
    course.passes(&["hunt", "exercise-3"]);
    assert_says(
        &course.fails(&["hint", "hunt"], 2),
        &["its test is the clue"],
    );
}

#[test]
fn giving_a_case_up_tells_the_cause_and_a_fix_and_keeps_the_diagnosis() {
    let course = course_with_a_case();
    course.write(&format!("{HUNT}/diagnosis.toml"), "# mine\n");
    let said = course.passes(&["reset", "hunt"]);
    assert_says(
        &said,
        &["It panics.", "+    fixed()", "next: just hunt stuck"],
    );
    let attempts = course.attempts_at("hunt");
    let attempt = attempts.last().expect("an attempt");
    let kept = fs::read_to_string(attempt.join("diagnosis.toml"));
    assert_eq!(kept.expect("a kept form"), "# mine\n");
}

const INCIDENT: &str = r#"
title = "reads are slow"
symptoms = "They wait, she says."
span = "GET /prices/{id}"
mechanism = "one-at-a-time"
answer = "A lock is kept."
ask = "Who keeps it?"
[near]
"pool.acquire" = "it waits"
"#;

/// A course in which exercise 3 has an incident, which is planted.
fn course_with_an_incident() -> Course {
    let course = Course::new();
    let incident = format!("{SOLUTION}/incidents/slow");
    course.write(&format!("{incident}/incident.toml"), INCIDENT);
    course.write(&format!("{incident}/fault.patch"), PANICS);
    let hints = CASE_HINTS.replace("the_form_is_filled_in", "every_line_is_filled_in");
    course.write(&format!("{incident}/hints.md"), &hints);
    // A crate that doesn't compile: nothing can be played here.
    let said = course.fails(&["hunt", "exercise-3"], 1);
    assert_says(&said, &["They wait, she says.", "You see no code"]);
    course
}

#[test]
fn of_an_incident_there_is_a_form_and_no_code() {
    let course = course_with_an_incident();
    let files = course.files(HUNT).into_keys();
    let files: Vec<String> = files.map(|path| path.display().to_string()).collect();
    assert_eq!(files, [".answer.toml", "diagnosis.toml"]);
    let form = course.read(&format!("{HUNT}/diagnosis.toml"));
    assert!(!form.contains("prices"), "{form}");
}

#[test]
fn an_incident_is_judged_by_its_form_and_has_hints_and_an_end() {
    let course = course_with_an_incident();
    let said = course.fails(&["check", "hunt"], 1);
    assert_says(&said, &["every_line_is_filled_in", "is still open"]);
    let said = course.passes(&["hint", "hunt"]);
    assert_says(&said, &["hint 1 of 3 for every_line_is_filled_in"]);
    let form = "span = \"pool.acquire\"\nmechanism = \"slow-query\"\ntrace = \"0123456789\"\n";
    course.write(&format!("{HUNT}/diagnosis.toml"), form);
    let said = course.fails(&["check", "hunt"], 1);
    let no_run = "no run so far: just run hunt";
    assert_says(
        &said,
        &["pool.acquire: it waits", "slow-query: then", no_run],
    );
    // What a run has told is not the learner's, and is not kept.
    course.write(&format!("{HUNT}/traces.txt"), "of a run");
    let said = course.passes(&["reset", "hunt"]);
    let next = "next: just hunt exercise-3";
    assert_says(&said, &["A lock is kept.", "+    panic!()", next]);
    let attempts = course.attempts_at("hunt");
    let attempt = attempts.last().expect("an attempt");
    assert_eq!(
        fs::read_to_string(attempt.join("diagnosis.toml")).expect("a form"),
        form
    );
    assert!(!attempt.join("traces.txt").exists());
}

#[test]
fn an_exercise_without_mistakes_has_no_hunt() {
    let said = Course::new().fails(&["hunt", "exercise-1"], 2);
    assert_says(
        &said,
        &[
            "exercise-1 has no mistakes to hunt for",
            "one of: exercise-3",
        ],
    );
}

#[test]
#[cfg_attr(
    not(debug_assertions),
    ignore = "only a debug build crashes on request"
)]
fn a_hunt_killed_at_any_point_loses_nothing_and_the_next_one_begins() {
    for point in 1..100 {
        let course = Course::new();
        course.passes(&["hunt", "exercise-3"]);
        course.write(&format!("{HUNT}/src/read.rs"), "mine");
        let mine = BTreeMap::from([(PathBuf::from("src/read.rs"), "mine".to_owned())]);
        let mut tool = course.tool();
        let tool = tool
            .args(["hunt", "exercise-3"])
            .env("WORKSHOP_CRASH_AT", point.to_string());
        let ended = tool.output().expect("the tool starts").status.success();
        assert_nothing_lost(&course, &mine, point);
        if ended {
            assert!(point > 10, "only {point} points to crash at");
            return;
        }
        course.passes(&["hunt", "exercise-3"]);
        assert_nothing_lost(&course, &mine, point);
        assert_eq!(unfinished(course.root()), [""; 0], "point {point}");
        let copies = course.path(".workshop/copies/hunt");
        assert!(!copies.exists(), "a copy is left at point {point}");
    }
    panic!("it never came to its end");
}

/// The files that a killed command was writing.
fn unfinished(folder: &Path) -> Vec<String> {
    let files = walk(folder).into_iter().filter(|path| path.is_file());
    files
        .map(|path| path.display().to_string())
        .filter(|path| path.contains("unfinished"))
        .collect()
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            paths.extend(walk(&path));
        }
        paths.push(path);
    }
    paths
}

#[test]
fn where_no_attempt_can_be_kept_nothing_is_replaced() {
    let course = Course::new();
    let mine = learner_s_work(&course);
    course.write(".workshop/attempts", "a file where a folder has to be");
    for command in [
        &["reset", "exercise-3"][..],
        &["solution", "exercise-3", "--apply"],
    ] {
        let said = course.fails(command, 2);
        assert_says(&said, &["your files could not be kept", "next: "]);
        let mut files = course.files(EXERCISE);
        files.remove(Path::new("hints.md"));
        assert_eq!(files, mine);
    }
}

#[test]
fn a_reference_that_somebody_edited_is_named_and_the_learner_s_files_stay() {
    let course = Course::new();
    let mine = learner_s_work(&course);
    course.write(&format!("{SOLUTION}/src/main.rs"), "// somebody was here\n");
    let said = course.fails(&["reset", "exercise-3"], 2);
    assert_says(
        &said,
        &[
            "starter.patch does not fit src/main.rs",
            "git restore solutions/03-read-a-record",
        ],
    );
    let mut files = course.files(EXERCISE);
    files.remove(Path::new("hints.md"));
    assert_eq!(files, mine);
}

#[test]
fn an_unknown_target_lists_what_exists() {
    let course = Course::new();
    for command in ["hint", "solution", "reset", "watch", "catch-up", "hunt"] {
        let said = course.fails(&[command, "exercise-99"], 2);
        assert_says(
            &said,
            &[
                "there is no exercise-99",
                "exercise-1, exercise-3",
                "just progress",
            ],
        );
        let said = course.fails(&[command, "kotlin"], 2);
        assert_says(
            &said,
            &["kotlin isn't yours to edit", "exercise-1, exercise-3"],
        );
    }
}

#[test]
fn a_malformed_exercise_is_named_with_its_line() {
    let course = Course::new();
    course.write(
        &format!("{SOLUTION}/exercise.toml"),
        "number = 3\nslug = read\n",
    );
    for command in [
        &["progress"][..],
        &["reset", "exercise-3"],
        &["hint", "exercise-1"],
    ] {
        let said = course.fails(command, 2);
        assert_says(
            &said,
            &[
                "solutions/03-read-a-record/exercise.toml",
                "line 2",
                "next: ",
            ],
        );
    }
}

#[test]
fn a_hint_without_a_check_asks_for_one() {
    let course = Course::new();
    assert_says(
        &course.passes(&["hint", "exercise-3"]),
        &["just check exercise-3"],
    );
}

#[test]
fn hints_go_through_their_levels_and_end_at_the_solution() {
    let course = Course::new();
    course.last_check(
        CheckOutcome::Failed,
        faults(&[
            "a_known_id_answers_its_record",
            "an_unknown_id_answers_404_and_names_it",
        ]),
    );
    let hint = || course.passes(&["hint", "exercise-3"]);
    assert_says(
        &hint(),
        &[
            "hint 1 of 3 for a_known_id_answers_its_record",
            "Look at the query.",
            "just hint exercise-3",
        ],
    );
    assert_says(&hint(), &["hint 2 of 3", "Use `query_as`."]);
    let third = hint();
    assert_says(
        &third,
        &[
            "hint 3 of 3",
            "\n```rust\nsqlx::query_as(SQL)\n```\n",
            "just solution exercise-3",
        ],
    );
    assert_says(&hint(), &["hint 3 of 3", "Nearly the line"]);
}

#[test]
fn a_new_failure_starts_at_the_first_level_again() {
    let course = Course::new();
    course.last_check(
        CheckOutcome::Failed,
        faults(&["a_known_id_answers_its_record"]),
    );
    course.passes(&["hint", "exercise-3"]);
    course.passes(&["hint", "exercise-3"]);
    course.last_check(
        CheckOutcome::Failed,
        faults(&["an_unknown_id_answers_404_and_names_it"]),
    );
    assert_says(
        &course.passes(&["hint", "exercise-3"]),
        &["hint 1 of 3", "Unknown, one."],
    );
    course.last_check(
        CheckOutcome::Failed,
        faults(&["a_known_id_answers_its_record"]),
    );
    assert_says(
        &course.passes(&["hint", "exercise-3"]),
        &["hint 1 of 3", "Look at the query."],
    );
}

#[test]
fn a_compiler_code_has_its_hint_and_an_unknown_one_the_general() {
    let course = Course::new();
    course.last_check(CheckOutcome::DoesNotCompile, faults(&["E9999", "E0277"]));
    assert_says(
        &course.passes(&["hint", "exercise-3"]),
        &["for the error E0277", "Trait, one."],
    );
    course.last_check(CheckOutcome::DoesNotCompile, faults(&["E9999"]));
    assert_says(
        &course.passes(&["hint", "exercise-3"]),
        &["for the error E9999", "Compiler, one."],
    );
    course.last_check(CheckOutcome::DoesNotCompile, faults(&["error"]));
    assert_says(
        &course.passes(&["hint", "exercise-3"]),
        &["for code that does not compile", "Compiler, one."],
    );
}

#[test]
fn another_error_with_the_same_code_starts_at_the_first_level_again() {
    let course = Course::new();
    let error = |message: &str| {
        course.last_check(
            CheckOutcome::DoesNotCompile,
            vec![Fault::new(
                "E0277",
                format!("the trait bound `{message}` is not satisfied\na label\n"),
            )],
        );
        course.passes(&["hint", "exercise-3"])
    };
    assert_says(&error("Pool: Executor"), &["hint 1 of 3", "Trait, one."]);
    assert_says(&error("Pool: Executor"), &["hint 2 of 3"]);
    assert_says(&error("Row: FromRow"), &["hint 1 of 3", "Trait, one."]);
    // This one has a section for its words.
    assert_says(&error("i32: Decode"), &["hint 1 of 3", "Decode, one."]);
}

#[test]
fn the_same_error_in_another_function_starts_at_the_first_level_again() {
    let course = Course::new();
    let error = |function: &str| {
        let fault = Fault {
            place: format!("src/read.rs, fn {function}"),
            ..Fault::new("E0277", "mismatched types")
        };
        course.last_check(CheckOutcome::DoesNotCompile, vec![fault]);
        course.passes(&["hint", "exercise-3"])
    };
    assert_says(&error("read"), &["hint 1 of 3", "Trait, one."]);
    assert_says(&error("read"), &["hint 2 of 3"]);
    assert_says(&error("ready"), &["hint 1 of 3", "Trait, one."]);
}

#[test]
fn a_level_that_was_shown_is_shown_again_when_asked_for() {
    let course = Course::new();
    course.last_check(
        CheckOutcome::Failed,
        faults(&["a_known_id_answers_its_record"]),
    );
    for _ in 0..3 {
        course.passes(&["hint", "exercise-3"]);
    }
    let second = course.passes(&["hint", "exercise-3", "--level", "2"]);
    assert_says(&second, &["hint 2 of 3", "Use `query_as`."]);
    let next = course.passes(&["hint", "exercise-3"]);
    assert_says(&next, &["hint 3 of 3", "--level 1"]);
    assert_says(
        &course.fails(&["hint", "exercise-3", "--level", "4"], 2),
        &["1..=3"],
    );
}

#[test]
fn a_service_that_does_not_start_has_hints_of_its_own() {
    let course = Course::new();
    course.last_check(CheckOutcome::Passed, Vec::new());
    course.last_check(
        CheckOutcome::DoesNotStart,
        vec![Fault::new(DOES_NOT_START, "asks for state\n")],
    );
    assert_says(
        &course.passes(&["hint", "exercise-3"]),
        &[
            "hint 1 of 3 for a service that does not start",
            "Start, one: exercise-3.",
        ],
    );
    let progress = course.passes(&["progress"]);
    assert_says(&progress, &["red at the last check"]);
}

#[test]
fn with_everything_green_there_is_no_hint() {
    let course = Course::new();
    course.last_check(CheckOutcome::Passed, Vec::new());
    assert_says(
        &course.passes(&["hint", "exercise-3"]),
        &["passed", "just measure exercise-3"],
    );
}

#[test]
fn after_a_reset_the_old_failure_is_forgotten() {
    let course = Course::new();
    learner_s_work(&course);
    course.last_check(
        CheckOutcome::Failed,
        faults(&["a_known_id_answers_its_record"]),
    );
    course.passes(&["reset", "exercise-3"]);
    assert_says(
        &course.passes(&["hint", "exercise-3"]),
        &["has not been checked yet"],
    );
}

#[test]
fn malformed_hints_are_named_with_their_line() {
    let course = Course::new();
    course.write(
        &format!("{EXERCISE}/hints.md"),
        "# Hints\n\n## a_test\n1. one\n",
    );
    assert_says(
        &course.fails(&["hint", "exercise-3"], 2),
        &["hints.md, line 3", "next: "],
    );
}

#[test]
fn progress_tells_what_is_not_started_started_and_passed() {
    let course = Course::new();
    let line = |said: &str, name: &str| {
        said.lines()
            .find(|line| line.starts_with(name))
            .unwrap_or("")
            .to_owned()
    };
    let said = course.passes(&["progress"]);
    assert_says(
        &line(&said, "exercise-1"),
        &["Predict", "40", "not started"],
    );
    assert_says(&said, &["next: just check exercise-1"]);

    course.write(&format!("{EXERCISE}/src/main.rs"), "// mine\n");
    assert_says(
        &line(&course.passes(&["progress"]), "exercise-3"),
        &["  started"],
    );

    course.last_check(CheckOutcome::Passed, Vec::new());
    course.write("results/exercise-3.json", "{}");
    let passed = line(&course.passes(&["progress"]), "exercise-3");
    assert_says(&passed, &["passed on 2", "yes"]);

    course.last_check(
        CheckOutcome::Failed,
        faults(&["a_known_id_answers_its_record"]),
    );
    let red = line(&course.passes(&["progress"]), "exercise-3");
    assert_says(&red, &["passed on 2", "red at the last check"]);
    assert!(
        !said.contains('\u{1b}'),
        "colour without a terminal: {said:?}"
    );
}

#[test]
fn catching_up_skips_what_is_not_green_and_keeps_every_file() {
    let course = Course::new();
    let form = "exercises/01-predict/predictions.toml";
    course.write(form, "[size]\nratio = 0.1\n");
    let mine = learner_s_work(&course);
    let said = course.passes(&["catch-up", "exercise-3"]);
    assert_says(
        &said,
        &["Skipped: exercise-1.", "next: just check exercise-3"],
    );
    assert_is_starter(&course);
    assert_eq!(course.attempts().len(), 1);
    assert_nothing_lost(&course, &mine, 0);
    assert_eq!(course.read(form), "[size]\nratio = 0.1\n");
    let progress = course.passes(&["progress"]);
    assert_says(&progress, &["skipped on 2", "next: just check exercise-3"]);

    let again = course.passes(&["catch-up", "exercise-3"]);
    assert_says(&again, &["Skipped: exercise-1.", "is the starter already"]);
    assert_eq!(course.passes(&["progress"]), progress);
    assert_eq!(course.attempts().len(), 1);

    // Who checks it has taken it up again.
    course.fails(&["check", "exercise-1"], 1);
    assert!(!course.passes(&["progress"]).contains("skipped"));
}

#[test]
fn catching_up_with_what_is_green_or_with_the_first_exercise_makes_no_sense() {
    let course = Course::new();
    let first = course.fails(&["catch-up", "exercise-1"], 2);
    assert_says(&first, &["nothing comes before exercise-1", "next: "]);
    course.last_check(CheckOutcome::Passed, Vec::new());
    let mine = learner_s_work(&course);
    let green = course.fails(&["catch-up", "exercise-3"], 2);
    assert_says(&green, &["exercise-3 is green", "just progress"]);
    assert_nothing_lost(&course, &mine, 0);
    assert!(!course.passes(&["progress"]).contains("skipped"));
}

#[test]
fn a_broken_state_file_is_set_aside_with_a_warning() {
    let course = Course::new();
    course.write(".workshop/state/exercise-3.toml", "last_check = nonsense\n");
    let said = course.passes(&["progress"]);
    assert_says(
        &said,
        &[
            "warning: .workshop/state/exercise-3.toml cannot be understood",
            "not started",
        ],
    );
    let kept = walk(&course.path(".workshop/state"));
    assert_eq!(kept.len(), 1);
    assert!(
        kept[0]
            .to_string_lossy()
            .contains("exercise-3.toml.broken-"),
        "{kept:?}"
    );
    assert!(!course.passes(&["progress"]).contains("warning"));
}

/// A watching tool, stopped when the test ends, however it ends.
struct Watching {
    child: Child,
    lines: std::sync::mpsc::Receiver<String>,
}

impl Watching {
    fn start(course: &Course, exercise: &str) -> Self {
        let mut child = course
            .tool()
            .args(["watch", exercise])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the tool starts");
        let stdout = BufReader::new(child.stdout.take().expect("its output"));
        let (sender, lines) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Watching { child, lines }
    }

    /// Waits until a check is over.
    fn wait_until_watching(&self, folder: &str) {
        loop {
            let line = self
                .lines
                .recv_timeout(HANGS)
                .expect("a line before the tool ends or hangs");
            if line.starts_with(&format!("watching {folder};")) {
                return;
            }
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        // It has ended already where the test went well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn watch_checks_again_after_a_change_and_ends_cleanly() {
    let course = Course::new();
    let mut watching = Watching::start(&course, "exercise-1");
    watching.wait_until_watching("exercises/01-predict");
    course.write(
        "exercises/01-predict/predictions.toml",
        "[size]\nratio = 0.2\n",
    );
    watching.wait_until_watching("exercises/01-predict");
    // As most editors save: a new file moved over the old one.
    course.write(
        "exercises/01-predict/.predictions.toml.new",
        "[size]\nratio = 0.3\n",
    );
    let (from, to) = (".predictions.toml.new", "predictions.toml");
    let folder = course.path("exercises/01-predict");
    fs::rename(folder.join(from), folder.join(to)).expect("moved");
    watching.wait_until_watching("exercises/01-predict");
    let process =
        nix::unistd::Pid::from_raw(i32::try_from(watching.child.id()).expect("a process id"));
    nix::sys::signal::kill(process, nix::sys::signal::Signal::SIGINT).expect("interrupted");
    assert!(watching.child.wait().expect("its end").success());
}

/// A machine of fake programs: nothing else is on the PATH.
struct Machine {
    course: Course,
    java_home: PathBuf,
}

impl Machine {
    /// Everything that is needed, and no Docker.
    fn complete() -> Self {
        let course = Course::new();
        let java_home = course.path("jdk");
        let machine = Machine { course, java_home };
        machine.jdk("25.0.1");
        for (program, says) in [
            ("rustc", "rustc 1.99.0 (abc 2026-01-01)"),
            ("cargo", "cargo 1.99.0"),
            ("cargo-clippy", "clippy 0.1.99"),
            ("rustfmt", "rustfmt 1.9.0"),
            ("rustup", "rustup 1.28.0"),
            ("cc", "cc (Debian 12.2.0-14) 12.2.0"),
            ("git", "git version 2.39.5"),
            ("mvn", "Apache Maven 3.9.9"),
            ("just", "just 1.59.0"),
            ("oha", "oha 1.16.0"),
        ] {
            machine.program(program, &format!("echo '{says}'"));
        }
        machine
    }

    fn jdk(&self, version: &str) {
        self.course
            .write("jdk/release", &format!("JAVA_VERSION=\"{version}\"\n"));
        self.course.write("jdk/bin/java", "");
        self.course.write("jdk/bin/javac", "");
    }

    fn program(&self, name: &str, script: &str) {
        let path = format!("bin/{name}");
        self.course.write(&path, &format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(self.course.path(&path), fs::Permissions::from_mode(0o755))
            .expect("made executable");
    }

    fn without(&self, name: &str) {
        fs::remove_file(self.course.path("bin").join(name)).expect("removed");
    }

    fn doctor(&self, variables: &[(&str, &str)]) -> (Option<i32>, String) {
        let mut command = self.course.tool();
        for variable in [
            "WORKSHOP_POSTGRES",
            "WORKSHOP_POSTGRES_IMAGE",
            "WORKSHOP_DATABASE_URL",
            "DOCKER_HOST",
            "XDG_RUNTIME_DIR",
        ] {
            command.env_remove(variable);
        }
        let output = command
            .arg("doctor")
            .env("PATH", self.course.path("bin"))
            .env("HOME", self.course.root())
            .env("JAVA_HOME", &self.java_home)
            .envs(variables.iter().copied())
            .output()
            .expect("the tool starts");
        (output.status.code(), everything(&output))
    }
}

#[test]
fn doctor_finds_a_complete_machine_ready_without_docker() {
    let (code, said) = Machine::complete().doctor(&[]);
    assert_eq!(code, Some(0), "{said}");
    assert_says(&said, &["Ready", "25.0.1", "embedded", "ok       rustc"]);
    assert!(
        !said.contains('\u{1b}'),
        "colour without a terminal: {said:?}"
    );
}

#[test]
fn doctor_names_what_you_can_fix_yourself() {
    let machine = Machine::complete();
    machine.without("oha");
    machine.program("just", "echo 'just 1.20.0'");
    machine.program(
        "cargo-clippy",
        "echo \"error: 'cargo-clippy' is not installed for the toolchain\" >&2; exit 1",
    );
    machine.program("rustc", "echo 'rustc 1.80.0'");
    let (code, said) = machine.doctor(&[]);
    assert_eq!(code, Some(1), "{said}");
    assert_says(
        &said,
        &[
            "note     oha",
            "./justw --bring oha",
            "note     just",
            "1.20.0; a command that needs 1.59.0 brings it",
            "missing  clippy",
            "rustup component add clippy",
            "old      rustc",
            "rustup update stable",
            "2 things have to be fixed; you can do it yourself",
        ],
    );
}

#[test]
fn doctor_names_what_needs_an_administrator() {
    let machine = Machine::complete();
    machine.without("mvn");
    machine.program("apt-get", "");
    let (code, said) = machine.doctor(&[]);
    assert_eq!(code, Some(2), "{said}");
    assert_says(
        &said,
        &[
            "missing  Maven",
            "apt install maven",
            "it needs an administrator",
        ],
    );

    machine.without("apt-get");
    machine.program("dnf", "");
    assert_says(&machine.doctor(&[]).1, &["dnf install maven"]);
}

#[test]
fn doctor_shows_the_commands_of_all_systems_where_it_knows_none() {
    let machine = Machine::complete();
    machine.without("mvn");
    machine.without("cc");
    let said = machine.doctor(&[]).1;
    assert_says(
        &said,
        &[
            "(apt): ",
            "apt install maven",
            "dnf install maven",
            "brew install maven",
            "apt install build-essential",
            "xcode-select --install",
        ],
    );
}

#[test]
fn doctor_refuses_an_old_jdk_and_an_old_maven() {
    let machine = Machine::complete();
    machine.program("brew", "");
    machine.jdk("11.0.2");
    machine.program("mvn", "echo 'Apache Maven 3.6.3'");
    let (code, said) = machine.doctor(&[]);
    // With Homebrew nothing needs an administrator.
    assert_eq!(code, Some(1), "{said}");
    assert_says(
        &said,
        &[
            "old      JDK",
            "11.0.2; 17 or newer is needed",
            "old      Maven",
            "brew install maven",
        ],
    );
}

#[test]
fn doctor_knows_both_ways_to_a_webassembly_module() {
    let machine = Machine::complete();
    machine.program("apt-get", "");
    let (code, said) = machine.doctor(&[]);
    // Only one exercise needs it.
    assert_eq!(code, Some(0), "{said}");
    assert_says(
        &said,
        &[
            "note     WebAssembly",
            "rustup target add wasm32-unknown-unknown",
            "(apt): ",
            "apt install rustc-web cargo-web rust-web-src lld",
        ],
    );

    // The target's libraries, and the linker that comes with them, as rustup lays them down.
    machine.course.write("host/bin/rust-lld", "");
    machine.course.write("host/lib/libstd.rlib", "");
    let libraries = machine.course.path("host/lib");
    machine.program(
        "rustc",
        &format!(
            "case \"$1\" in --print) echo '{}' ;; *) echo 'rustc 1.99.0' ;; esac",
            libraries.display()
        ),
    );
    assert_says(
        &machine.doctor(&[]).1,
        &["ok       WebAssembly    the target wasm32-unknown-unknown is installed"],
    );
}

#[test]
fn doctor_knows_an_nginx_that_will_do_from_one_that_is_too_old() {
    let machine = Machine::complete();
    // It says its version on standard error.
    machine.program("nginx", "echo 'nginx version: nginx/1.18.0' >&2");
    let (code, said) = machine.doctor(&[]);
    // Only one exercise needs it.
    assert_eq!(code, Some(0), "{said}");
    let old = "note     nginx";
    assert_says(
        &said,
        &[old, "1.18.0; 1.20 or newer is needed; exercise 20"],
    );

    machine.program("nginx", "echo 'nginx version: nginx/1.26.3' >&2");
    assert_says(&machine.doctor(&[]).1, &["ok       nginx", "1.26.3 in "]);
}

#[test]
fn doctor_asks_the_packages_for_the_newest_jdk_there_is() {
    let machine = Machine {
        java_home: PathBuf::from("/nowhere"),
        ..Machine::complete()
    };
    machine.program("apt-get", "");
    machine.program(
        "apt-cache",
        "echo 'openjdk-17-jdk - x'; echo 'openjdk-21-jdk - x'",
    );
    let said = machine.doctor(&[]).1;
    assert_says(
        &said,
        &[
            "missing  JDK",
            "JAVA_HOME names /nowhere, which isn't a folder",
        ],
    );
    // A machine that has a JDK elsewhere is told to use that one.
    assert!(
        said.contains("apt install openjdk-21-jdk") || said.contains("export JAVA_HOME=/"),
        "{said}"
    );
}

#[test]
fn doctor_tells_a_docker_without_permission_from_one_that_is_not_running() {
    let machine = Machine::complete();
    let docker = |refusal: &str| {
        machine.program(
            "docker",
            &format!("case \"$1\" in --version) echo 'Docker version 28.2.2';; *) echo '{refusal}' >&2; exit 1;; esac"),
        );
    };
    docker("permission denied while trying to connect to the Docker daemon socket");
    let (code, said) = machine.doctor(&[]);
    assert_eq!(code, Some(0), "Docker is optional: {said}");
    assert_says(
        &said,
        &[
            "this user may not use the Docker engine",
            "usermod --append --groups docker",
            "embedded",
        ],
    );
    let (code, said) = machine.doctor(&[("WORKSHOP_POSTGRES", "docker")]);
    assert_eq!(code, Some(2), "Docker was asked for: {said}");

    docker("Cannot connect to the Docker daemon. Is the docker daemon running?");
    assert_says(
        &machine.doctor(&[]).1,
        &["no Docker engine answers", "systemctl start docker"],
    );
}

#[test]
fn doctor_names_the_image_that_is_missing_and_the_host_that_is_hidden() {
    let machine = Machine::complete();
    let asked = [
        ("WORKSHOP_POSTGRES_IMAGE", "postgres:local"),
        ("WORKSHOP_POSTGRES", "docker"),
    ];
    let docker = |with_a_host: &str| {
        machine.program(
            "docker",
            &format!(
                "case \"$1 $3\" in
                    context*) echo 'unix:///far/away/docker.sock';;
                    '--host version') {with_a_host};;
                    *) echo 'No such image' >&2; exit 1;;
                esac"
            ),
        );
    };
    docker("echo 28.2.2");
    let (code, said) = machine.doctor(&asked);
    assert_eq!(code, Some(1), "{said}");
    assert_says(
        &said,
        &[
            "28.2.2 on unix:///",
            "postgres:local is not here yet",
            "docker pull postgres:local",
            "docker load",
        ],
    );

    docker("echo 'Cannot connect to the Docker daemon' >&2; exit 1");
    let (code, said) = machine.doctor(&asked);
    assert_eq!(code, Some(1), "{said}");
    assert_says(
        &said,
        &[
            "hidden   docker engine",
            "export DOCKER_HOST=unix:///far/away/docker.sock",
        ],
    );
}

#[test]
fn doctor_is_not_hung_by_a_docker_that_hangs() {
    let machine = Machine::complete();
    machine.program("docker", "/bin/sleep 600");
    let (code, said) = machine.doctor(&[]);
    assert_eq!(code, Some(0), "{said}");
    assert_says(&said, &["docker engine", "silent", "embedded"]);
}

#[test]
fn doctor_s_block_can_be_pasted_without_telling_secrets() {
    let machine = Machine::complete();
    let (_, said) = machine.doctor(&[(
        "WORKSHOP_DATABASE_URL",
        "postgres://me:hunter2@example.org/db",
    )]);
    assert!(
        !said.contains("hunter2") && !said.contains("example.org"),
        "{said}"
    );
    let block = said.split("```").nth(1).expect("a block");
    assert_says(
        block,
        &[
            "workshop ",
            "rustc 1.99.0",
            "JDK 25.0.1 in ~/jdk",
            "url, by WORKSHOP_DATABASE_URL",
        ],
    );
    let home = machine.course.root().display().to_string();
    assert!(!block.contains(&home), "{block}");
}

#[test]
fn doctor_refuses_a_provider_that_does_not_exist() {
    let (code, said) = Machine::complete().doctor(&[("WORKSHOP_POSTGRES", "podman")]);
    assert_eq!(code, Some(1), "{said}");
    assert_says(
        &said,
        &[
            "\"podman\"",
            "`url`, `docker`, `embedded`",
            "unset WORKSHOP_POSTGRES",
        ],
    );
}

#[test]
fn doctor_s_list_of_tools_may_not_be_malformed() {
    let machine = Machine::complete();
    machine.course.write("tests/tools.toml", "just = \n");
    let (code, said) = machine.doctor(&[]);
    assert_eq!(code, Some(2), "{said}");
    assert_says(&said, &["tests/tools.toml is malformed", "next: "]);
}

#[test]
fn a_command_of_another_program_is_handed_over_as_it_was_typed() {
    let course = Course::new();
    course.write("justw", "for word; do echo \"[$word]\"; done; exit 7\n");
    let measure = [
        "measure",
        "exercise-3",
        "--at",
        "http://pi:1",
        "--key",
        "a & $b",
    ];
    for (program, arguments) in [
        ("workshop-lab", measure.as_slice()),
        ("workshop-book", &["book-check"]),
        ("workshop-author", &["verify", "all", "--quick"]),
    ] {
        let said = course.fails(arguments, 7);
        let words = [&["--run", program], arguments].concat();
        let words: String = words.iter().map(|word| format!("[{word}]\n")).collect();
        assert_eq!(said, words);
    }
    // What is wrong in it is said without that program.
    assert_says(&course.fails(&["verify"], 2), &["Usage"]);
}
