//! mdBook's preprocessor: every macro of the book is replaced and every page told its place on the way, or the book is not built. In
//! this program where mdBook's library builds the book, by its protocol (the book comes in as JSON and goes out) where the program
//! mdbook does.

use std::io::{Read, Write};

use anyhow::Context;
use mdbook_preprocessor::book::{Book, BookItem};
use mdbook_preprocessor::{Preprocessor, PreprocessorContext};

use crate::expand::Expander;
use crate::fault::PageFault;
use crate::html::block;
use crate::site::{Site, translation};
use crate::way::{self, Way};
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;

/// The macros make HTML, which is nothing to other renderers.
pub const RENDERER: &str = "html";
/// The language of the source.
const ENGLISH: &str = "en";

/// The preprocessor that book.toml calls by this name.
pub struct Macros;

impl Preprocessor for Macros {
    fn name(&self) -> &str {
        "workshop"
    }

    fn run(&self, context: &PreprocessorContext, book: Book) -> anyhow::Result<Book> {
        expand(context, book)
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
    let book = expand(&context, book)?;
    serde_json::to_writer(&mut output, &book).context("cannot hand the book back to mdBook")?;
    output
        .flush()
        .context("cannot hand the book back to mdBook")
}

/// The book with its pages expanded, in its language as far as it's translated; all their faults, if there are any.
fn expand(context: &PreprocessorContext, mut book: Book) -> anyhow::Result<Book> {
    let workspace = Workspace::at(&context.root);
    let language = context.config.book.language.as_deref();
    let language = language.unwrap_or(ENGLISH);
    let english = Site::read(&workspace)?;
    let site = english.clone().translated(&workspace, language)?;
    let expander = Expander::new(&workspace, &site)?;
    let way = Way::new(&workspace, &site, &expander.catalogue);
    let mut faults = Vec::new();
    book.for_each_mut(|item| match item {
        BookItem::Chapter(chapter) => {
            let path = chapter.source_path.as_ref();
            let Some(page) = path.and_then(|path| site.page(path)) else {
                return;
            };
            let is_translated = english.page(&page.path) != Some(page);
            if is_translated {
                chapter.name = way::title(page);
            }
            chapter.name = way.chapter(page, &chapter.name);
            match expander.expand(page) {
                Ok(text) => chapter.content = way.framed(page, &text),
                Err(found) if is_translated => faults.extend(found.into_iter().map(|fault| {
                    let file = translation(language).join(&page.path);
                    PageFault { file, ..fault }
                })),
                Err(found) => faults.extend(found),
            }
            if language != ENGLISH && !is_translated {
                chapter.content += &block("<span class=\"in-english\"></span>");
            }
        }
        BookItem::PartTitle(title) => *title = way.part(title),
        BookItem::Separator => {}
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
    .next("fix the lines above; just book-check names all faults of the book")
    .failed()
    .err()
}
