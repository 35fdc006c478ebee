//! mdBook's preprocessor: every macro of the book is replaced, or the book is not built. In this program where mdBook's library builds
//! the book, by its protocol (the book comes in as JSON and goes out) where the program mdbook does.

use std::io::{Read, Write};
use std::path::Path;

use anyhow::Context;
use mdbook_preprocessor::book::Book;
use mdbook_preprocessor::{Preprocessor, PreprocessorContext};

use crate::expand::Expander;
use crate::site::Site;
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;

/// The macros make HTML, which is nothing to other renderers.
pub const RENDERER: &str = "html";

/// The preprocessor that book.toml calls by this name.
pub struct Macros;

impl Preprocessor for Macros {
    fn name(&self) -> &str {
        "workshop"
    }

    fn run(&self, context: &PreprocessorContext, book: Book) -> anyhow::Result<Book> {
        expand(&context.root, book)
    }

    fn supports_renderer(&self, renderer: &str) -> anyhow::Result<bool> {
        Ok(renderer == RENDERER)
    }
}

/// Reads the book, expands its pages, writes it.
pub fn run(input: impl Read, mut output: impl Write) -> anyhow::Result<()> {
    let (context, book) = mdbook_preprocessor::parse_input(input)
        .map_err(|error| anyhow::anyhow!("{error:#}"))
        .context("mdBook did not send what a preprocessor expects; this command isn't for people; run just serve")?;
    let book = expand(&context.root, book)?;
    serde_json::to_writer(&mut output, &book).context("cannot hand the book back to mdBook")?;
    output
        .flush()
        .context("cannot hand the book back to mdBook")
}

/// The book with its pages expanded; all their faults, if there are any.
fn expand(root: &Path, mut book: Book) -> anyhow::Result<Book> {
    let workspace = Workspace::at(root);
    let site = Site::read(&workspace)?;
    let expander = Expander::new(&workspace, &site)?;
    let mut faults = Vec::new();
    book.for_each_chapter_mut(|chapter| {
        let path = chapter.source_path.as_ref();
        match path
            .and_then(|path| site.page(path))
            .map(|page| expander.expand(page))
        {
            Some(Ok(text)) => chapter.content = text,
            Some(Err(found)) => faults.extend(found),
            None => {}
        }
    });
    if faults.is_empty() {
        return Ok(book);
    }
    faults.sort();
    let told: Vec<_> = faults.iter().map(ToString::to_string).collect();
    Trouble::new(format!(
        "the book has faults, so it is not built\n{}",
        told.join("\n")
    ))
    .failed()
    .err()
}
