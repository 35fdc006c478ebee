//! `just report`: all results of the reader on one page by itself; the book has the same.

use workshop_base::files;
use workshop_base::outcome::{Outcome, Trouble};
use workshop_base::workspace::Workspace;
use workshop_results::report;

pub fn run(workspace: &Workspace) -> anyhow::Result<Outcome> {
    let report = report::gather(workspace)?.ok_or_else(|| {
        Trouble::new("there is nothing to report: you haven't measured anything yet")
            .expected("at least one result in the folder results")
            .next(format!("{}, then just report", report::FIRST))
    })?;
    let path = workspace.results().join("report.html");
    let style = files::text(&workspace.book().join("theme/workshop.css"))?;
    files::write_atomically(&path, report.page(&style).as_bytes())?;
    println!(
        "{} holds {} measurement{}, {} of them yours.",
        files::shown(workspace, &path),
        report.all,
        if report.all == 1 { "" } else { "s" },
        report.own
    );
    println!("{}", report.score.replace('`', ""));
    println!("next: open it in a browser, or just serve shows it as the page \"Your results\"");
    Ok(Outcome::Passed)
}
