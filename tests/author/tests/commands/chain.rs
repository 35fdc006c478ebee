//! The chain of references, seen by its author: `carry` run on a small course of three states in a repository of its own,
//! and what the gate says of it.

// A test that cannot set up its course has to fail; helpers count as tests.
#![allow(clippy::expect_used)]

use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::PathBuf;
use std::process::Command;

use crate::folder::{Folder, assert_says, exercise_toml};
use workshop_author::chain;
use workshop_base::exercise::Catalogue;
use workshop_base::originals;
use workshop_base::workspace::Workspace;

/// Three exercises, each a state of one service: `main.rs` is edited in all of them, `settings.rs` comes changed with the
/// third one's starter, `start.rs` is the same everywhere.
struct Course {
    folder: Folder,
}

impl Deref for Course {
    type Target = Folder;

    fn deref(&self) -> &Folder {
        &self.folder
    }
}

const NAMES: [&str; 3] = ["02-first", "03-second", "04-third"];

impl Course {
    fn new() -> Self {
        let course = Course {
            folder: Folder::new(),
        };
        for (number, name) in (2..).zip(NAMES) {
            course.state(number, name);
        }
        for number in 2..=4 {
            course.passes(&["starter-patch", &format!("exercise-{number}")]);
        }
        course.write(".gitignore", "/.workshop\n");
        course.git(&["init", "--quiet"]);
        course.commit();
        course
    }

    fn state(&self, number: u8, name: &str) {
        let slug = &name[3..];
        let mut about = exercise_toml(number, slug, slug, "src/main.rs", "a_test");
        if number > 2 {
            let given = if number == 4 {
                "\"src/settings.rs\""
            } else {
                ""
            };
            about += &format!(
                "[grows_from]\nexercise = {}\ngiven = [{given}]\n",
                number - 1
            );
        }
        let settings = if number == 4 {
            SETTINGS.to_owned() + KEYS
        } else {
            SETTINGS.to_owned()
        };
        for (side, package) in [("exercises", "exercise"), ("solutions", "solution")] {
            let file = |path: &str| format!("{side}/{name}/{path}");
            self.write(&file("exercise.toml"), &about);
            self.write(
                &file("Cargo.toml"),
                &format!("[package]\nname = \"{package}-{number}\"\n"),
            );
            self.write(&file("src/settings.rs"), &settings);
            self.write(&file("src/start.rs"), "// a\n// b\npub fn start() {}\n");
            let reached = number - u8::from(package == "exercise");
            self.write(&file("src/main.rs"), &main(reached));
        }
        let reference = main(number);
        let planted = reference.replace("fn lesson", "// planted\nfn lesson");
        let patch = diffy::create_patch(&reference, &planted).to_string();
        let patch = patch
            .replace("--- original", "--- a/src/main.rs")
            .replace("+++ modified", "+++ b/src/main.rs");
        self.write(
            &format!("solutions/{name}/mistakes/planted.patch"),
            &format!("Title: Planted\nCaught-by: a_test\nWhy: Because.\n\n{patch}"),
        );
    }

    fn git(&self, args: &[&str]) {
        let output = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@localhost"])
            .args(args)
            .current_dir(self.root())
            .output()
            .expect("git starts");
        assert!(output.status.success(), "{args:?}: {output:?}");
    }

    fn commit(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", "a state"]);
    }

    /// Replaces a text in a file.
    fn edit(&self, path: &str, old: &str, new: &str) {
        let text = self.read(path);
        assert!(text.contains(old), "{old:?} is not in {path}:\n{text}");
        self.write(path, &text.replace(old, new));
    }

    fn faults(&self, number: u8) -> String {
        faults(&Workspace::at(self.root()), number)
    }

    #[track_caller]
    fn assert_chain_holds(&self) {
        for number in 2..=4 {
            assert_eq!(self.faults(number), "", "exercise {number}");
        }
    }

    /// Everything below the two folders of exercises.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        for side in ["exercises", "solutions"] {
            let tree =
                workshop_base::files::read_tree(&self.path(side)).expect("a readable folder");
            files.extend(
                tree.into_iter()
                    .map(|(path, bytes)| (PathBuf::from(side).join(path), bytes)),
            );
        }
        files
    }
}

/// What the gate says of an exercise's place in the chain.
fn faults(workspace: &Workspace, number: u8) -> String {
    let catalogue = Catalogue::read(workspace).expect("a catalogue");
    let exercise = catalogue.get(number).expect("an exercise");
    let mut faults = originals::patch_faults(workspace, exercise).expect("a verdict");
    if let Some(grows_from) = &exercise.grows_from {
        faults.extend(
            chain::unannounced(workspace, &catalogue, exercise, grows_from).expect("a verdict"),
        );
    }
    faults.join("\n")
}

const SETTINGS: &str =
    "// first\n// second\n// third\npub const PORT: u16 = 8080;\n\n// the rest\n";

/// What the third exercise adds to the settings, well apart from the rest.
const KEYS: &str = "\n// of the third\npub const KEYS: u8 = 1;\n";

/// `main.rs` with the lessons up to this number in it.
fn main(number: u8) -> String {
    let lessons: String = (2..=number)
        .map(|lesson| format!("\nfn lesson_{lesson}() {{\n    done();\n}}\n"))
        .collect();
    format!("// a service\n\nfn main() {{\n    start();\n}}\n{lessons}")
}

#[test]
fn a_change_reaches_every_later_state_its_starter_and_its_mistakes() {
    let course = Course::new();
    course.assert_chain_holds();
    // One file that every later lesson edits, one that a later starter brings changed, one that no lesson touches.
    course.edit("solutions/02-first/src/main.rs", "a service", "the service");
    course.edit("solutions/02-first/src/settings.rs", "first", "FIRST");
    course.edit("solutions/02-first/src/start.rs", "// a", "// A");
    assert_says(
        &course.faults(3),
        &["src/start.rs isn't as in the reference of exercise-2"],
    );
    let said = course.passes(&["carry", "exercise-2"]);
    assert_says(&said, &["exercise-4", "just verify all"]);
    for name in NAMES {
        for side in ["exercises", "solutions"] {
            let read = |file: &str| course.read(&format!("{side}/{name}/src/{file}"));
            assert!(
                read("main.rs").starts_with("// the service\n"),
                "{side}/{name}"
            );
            assert!(
                read("settings.rs").starts_with("// FIRST\n"),
                "{side}/{name}"
            );
            assert!(read("start.rs").starts_with("// A\n"), "{side}/{name}");
        }
    }
    assert_says(
        &course.read("solutions/04-third/src/settings.rs"),
        &["KEYS"],
    );
    assert_says(
        &course.read("solutions/04-third/src/main.rs"),
        &["lesson_4"],
    );
    course.assert_chain_holds();
    // The patches still make what they made.
    let starter = course.read("exercises/04-third/src/main.rs");
    course.write("exercises/04-third/src/main.rs", "// somebody's\n");
    course.passes(&["reset", "exercise-4"]);
    assert_eq!(course.read("exercises/04-third/src/main.rs"), starter);
    assert_says(
        &course.fails(&["carry", "exercise-2"], 1),
        &[
            "exercise-2 is as it was after the last carry",
            "--since COMMIT",
        ],
    );
}

#[test]
fn a_change_that_is_committed_already_is_carried_as_well() {
    let course = Course::new();
    course.edit("solutions/02-first/src/settings.rs", "first", "FIRST");
    course.commit();
    assert_says(
        &course.fails(&["carry", "exercise-2"], 1),
        &["as it was in HEAD"],
    );
    course.passes(&["carry", "exercise-2", "--since", "HEAD~1"]);
    assert_says(
        &course.read("solutions/04-third/src/settings.rs"),
        &["FIRST"],
    );
    course.assert_chain_holds();
}

#[test]
fn files_are_added_and_removed_in_every_later_state() {
    let course = Course::new();
    course.write("solutions/02-first/src/new.rs", "// new\n");
    std::fs::remove_file(course.path("solutions/02-first/src/start.rs")).expect("a removal");
    course.passes(&["carry", "exercise-2"]);
    for name in NAMES {
        for side in ["exercises", "solutions"] {
            let there = |file: &str| course.path(&format!("{side}/{name}/src/{file}")).exists();
            assert!(there("new.rs") && !there("start.rs"), "{side}/{name}");
        }
    }
    course.assert_chain_holds();
}

#[test]
fn the_package_names_stay() {
    let course = Course::new();
    course.edit(
        "solutions/02-first/Cargo.toml",
        "[package]",
        "[package]\n# new",
    );
    course.passes(&["carry", "exercise-2"]);
    assert_eq!(
        course.read("solutions/04-third/Cargo.toml"),
        "[package]\n# new\nname = \"solution-4\"\n"
    );
    assert_eq!(
        course.read("exercises/04-third/Cargo.toml"),
        "[package]\n# new\nname = \"exercise-4\"\n"
    );
}

#[test]
fn a_change_is_carried_again_without_a_commit_between() {
    let course = Course::new();
    let settings = "src/settings.rs";
    for (old, new) in [("first", "FIRST"), ("FIRST", "First")] {
        course.edit(&format!("solutions/02-first/{settings}"), old, new);
        course.passes(&["carry", "exercise-2"]);
        for name in NAMES {
            for side in ["exercises", "solutions"] {
                let text = course.read(&format!("{side}/{name}/{settings}"));
                assert!(text.starts_with(&format!("// {new}\n")), "{side}/{name}");
            }
        }
    }
    // What was carried is thrown away, and something else is carried.
    course.git(&["checkout", "--quiet", "."]);
    course.edit("solutions/02-first/src/settings.rs", "second", "SECOND");
    course.passes(&["carry", "exercise-2"]);
    let text = course.read("exercises/04-third/src/settings.rs");
    assert!(text.starts_with("// first\n// SECOND\n"), "{text}");
    course.assert_chain_holds();
}

#[test]
fn a_conflict_is_left_in_the_file_and_nothing_is_carried_beyond() {
    let course = Course::new();
    for side in ["exercises", "solutions"] {
        let about = format!("{side}/03-second/exercise.toml");
        course.edit(&about, "given = []", "given = [\"src/settings.rs\"]");
    }
    course.edit("solutions/03-second/src/settings.rs", "8080", "3333");
    course.passes(&["carry", "exercise-3"]);
    course.commit();
    course.edit("solutions/02-first/src/settings.rs", "8080", "2222");
    course.edit("solutions/02-first/src/start.rs", "// a", "// A");
    let third = course.read("solutions/04-third/src/settings.rs");
    let said = course.fails(&["carry", "exercise-2"], 1);
    let settings = "solutions/03-second/src/settings.rs";
    assert_says(
        &said,
        &[
            "conflict in solutions/03-second/src/settings.rs",
            "next: just carry exercise-3",
        ],
    );
    let marked = course.read(settings);
    let sides = ["<<<<<<< here", "3333", "8080", "2222", ">>>>>>> the change"];
    assert_says(&marked, &sides);
    assert_says(&course.read("solutions/03-second/src/start.rs"), &["// A"]);
    assert_eq!(course.read("solutions/04-third/src/settings.rs"), third);
    assert_says(
        &course.read("exercises/02-first/src/settings.rs"),
        &["2222"],
    );

    // As long as it isn't resolved, nothing goes on from there.
    assert_says(&course.fails(&["carry", "exercise-3"], 1), &["conflict in"]);
    assert_eq!(course.read(settings), marked);
    course.write(settings, &SETTINGS.replace("8080", "2233"));
    course.passes(&["carry", "exercise-3"]);
    let resolved = SETTINGS.replace("8080", "2233") + KEYS;
    for side in ["exercises", "solutions"] {
        let third = |file: &str| course.read(&format!("{side}/04-third/src/{file}"));
        assert_eq!(third("settings.rs"), resolved, "{side}");
        assert!(third("start.rs").starts_with("// A\n"), "{side}");
    }
    course.assert_chain_holds();
}

#[test]
fn an_edit_that_nobody_committed_is_merged_and_not_lost() {
    let course = Course::new();
    course.edit(
        "solutions/03-second/src/main.rs",
        "done();",
        "done(); // mine",
    );
    course.edit("solutions/02-first/src/main.rs", "a service", "the service");
    course.passes(&["carry", "exercise-2"]);
    let mine = course.read("solutions/03-second/src/main.rs");
    assert_says(&mine, &["// mine", "the service"]);
}

#[test]
fn a_learner_s_work_is_left_alone() {
    let course = Course::new();
    course.edit("exercises/04-third/src/main.rs", "start();", "mine();");
    course.edit("solutions/02-first/src/main.rs", "a service", "the service");
    let before = course.files();
    let said = course.fails(&["carry", "exercise-2"], 1);
    assert_says(
        &said,
        &["exercises/04-third has work in it", "just reset exercise-4"],
    );
    assert_eq!(course.files(), before);
}

#[test]
fn a_new_state_in_the_middle_is_a_change_of_the_state_that_it_continues() {
    let course = Course::new();
    course.state(5, "05-between");
    for side in ["exercises", "solutions"] {
        let about = format!("{side}/05-between/exercise.toml");
        course.edit(&about, "exercise = 4", "exercise = 2");
        let about = format!("{side}/03-second/exercise.toml");
        course.edit(&about, "exercise = 2", "exercise = 5");
        let main = main(2).replace("// a service", &format!("// a service in {side}"));
        course.write(&format!("{side}/05-between/src/main.rs"), &main);
    }
    let patch = course.path("solutions/05-between/mistakes/planted.patch");
    std::fs::remove_file(patch).expect("a removal");
    course.passes(&["starter-patch", "exercise-5"]);
    course.passes(&["carry", "exercise-5"]);
    for (name, lesson) in [("03-second", "lesson_3"), ("04-third", "lesson_4")] {
        let main = course.read(&format!("solutions/{name}/src/main.rs"));
        assert_says(&main, &["a service in solutions", lesson]);
        let starter = course.read(&format!("exercises/{name}/src/main.rs"));
        assert_says(&starter, &["a service in solutions"]);
    }
}

#[test]
fn a_starter_follows_the_reference_before_in_lines_that_the_lesson_replaces() {
    let course = Course::new();
    course.edit(
        "solutions/03-second/src/main.rs",
        "start();",
        "start_well();",
    );
    course.passes(&["starter-patch", "exercise-3"]);
    course.passes(&["carry", "exercise-3"]);
    assert_says(
        &course.read("exercises/03-second/src/main.rs"),
        &["start();"],
    );
    course.edit("solutions/02-first/src/main.rs", "start();", "begin();");
    let reference = course.read("solutions/03-second/src/main.rs");
    course.fails(&["carry", "exercise-2"], 1);
    course.write("solutions/03-second/src/main.rs", &reference);
    let said = course.passes(&["carry", "exercise-3"]);
    assert_says(
        &course.read("exercises/03-second/src/main.rs"),
        &["begin();"],
    );
    assert!(!said.contains("kept lines of its own where the reference has changed: exercises/03"));
    course.assert_chain_holds();
}

#[test]
fn a_mistake_keeps_its_own_lines_and_says_so() {
    let course = Course::new();
    course.edit(
        "solutions/04-third/src/main.rs",
        "fn lesson_4",
        "async fn lesson_4",
    );
    let said = course.passes(&["carry", "exercise-4"]);
    assert_says(
        &said,
        &["solutions/04-third/mistakes/planted.patch, src/main.rs"],
    );
    assert_says(
        &course.read("solutions/04-third/mistakes/planted.patch"),
        &["Title: Planted\nCaught-by: a_test\n", "+// planted"],
    );
    assert!(
        !course
            .read("solutions/04-third/mistakes/planted.patch")
            .contains("<<<<<<<")
    );
}

#[test]
fn a_starter_says_what_it_brings() {
    let course = Course::new();
    for side in ["exercises", "solutions"] {
        course.edit(&format!("{side}/04-third/src/start.rs"), "// a", "// other");
    }
    assert_says(
        &course.faults(4),
        &["src/start.rs isn't as in the reference of exercise-3"],
    );
    for side in ["exercises", "solutions"] {
        let about = format!("{side}/03-second/exercise.toml");
        course.edit(
            &about,
            "given = []",
            "given = [\"src/start.rs\", \"src/main.rs\"]",
        );
    }
    assert_says(
        &course.faults(3),
        &[
            "given lists src/start.rs, but",
            "both edit and given list src/main.rs",
        ],
    );
}

#[test]
fn without_a_repository_there_is_no_merge_and_no_guess() {
    let course = Course::new();
    course.edit("solutions/02-first/src/settings.rs", "first", "FIRST");
    std::fs::remove_dir_all(course.path(".git")).expect("a removal");
    let before = course.files();
    let said = course.fails(&["carry", "exercise-2"], 2);
    assert_says(&said, &["git cannot compare with the commit", "next: "]);
    assert_eq!(course.files(), before);
}

#[test]
fn the_chain_of_the_course_holds() {
    let workspace = Workspace::find().expect("the checkout");
    let catalogue = Catalogue::read(&workspace).expect("a catalogue");
    for exercise in catalogue.iter() {
        assert_eq!(
            faults(&workspace, exercise.number),
            "",
            "{}",
            exercise.name()
        );
    }
}

#[test]
fn a_starter_that_differs_outside_the_edit_list_gets_no_patch() {
    let course = Course::new();
    course.edit("exercises/02-first/src/start.rs", "// a", "// A");
    assert_says(
        &course.fails(&["starter-patch", "exercise-2"], 1),
        &["src/start.rs", "edit list"],
    );
}

#[test]
fn a_slip_in_what_is_to_be_verified_is_answered_with_what_was_meant() {
    let said = Course::new().fails(&["verify", "exercise2"], 2);
    assert_says(&said, &["did you mean exercise-2?", "just verify all"]);
}
