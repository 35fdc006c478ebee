//! The book as pages, by mdBook's own library: the program mdbook is needed for `just serve` alone.

use std::path::Path;

use mdbook_driver::MDBook;
use mdbook_driver::config::Config;

use crate::preprocessor::Macros;
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;

/// Builds the book, into the folder that book.toml names or another one.
pub fn render(workspace: &Workspace, into: Option<&Path>) -> anyhow::Result<()> {
    build(workspace, into).map_err(|error| {
        if Trouble::of(&error).is_some() {
            return error;
        }
        Trouble::new("mdBook does not build the book")
            .because(format!("{error:#}"))
            .expected("a book without faults")
            .next("fix what it names; just book-check names each fault with its page")
            .failed()
            .into()
    })
}

fn build(workspace: &Workspace, into: Option<&Path>) -> anyhow::Result<()> {
    let root = workspace.root();
    let mut config = Config::from_disk(root.join("book.toml"))?;
    // As the program mdbook does: MDBOOK_BOOK__LANGUAGE=de is the book in German.
    config.update_from_env()?;
    if let Some(folder) = into {
        config.build.build_dir = std::path::absolute(folder)?;
    }
    let mut book = MDBook::load_with_config(root, config)?;
    // In place of the command that book.toml names.
    book.with_preprocessor(Macros);
    book.build()
}
