//! The run configurations of editors: each exercise has its own, and none is of an exercise that isn't there.

#![expect(
    clippy::expect_used,
    reason = "the helpers of a test may fail as the test itself may"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use workshop_base::exercise::{Catalogue, Exercise};
use workshop_base::files;
use workshop_base::workspace::Workspace;

#[test]
fn each_exercise_has_its_run_configurations() {
    let workspace = Workspace::find().expect("the checkout");
    assert_eq!(faults(workspace.root()), Vec::<String>::new());
}

/// What the run configurations of a checkout lack, and what is too much.
pub fn faults(root: &Path) -> Vec<String> {
    let catalogue = Catalogue::read(&Workspace::at(root)).expect("the exercises");
    let (texts, mut known, mut faults) = (texts(root), BTreeSet::new(), Vec::new());
    for exercise in catalogue.iter().filter(|exercise| exercise.is_rust()) {
        for (file, entry) in entries(exercise) {
            let times = texts
                .get(&file)
                .map_or(0, |text| text.matches(&entry).count());
            if times != 1 {
                faults.push(format!("{file} has {entry} {times} times, not once"));
            }
        }
        known.insert(exercise.number.to_string());
    }
    for (file, text) in texts {
        let numbers = text.split("exercise-").skip(1).map(|after| {
            let end = after.find(|next: char| !next.is_ascii_digit());
            after[..end.unwrap_or(after.len())].to_owned()
        });
        let odd = numbers.filter(|number| !number.is_empty() && !known.contains(number));
        faults.extend(odd.map(|number| format!("{file} has exercise-{number}, which isn't there")));
    }
    faults
}

/// What an exercise needs in the files of editors: the file, and what is in it.
fn entries(exercise: &Exercise) -> Vec<(String, String)> {
    let name = exercise.name();
    let mut commands = vec![
        (format!("check {name}"), format!("check {name}")),
        (format!("watch {name}"), format!("watch {name}")),
    ];
    let mut entries = Vec::new();
    let mut entry = |file: &str, entry: String| entries.push((file.to_owned(), entry));
    // A service by itself can be debugged.
    if exercise.is_crate() && !exercise.is_own() && exercise.kotlin.is_none() {
        let title = format!("debug database {name}");
        for has in [
            format!("\"name\": \"debug {name}\""),
            format!("\"--package={name}\""),
            format!("\"preLaunchTask\": \"{title}\""),
        ] {
            entry(".vscode/launch.json", has);
        }
        commands.push((title, format!("run {name} --debug")));
    }
    for (title, command) in commands {
        entry(".vscode/tasks.json", format!("\"label\": \"{title}\""));
        entry(
            ".vscode/tasks.json",
            format!("\"command\": \"./justw {command}\""),
        );
        let file = format!(".run/{title}.run.xml");
        entry(&file, format!("name=\"{title}\" "));
        entry(&file, format!("folderName=\"{name}\""));
        entry(&file, format!("value=\"./justw {command}\""));
    }
    entries
}

/// The files of editors by their paths, without those that `just run --debug` leaves.
fn texts(root: &Path) -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    for folder in [".run", ".vscode"] {
        let files = files::read_tree(&root.join(folder)).expect("the files of editors");
        for (path, text) in files {
            let path = format!("{folder}/{}", path.display());
            if path.starts_with(".run/debug ") && !path.starts_with(".run/debug database ") {
                continue;
            }
            texts.insert(path, String::from_utf8(text).expect("text"));
        }
    }
    texts
}
