//! mdBook's preprocessor protocol: the book comes in as JSON and goes out with every macro
//! replaced and every page on its way, or not at all.

use std::io::{Read, Write};

use anyhow::Context;
use mdbook_preprocessor::book::BookItem;

use crate::expand::Expander;
use crate::site::Site;
use crate::way::Way;
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;

/// Reads the book, expands its pages, writes it.
pub fn run(input: impl Read, mut output: impl Write) -> anyhow::Result<()> {
    let (context, mut book) = mdbook_preprocessor::parse_input(input)
        .map_err(|error| anyhow::anyhow!("{error:#}"))
        .context("mdBook did not send what a preprocessor expects; this command isn't for people; run mdbook build")?;
    let workspace = Workspace::at(&context.root);
    let site = Site::read(&workspace)?;
    let expander = Expander::new(&workspace, &site)?;
    let way = Way::new(&workspace, &site, &expander.catalogue);
    let mut faults = Vec::new();
    book.for_each_mut(|item| match item {
        BookItem::Chapter(chapter) => {
            let path = chapter.source_path.as_ref();
            let Some(page) = path.and_then(|path| site.page(path)) else {
                return;
            };
            chapter.name = way.chapter(page, &chapter.name);
            match expander.expand(page) {
                Ok(text) => chapter.content = way.framed(page, &text),
                Err(found) => faults.extend(found),
            }
        }
        BookItem::PartTitle(title) => *title = way.part(title),
        BookItem::Separator => {}
    });
    if !faults.is_empty() {
        faults.sort();
        let told: Vec<_> = faults.iter().map(ToString::to_string).collect();
        return Trouble::new(format!(
            "the book has faults, so it is not built\n{}",
            told.join("\n")
        ))
        .failed()
        .err();
    }
    serde_json::to_writer(&mut output, &book).context("cannot hand the book back to mdBook")?;
    output
        .flush()
        .context("cannot hand the book back to mdBook")
}
