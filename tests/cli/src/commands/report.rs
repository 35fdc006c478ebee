//! `just report`: all results of the reader on one page, as Markdown; the book shows the same as a page of its own.

use workshop_book::results::report;

use workshop_base::files;
use workshop_base::outcome::Outcome;
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;
use workshop_book::results::report::FIRST;

/// Writes `results/report.md`.
///
/// # Errors
/// When nothing was measured yet, a file cannot be read, or the disk refuses.
pub fn run(workspace: &Workspace) -> anyhow::Result<Outcome> {
    let report = report::gather(workspace)?.ok_or_else(|| {
        Trouble::new("there is nothing to report: you have measured nothing yet")
            .expected("at least one result in the folder results")
            .next(format!("{FIRST}, then just report"))
    })?;
    let path = workspace.results().join("report.md");
    let text = format!("# Your results\n\n{}", report.markdown());
    files::write_atomically(&path, format!("{}\n", text.trim_end()).as_bytes())?;
    let (all, own) = report.counts();
    println!(
        "{} holds {all} measurement{}, {own} of them yours.",
        files::shown(workspace, &path),
        if all == 1 { "" } else { "s" }
    );
    println!("{}", report.score().replace('`', ""));
    println!("next: just serve shows it as the page \"Your results\"");
    Ok(Outcome::Passed)
}
