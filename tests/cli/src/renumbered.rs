//! Since the third edition exercises are numbered in the order of the book. What a checkout of the second one keeps under its numbers,
//! which are attempts, progress and results, is brought along once; and whoever types an old number is told the new one.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::Value;

use workshop_base::files;
use workshop_base::lock::Lock;
use workshop_base::workspace::Workspace;

/// The numbers that changed: what the second edition called exercise 9 is exercise 17 now.
const NUMBERS: [(&str, &str); 16] = [
    ("9", "17"),
    ("10", "18"),
    ("11", "19"),
    ("12", "20"),
    ("13", "11"),
    ("14", "12"),
    ("15", "13"),
    ("16", "22"),
    ("17", "23"),
    ("18", "24"),
    ("19", "14"),
    ("20", "21"),
    ("21", "15"),
    ("22", "16"),
    ("23", "9"),
    ("24", "10"),
];
/// What is written in a checkout whose work began with the second edition, and in any other.
const SECOND: &str = "2\n";
const THIRD: &str = "3\n";

/// Gives attempts, progress and results of the second edition their new numbers, unless that is done. Ended in the middle, the next
/// call finishes it: what has its new number waits in a folder of its own until nothing has an old one.
pub fn bring_along(workspace: &Workspace) -> anyhow::Result<()> {
    let began_with = began_with(workspace);
    let moving = workspace.state().join("renumbered");
    if began_with.is_file() && !moving.is_dir() {
        return Ok(());
    }
    let turn = workspace.state().join("renumbered.lock");
    let _turn = Lock::take_blocking(&turn, "brings your work to the new numbers")?;
    let places = [
        ("attempts", workspace.attempts()),
        ("state", workspace.state().join("state")),
        ("results", workspace.results()),
    ];
    if !began_with.is_file() {
        let mut edition = THIRD;
        for (name, place) in &places {
            for (entry, file) in of_exercises(place)? {
                edition = SECOND;
                let new = renumbered(&file);
                if new != file {
                    number_anew_within(&entry)?;
                    move_to(&entry, &moving.join(name).join(new))?;
                }
            }
        }
        files::write(&began_with, edition.as_bytes())?;
    }
    for (name, place) in &places {
        for (entry, file) in of_exercises(&moving.join(name))? {
            move_to(&entry, &place.join(file))?;
        }
    }
    files::remove(&moving)
}

/// What to tell someone who types the number of an exercise in a checkout that the second edition was used in.
pub fn new_number(workspace: &Workspace, typed: &str) -> Option<String> {
    let number = typed
        .trim_start_matches("exercise-")
        .trim_start_matches("solution-");
    let (_, new) = NUMBERS.iter().find(|(old, _)| *old == number)?;
    let edition = fs::read_to_string(began_with(workspace)).ok()?;
    (edition == SECOND).then(|| {
        format!(
            "exercise {number} of the second edition is exercise {new} now: see Updating the course"
        )
    })
}

fn began_with(workspace: &Workspace) -> PathBuf {
    workspace.state().join("edition")
}

/// What a folder has of exercises, each with its name.
fn of_exercises(folder: &Path) -> anyhow::Result<Vec<(PathBuf, String)>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let entries: Result<Vec<_>, _> = fs::read_dir(folder)?.collect();
    let named = entries?.into_iter().filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        name.starts_with("exercise-").then(|| (entry.path(), name))
    });
    Ok(named.collect())
}

/// `exercise-13.toml` becomes `exercise-11.toml`; what doesn't begin with the number of an exercise stays as it is.
fn renumbered(name: &str) -> String {
    for kind in ["exercise-", "solution-"] {
        let Some(rest) = name.strip_prefix(kind) else {
            continue;
        };
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = rest.split_at(digits);
        if let Some((_, new)) = NUMBERS.iter().find(|(old, _)| *old == number) {
            return format!("{kind}{new}{rest}");
        }
    }
    name.to_owned()
}

/// A result says in itself what was measured.
fn number_anew_within(file: &Path) -> anyhow::Result<()> {
    if file.extension().is_none_or(|extension| extension != "json") {
        return Ok(());
    }
    // One that can't be read is refused where it is shown, by its line.
    if let Ok(mut result) = serde_json::from_str(&files::text(file)?) {
        number_anew(&mut result);
        files::write_atomically(file, serde_json::to_string_pretty(&result)?.as_bytes())?;
    }
    Ok(())
}

fn number_anew(value: &mut Value) {
    match value {
        Value::String(text) => *text = renumbered(text),
        Value::Array(values) => values.iter_mut().for_each(number_anew),
        Value::Object(members) => {
            let old = std::mem::take(members);
            members.extend(old.into_iter().map(|(name, mut value)| {
                number_anew(&mut value);
                (renumbered(&name), value)
            }));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn move_to(from: &Path, to: &Path) -> anyhow::Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::rename(from, to)
        .with_context(|| format!("cannot move {} to {}", from.display(), to.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_of_the_second_edition_comes_along_once() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let workspace = Workspace::at(folder.path());
        let file = |path: &str| folder.path().join(path);
        files::write(&file(".workshop/attempts/exercise-13/a/src/pool.rs"), b"13")?;
        files::write(&file(".workshop/attempts/exercise-23/a/src/main.rs"), b"23")?;
        files::write(&file(".workshop/state/exercise-3.toml"), b"3")?;
        files::write(&file(".workshop/state/exercise-11.toml"), b"11")?;
        let result = br#"{"exercise": "exercise-9", "seconds": {"solution-9": [1.5]}}"#;
        files::write(&file("results/exercise-9.json"), result)?;

        for _ in 0..2 {
            bring_along(&workspace)?;
            for (path, expected) in [
                (".workshop/attempts/exercise-11/a/src/pool.rs", "13"),
                (".workshop/attempts/exercise-9/a/src/main.rs", "23"),
                (".workshop/state/exercise-3.toml", "3"),
                (".workshop/state/exercise-19.toml", "11"),
            ] {
                assert_eq!(files::text(&file(path))?, expected, "{path}");
            }
            let result: Value =
                serde_json::from_str(&files::text(&file("results/exercise-17.json"))?)?;
            let expected = r#"{"exercise": "exercise-17", "seconds": {"solution-17": [1.5]}}"#;
            assert_eq!(result, serde_json::from_str::<Value>(expected)?);
            assert!(!file(".workshop/attempts/exercise-13").exists());
            assert!(!file("results/exercise-9.json").exists());
        }
        let said = new_number(&workspace, "exercise-13").unwrap_or_default();
        assert!(said.contains("is exercise 11 now"), "{said}");
        assert_eq!(new_number(&workspace, "exercise-3"), None);
        Ok(())
    }

    #[test]
    fn what_was_ended_in_the_middle_is_finished() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let workspace = Workspace::at(folder.path());
        let file = |path: &str| folder.path().join(path);
        // One has its new number and waits, one has come back, and one has its old number.
        files::write(&file(".workshop/renumbered/attempts/exercise-11/a"), b"13")?;
        files::write(&file(".workshop/attempts/exercise-15/a"), b"15")?;
        bring_along(&workspace)?;
        assert_eq!(
            files::text(&file(".workshop/attempts/exercise-11/a"))?,
            "13"
        );
        assert_eq!(
            files::text(&file(".workshop/attempts/exercise-13/a"))?,
            "15"
        );

        files::write(&file(".workshop/renumbered/attempts/exercise-17/a"), b"9")?;
        bring_along(&workspace)?;
        assert_eq!(files::text(&file(".workshop/attempts/exercise-17/a"))?, "9");
        assert_eq!(
            files::text(&file(".workshop/attempts/exercise-13/a"))?,
            "15"
        );
        Ok(())
    }

    #[test]
    fn a_new_checkout_keeps_its_numbers() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let workspace = Workspace::at(folder.path());
        bring_along(&workspace)?;
        let kept = folder.path().join(".workshop/state/exercise-13.toml");
        files::write(&kept, b"13")?;
        bring_along(&workspace)?;
        assert!(kept.is_file());
        assert_eq!(new_number(&workspace, "13"), None);
        Ok(())
    }
}
