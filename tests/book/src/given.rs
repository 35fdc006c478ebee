//! `{{#given exercise-6}}`: how much a starter brings and how much is typed, in one line; and what is new in it, folded away.

use crate::html::{block, escape};
use crate::panes::figure;
use crate::question::inline;
use workshop_base::exercise::{Catalogue, Exercise};
use workshop_base::news::{FileNews, News, NewsOfFile};
use workshop_base::workspace::Workspace;

/// The line, and the fold with each hunk and why it is there.
pub fn render(
    workspace: &Workspace,
    catalogue: &Catalogue,
    exercise: &Exercise,
) -> anyhow::Result<String> {
    let news = News::of(workspace, catalogue, exercise)?;
    let name = exercise.name();
    let files: String = news.files.iter().map(of_file).collect();
    let questions: String = news
        .questions
        .iter()
        .map(|asked| format!("<li>{}</li>\n", inline(asked)))
        .collect();
    Ok(block(&format!(
        "<p>{}</p>\n<details class=\"difference\">\n<summary>What is new, piece by piece, and why</summary>\n\
         <p><code>just what-is-new {name}</code> shows the same.</p>\n{files}\
         <p>Two questions about it:</p>\n<ul>\n{questions}</ul>\n</details>",
        inline(&news.in_short())
    )))
}

fn of_file(file: &NewsOfFile) -> String {
    let path = file.path.to_string_lossy().replace('\\', "/");
    let shown = format!("<b>{}</b>", escape(&path));
    match &file.news {
        FileNews::Whole { lines, why } => {
            format!("<p>{shown}, new, {lines} lines: {}</p>\n", inline(why))
        }
        FileNews::Hunks(hunks) => {
            let hunks = hunks.iter().map(|hunk| {
                let label = format!("What is new in {path}");
                let pane = figure("Difference", &shown, "diff", &label, hunk.text.trim_end());
                format!("<p>{}</p>\n{pane}\n", inline(&hunk.why))
            });
            hunks.collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_says_how_much_is_given_and_shows_each_hunk_with_its_reason() -> anyhow::Result<()> {
        let workspace = Workspace::find()?;
        let catalogue = Catalogue::read(&workspace)?;
        let given = render(&workspace, &catalogue, catalogue.get(6)?)?;
        assert!(given.contains("lines of Rust are given, in "), "{given}");
        assert!(given.contains("<b>src/object.rs</b>, new"), "{given}");
        assert!(given.contains("+    SchemaBehind,"), "{given}");
        assert_eq!(given.matches("<li>").count(), 2, "{given}");
        Ok(())
    }
}
