//! mdBook's preprocessor protocol: the book comes in as JSON and goes out with every macro replaced, or not at all.

use std::io::{Read, Write};

use anyhow::Context;

use crate::expand::Expander;
use crate::site::Site;
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
