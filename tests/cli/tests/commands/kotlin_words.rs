//! Words and forms of Kotlin that people write in Rust: each gets a hint that speaks of it, at level 1 or 2.

use std::path::Path;
use std::process::Command;

use anyhow::Context;
use serde::Deserialize;

use workshop::hints::{self, Hints};
use workshop::state::{CheckOutcome, Fault, LastCheck};
use workshop_harness::build::errors_of_rustc;

/// A line as somebody would write it, and what a hint has to say about it.
#[derive(Deserialize)]
struct Word {
    name: String,
    code: String,
    says: String,
}

#[derive(Deserialize)]
struct Words {
    word: Vec<Word>,
}

#[test]
fn every_word_of_kotlin_gets_a_hint_that_speaks_of_it() -> anyhow::Result<()> {
    let Words { word: words } = toml::from_str(include_str!("kotlin_words.toml"))?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = |path: &str| std::fs::read_to_string(root.join("exercises").join(path));
    let parsed = |hints: Result<Hints, (usize, String)>| {
        hints.map_err(|(line, fault)| anyhow::anyhow!("{line}: {fault}"))
    };
    let files = [
        parsed(Hints::words(&text("kotlin-words.md")?))?,
        parsed(Hints::parse(&text("04-api-key/hints.md")?))?,
        parsed(Hints::parse(&text("hints.md")?))?,
    ];
    let folder = tempfile::tempdir()?;
    let mut silent = Vec::new();
    for word in &words {
        let check = refused(&word.code, folder.path()).with_context(|| word.name.clone())?;
        let chosen = hints::choose(&files, &check);
        let says = chosen.is_some_and(|(_, section)| section.is_own() && section.says(&word.says));
        if !says {
            let heading = chosen.map(|(fault, section)| (&fault.said, &section.heading));
            silent.push(format!(
                "{}: not {:?}, but {heading:?}",
                word.name, word.says
            ));
        }
    }
    assert!(silent.is_empty(), "{}", silent.join("\n"));
    assert!(words.len() >= 60, "{} words", words.len());
    Ok(())
}

/// What a check finds where the compiler refuses this code.
fn refused(code: &str, folder: &Path) -> anyhow::Result<LastCheck> {
    let file = folder.join("word.rs");
    std::fs::write(&file, code)?;
    let output = Command::new("rustc")
        .args([
            "--edition",
            "2024",
            "--crate-type",
            "lib",
            "--emit",
            "metadata",
            "--error-format",
            "json",
        ])
        .arg("-o")
        .arg(folder.join("word.rmeta"))
        .arg(&file)
        .output()?;
    let errors = errors_of_rustc(&String::from_utf8_lossy(&output.stderr));
    anyhow::ensure!(!errors.is_empty(), "it compiles");
    let faults = errors
        .into_iter()
        .map(|error| Fault::new(error.code, error.said));
    Ok(LastCheck::now(
        CheckOutcome::DoesNotCompile,
        faults.collect(),
    ))
}
