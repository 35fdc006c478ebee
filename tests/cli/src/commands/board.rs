//! `just board`: what everybody in a room has measured, on one page for the last slide.

use std::path::Path;

use workshop_base::exercise::Catalogue;
use workshop_base::files;
use workshop_base::outcome::{Outcome, Trouble};
use workshop_base::workspace::Workspace;
use workshop_results::board::Board;

/// Writes `board.html` into the folder that holds the people's results.
pub fn run(workspace: &Workspace, folder: &Path) -> anyhow::Result<Outcome> {
    let board = Board::gather(folder)?;
    for fault in &board.left_out {
        println!("left out: {fault}");
    }
    let shown = folder.display();
    if board.count() == 0 {
        return Trouble::new(format!("{shown} has no result for the board"))
            .expected(format!(
                "a folder per person, each with a copy of that person's results: {shown}/ada/results/exercise-3.json"
            ))
            .next(format!("copy them there, then just board {shown}"))
            .err();
    }
    let style = files::text(&workspace.book().join("theme/workshop.css"))?;
    let page = board.page(&Catalogue::read(workspace)?, &style);
    let path = folder.join("board.html");
    files::write_atomically(&path, page.as_bytes())?;
    let (count, plural) = (board.count(), if board.count() == 1 { "" } else { "s" });
    println!("{} holds {count} measurement{plural}.", path.display());
    println!("next: open it in a browser; it's a single file and needs no network");
    Ok(Outcome::Passed)
}
