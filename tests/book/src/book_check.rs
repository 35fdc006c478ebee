//! `workshop-book check`: the book's source, then the book as mdBook renders it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::check;
use workshop_base::outcome::Outcome;
use workshop_base::outcome::Trouble;
use workshop_base::terminal::Style;
use workshop_base::terminal::paint;
use workshop_base::workspace::Workspace;

/// Prints every fault with file and line.
///
/// # Errors
/// When the book cannot be read, or there is no mdBook to render it with.
pub fn run(workspace: &Workspace) -> anyhow::Result<Outcome> {
    let mut faults = check::source(workspace)?;
    if faults.is_empty() {
        let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
        render(workspace, folder.path())?;
        faults = check::rendered::check(folder.path())?;
    }
    if faults.is_empty() {
        println!(
            "{}",
            paint(
                Style::Good,
                "the book is whole: includes, links, minutes, images, and all of it loads offline"
            )
        );
        return Ok(Outcome::Passed);
    }
    for fault in &faults {
        println!("{fault}");
    }
    let count = faults.len();
    println!(
        "{}",
        paint(
            Style::Bad,
            format!(
                "{count} fault{} in the book",
                if count == 1 { "" } else { "s" }
            )
        )
    );
    Ok(Outcome::Failed)
}

/// Renders the book into this folder, with this very program as the preprocessor, so that no cargo is waited for.
fn render(workspace: &Workspace, folder: &Path) -> anyhow::Result<()> {
    let program = std::env::current_exe().context("cannot find out which program this is")?;
    let preprocessor = format!("\"{}\"", program.display());
    let output = Command::new(mdbook(workspace)?)
        .arg("build")
        .arg("--dest-dir")
        .arg(folder)
        .arg(workspace.root())
        .env("MDBOOK_PREPROCESSOR__WORKSHOP__COMMAND", preprocessor)
        .env("WORKSHOP_ROOT", workspace.root())
        .output()
        .context("cannot start mdbook")?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Trouble::new(format!(
        "mdbook does not build the book:\n{}",
        said.trim_end()
    ))
    .next("mend what it names, then just serve")
    .failed()
    .into())
}

/// The mdBook to render with: the one that `justw` brought, else the one on PATH.
fn mdbook(workspace: &Workspace) -> anyhow::Result<PathBuf> {
    let brought = workspace.tools().join("bin/mdbook");
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::iter::once(brought)
        .chain(std::env::split_paths(&path).map(|folder| folder.join("mdbook")))
        .find(|program| program.is_file())
        .ok_or_else(|| {
            Trouble::new("there is no mdbook to render the book with")
                .expected("mdbook on PATH or in .workshop/tools/bin")
                .next("./justw --bring mdbook")
                .into()
        })
}
