//! Reads the Rust of a crate and prints what a check judges of it, as JSON: `workshop-source FOLDER`. A program of its own, since no
//! other check needs a parser.

mod facts;
mod tokens;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use workshop_base::files;
use workshop_base::source::SourceFacts;

use crate::facts::Locks;

fn main() -> ExitCode {
    let folder = std::env::args_os().nth(1).unwrap_or_default();
    let printed = read(Path::new(&folder)).and_then(|facts| Ok(serde_json::to_string(&facts)?));
    match printed {
        Ok(json) => {
            println!("{json}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Reads all files below `src` of a crate.
fn read(folder: &Path) -> anyhow::Result<SourceFacts> {
    let (mut facts, mut locks) = (SourceFacts::default(), Locks::default());
    for (path, bytes) in files::read_tree(&folder.join("src"))? {
        if path.extension().is_some_and(|ending| ending == "rs") {
            let name = format!("src/{}", path.display());
            let text = String::from_utf8_lossy(&bytes);
            facts::note(&name, &text, &mut facts, &mut locks)
                .with_context(|| format!("cannot read {name}"))?;
        }
    }
    facts.nested_locks.extend(locks.nested());
    Ok(facts)
}
