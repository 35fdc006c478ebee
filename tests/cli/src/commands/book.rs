//! The book: built, checked, and the part of the build that the program mdbook asks for while it serves.

use crate::cli::Asked;
use workshop_base::outcome::Outcome;
use workshop_base::terminal::{Style, paint};
use workshop_base::workspace::Workspace;
use workshop_book::render::render;
use workshop_book::{check, preprocessor};

/// Builds the book into its usual folder.
pub fn build(workspace: &Workspace) -> anyhow::Result<Outcome> {
    render(workspace, None)?;
    println!("book-html/index.html is its first page");
    Ok(Outcome::Passed)
}

/// Prints every fault with file and line.
pub fn check(workspace: &Workspace) -> anyhow::Result<Outcome> {
    let faults = check::check(workspace)?;
    for fault in &faults {
        println!("{fault}");
    }
    let whole = "the book is whole: includes, links, minutes, images, and all of it loads offline";
    let (style, said) = match faults.len() {
        0 => (Style::Good, whole.to_owned()),
        1 => (Style::Bad, "1 fault in the book".to_owned()),
        count => (Style::Bad, format!("{count} faults in the book")),
    };
    println!("{}", paint(style, said));
    Ok(Outcome::of(faults.is_empty()))
}

/// Answers mdBook: whether a renderer is supported, or with the book expanded.
pub fn preprocess(asked: Option<Asked>) -> anyhow::Result<Outcome> {
    if let Some(Asked::Supports { renderer }) = asked {
        return Ok(Outcome::of(renderer == preprocessor::RENDERER));
    }
    preprocessor::run(std::io::stdin().lock(), std::io::stdout().lock())?;
    Ok(Outcome::Passed)
}
