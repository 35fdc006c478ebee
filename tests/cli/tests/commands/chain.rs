//! The chain of references, seen by its author: `carry` run on a small course of three states in a repository of its own,
//! and what the gate says of it.

// A test that cannot set up its course has to fail; helpers count as tests.
#![allow(clippy::expect_used)]

use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::PathBuf;
use std::process::Command;

use crate::folder::{Folder, assert_says, exercise_toml};
use workshop::chain;
use workshop_base::exercise::Catalogue;
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
        course.git(&["init", "--quiet"]);
        for number in 2..=4 {
            course.passes(&["starter-patch", &format!("exercise-{number}")]);
        }
        course.passes(&["carry", "exercise-2"]);
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

    /// What the gate says of an exercise's place in the chain.
    fn faults(&self, number: u8) -> String {
        let workspace = Workspace::at(self.root());
        let catalogue = Catalogue::read(&workspace).expect("a catalogue");
        let exercise = catalogue.get(number).expect("an exercise");
        let mut faults = chain::not_carried(&workspace, &catalogue, exercise).expect("a verdict");
        if let Some(grows_from) = &exercise.grows_from {
            faults.extend(
                chain::unannounced(&workspace, &catalogue, exercise, grows_from)
                    .expect("a verdict"),
            );
        }
        faults.join("\n")
    }

    /// The copies that wait for a decision about a file, newest last.
    fn copies(&self, file: &str) -> Vec<String> {
        let desk = std::fs::read_dir(self.path(".workshop/carry")).expect("a folder");
        let copies = desk.map(|entry| entry.expect("an entry").path().join(file));
        let mut copies: Vec<PathBuf> = copies.filter(|copy| copy.exists()).collect();
        copies.sort_by_key(|copy| copy.metadata().and_then(|data| data.modified()).ok());
        let shown = |copy: &PathBuf| {
            copy.strip_prefix(self.root())
                .map(|copy| copy.display().to_string())
        };
        copies
            .iter()
            .map(shown)
            .collect::<Result<_, _>>()
            .expect("inside")
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
    for number in [2, 3] {
        assert_says(
            &course.faults(number),
            &[
                "src/main.rs of exercise-2 has changed",
                "src/settings.rs of exercise-2 has changed",
                "src/start.rs of exercise-2 has changed",
                "just carry exercise-2",
            ],
        );
    }
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
        &course.passes(&["carry", "exercise-2"]),
        &["has everything"],
    );
}

#[test]
fn a_change_that_is_committed_already_is_carried_as_well() {
    let course = Course::new();
    course.edit("solutions/02-first/src/settings.rs", "first", "FIRST");
    course.commit();
    course.passes(&["carry", "exercise-2"]);
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
fn a_conflict_shows_both_sides_and_writes_nothing_until_it_is_decided() {
    let course = Course::new();
    course.edit("solutions/04-third/src/settings.rs", "8080", "4444");
    course.passes(&["carry", "exercise-4"]);
    course.edit("solutions/02-first/src/settings.rs", "8080", "2222");
    let before = course.files();
    let said = course.fails(&["carry", "exercise-2"], 1);
    let copy = &course.copies("solutions/04-third/src/settings.rs")[0];
    assert_says(
        &said,
        &[
            copy,
            "4444",
            "2222",
            "8080",
            "Nothing else was written",
            "just carry exercise-2",
        ],
    );
    assert_eq!(course.files(), before);

    // Once more without a decision: the same, and the copy is left alone.
    course.edit(copy, "4444", "4444 // undecided");
    course.fails(&["carry", "exercise-2"], 1);
    assert_says(&course.read(copy), &["undecided"]);
    assert_eq!(course.files(), before);

    let decided = SETTINGS.replace("8080", "2244") + KEYS;
    course.write(copy, &decided);
    course.passes(&["carry", "exercise-2"]);
    assert_eq!(course.read("solutions/04-third/src/settings.rs"), decided);
    assert_eq!(course.read("exercises/04-third/src/settings.rs"), decided);
    assert_says(
        &course.read("solutions/03-second/src/settings.rs"),
        &["2222"],
    );
    assert!(!course.path(".workshop/carry").exists());
    course.assert_chain_holds();
}

#[test]
fn a_decision_is_for_the_contents_that_it_was_made_of() {
    let course = Course::new();
    course.edit("solutions/03-second/src/settings.rs", "8080", "3333");
    course.passes(&["carry", "exercise-3"]);
    course.edit("solutions/02-first/src/settings.rs", "8080", "2222");
    course.fails(&["carry", "exercise-2"], 1);
    let settings = "solutions/03-second/src/settings.rs";
    course.write(&course.copies(settings)[0], "// decided\n");
    course.edit(settings, "second", "newer");
    course.fails(&["carry", "exercise-2"], 1);
    let copies = course.copies(settings);
    assert_eq!(copies.len(), 2, "the older decision is kept");
    assert_eq!(course.read(&copies[0]), "// decided\n");
    assert_says(&course.read(&copies[1]), &["newer", "<<<<<<<"]);
}

#[test]
fn an_edit_that_nobody_committed_is_merged_and_not_lost() {
    let course = Course::new();
    course.edit(
        "solutions/03-second/src/main.rs",
        "done();",
        "done(); // mine",
    );
    course.edit(
        "exercises/04-third/src/main.rs",
        "start();",
        "start(); // theirs",
    );
    course.edit("solutions/02-first/src/main.rs", "a service", "the service");
    course.passes(&["carry", "exercise-2"]);
    let mine = course.read("solutions/03-second/src/main.rs");
    assert_says(&mine, &["// mine", "the service"]);
    let theirs = course.read("exercises/04-third/src/main.rs");
    assert_says(&theirs, &["// theirs", "the service"]);
    // The learner's line has not become a part of the course.
    assert!(
        !course
            .read("solutions/04-third/starter.patch")
            .contains("theirs")
    );
}

#[test]
fn a_learner_s_work_that_the_change_runs_into_is_left_alone() {
    let course = Course::new();
    course.edit(
        "exercises/03-second/src/main.rs",
        "// a service",
        "// my service",
    );
    course.edit("solutions/02-first/src/main.rs", "a service", "the service");
    let before = course.files();
    let said = course.fails(&["carry", "exercise-2"], 1);
    assert_says(
        &said,
        &[
            "exercises/03-second/src/main.rs has a learner's work in it",
            "just reset exercise-3",
        ],
    );
    assert_eq!(course.files(), before);
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
    course.fails(&["carry", "exercise-2"], 1);
    let reference = course.read("solutions/03-second/src/main.rs");
    let copy = &course.copies("solutions/03-second/src/main.rs")[0];
    course.write(copy, &reference);
    let said = course.passes(&["carry", "exercise-2"]);
    assert_eq!(course.read("solutions/03-second/src/main.rs"), reference);
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
fn a_link_that_is_left_out_of_the_description_is_missed() {
    let course = Course::new();
    let about = course.read("solutions/03-second/exercise.toml");
    let (without, _) = about.split_once("[grows_from]").expect("a link");
    for side in ["exercises", "solutions"] {
        course.write(&format!("{side}/03-second/exercise.toml"), without);
    }
    assert_says(
        &course.faults(3),
        &["files of exercise-2 were taken over, but exercise.toml has no [grows_from]"],
    );
}

#[test]
fn without_the_old_content_there_is_no_merge_and_no_guess() {
    let course = Course::new();
    course.edit("solutions/02-first/src/settings.rs", "first", "FIRST");
    std::fs::remove_dir_all(course.path(".git")).expect("a removal");
    let before = course.files();
    let said = course.fails(&["carry", "exercise-2"], 2);
    assert_says(
        &said,
        &[
            "solutions/02-first/src/settings.rs has changed",
            "git fetch --unshallow",
        ],
    );
    assert_eq!(course.files(), before);
}

#[test]
fn the_chain_of_the_course_holds() {
    let workspace = Workspace::find().expect("the checkout");
    let catalogue = Catalogue::read(&workspace).expect("a catalogue");
    for exercise in catalogue.iter() {
        let faults = chain::not_carried(&workspace, &catalogue, exercise).expect("a verdict");
        assert_eq!(faults, [""; 0], "{}", exercise.name());
    }
}
