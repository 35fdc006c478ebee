//! mdBook's preprocessor protocol: the book comes in as JSON and goes out with every macro replaced, or not at all.

use std::io::{Read, Write};

use anyhow::Context;
use mdbook_preprocessor::book::BookItem;

use crate::expand::Expander;
use crate::site::{Page, Site};
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;

/// The renderers that the macros' HTML is made for.
const RENDERER: &str = "html";

/// True when the preprocessor has something to give to this renderer.
pub fn supports(renderer: &str) -> bool {
    renderer == RENDERER
}

/// Reads the book, expands its pages, writes it.
pub fn run(input: impl Read, mut output: impl Write) -> anyhow::Result<()> {
    let (context, mut book) = mdbook_preprocessor::parse_input(input)
        .map_err(|error| anyhow::anyhow!("{error:#}"))
        .context("mdBook did not send what a preprocessor expects; this command is not for typing, run mdbook build")?;
    let workspace = Workspace::at(&context.root);
    let site = Site::from_mdbook(&book);
    let expander = Expander::new(&workspace, &site);
    let mut faults = Vec::new();
    book.for_each_mut(|item| {
        let BookItem::Chapter(chapter) = item else {
            return;
        };
        let Some(path) = chapter.source_path.clone().or_else(|| chapter.path.clone()) else {
            return;
        };
        let page = Page {
            path,
            part: None,
            text: std::mem::take(&mut chapter.content),
        };
        match expander.expand(&page) {
            Ok(text) => chapter.content = text,
            Err(found) => faults.extend(found),
        }
    });
    if !faults.is_empty() {
        faults.sort();
        let told: Vec<_> = faults.iter().map(ToString::to_string).collect();
        return Err(Trouble::new(format!(
            "the book has faults, so it is not built\n{}",
            told.join("\n")
        ))
        .failed()
        .into());
    }
    serde_json::to_writer(&mut output, &book).context("cannot hand the book back to mdBook")?;
    output
        .flush()
        .context("cannot hand the book back to mdBook")
}
