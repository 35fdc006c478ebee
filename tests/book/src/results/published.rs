//! `{{#published}}` and `{{#article}}`: the figures of the published comparison, alone and beside ours.

use serde::Deserialize;

use crate::fault::Problem;
use crate::html::block;
use crate::html::escape;
use crate::results::Own;
use crate::results::about;
use crate::results::committed;
use crate::results::numbers::value;
use crate::results::own;
use crate::results::reference;
use crate::results::table::ratio;
use crate::results::table::wrapped;
use workshop_base::workspace::Workspace;
use workshop_results::file::Article;
use workshop_results::file::ResultFile;

/// The published figures, in the folder of the reference results.
const FILE: &str = "published-article.toml";
/// The exercise that measures the same.
const EXERCISE: u8 = 8;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Published {
    source: String,
    machine: String,
    load: String,
    kotlin: String,
    rust: String,
    row: Vec<Row>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    what: String,
    unit: String,
    note: Option<String>,
    /// The key of our metric for the same.
    metric: String,
    kotlin: f64,
    rust: f64,
    /// What lies between the published figures and ours, in a few sentences.
    between: String,
}

impl Row {
    fn heading(&self) -> String {
        let unit = Some(&self.unit).filter(|unit| !unit.is_empty());
        let beside: Vec<&str> = unit
            .into_iter()
            .chain(&self.note)
            .map(String::as_str)
            .collect();
        if beside.is_empty() {
            return escape(&self.what);
        }
        format!(
            "{} <span class=\"unit\">({})</span>",
            escape(&self.what),
            escape(&beside.join("; "))
        )
    }

    /// Kotlin, Rust, and their ratio in percent as it was published.
    fn cells(&self) -> String {
        let percent = format!("{:.0} %", self.rust / self.kotlin * 100.0);
        cells([value(self.kotlin), value(self.rust), percent])
    }
}

/// The published table alone.
///
/// # Errors
/// When its file cannot be read.
pub fn render(workspace: &Workspace) -> Result<String, Problem> {
    let published = published(workspace)?;
    let rows: String = published
        .row
        .iter()
        .map(|row| {
            format!(
                "<tr><th scope=\"row\">{}</th>{}</tr>\n",
                row.heading(),
                row.cells()
            )
        })
        .collect();
    Ok(block(&wrapped(
        "The published figures",
        "figures",
        &format!(
            "<caption>As published: {}</caption>\n<thead><tr><td></td><th scope=\"col\">Kotlin</th><th scope=\"col\">Rust</th><th scope=\"col\">Rust ÷ Kotlin</th></tr></thead>\n<tbody>\n{rows}</tbody>\n",
            escape(&published.source)
        ),
    )))
}

/// The published table beside the committed figures and the reader's own, and what lies between.
///
/// # Errors
/// When its file or the committed reference file cannot be read.
pub fn beside_ours(workspace: &Workspace) -> Result<String, Problem> {
    let published = published(workspace)?;
    let exercise = format!("exercise-{EXERCISE}");
    let path = ResultFile::reference_path(workspace, &exercise);
    let reference = reference(&path, ResultFile::read)?;
    let mut html = format!(
        "<section class=\"results\" aria-label=\"The published figures beside ours\">\n<p class=\"results-about\"><strong>Published:</strong> {}. Kotlin: {}. Rust: {}. {}, {}.</p>\n",
        escape(&published.source),
        escape(&published.kotlin),
        escape(&published.rust),
        escape(&published.machine),
        escape(&published.load)
    );
    let mut tables = 0;
    let mut show = |whose: &str, file: &ResultFile| {
        if let Some(article) = &file.article {
            html.push_str(&about(whose, file));
            html.push_str(&table(&published, whose, file, article));
            tables += 1;
        }
    };
    if let Some(file) = &reference {
        show("Reference", file);
    }
    if let Own::Read(file) = own(workspace, EXERCISE) {
        show("Yours", &file);
    }
    if tables == 0 {
        html.push_str(&format!(
            "<p class=\"results-about\"><strong>Ours:</strong> not measured yet. Type <code>just measure {exercise}</code>, and this page shows your figures beside the published ones.</p>\n"
        ));
    }
    html.push_str("<dl class=\"between\">\n");
    for row in &published.row {
        html.push_str(&format!(
            "<dt>{}</dt><dd>{}</dd>\n",
            escape(&row.what),
            escape(&row.between)
        ));
    }
    html.push_str("</dl>\n</section>");
    Ok(block(&html))
}

fn published(workspace: &Workspace) -> Result<Published, Problem> {
    committed(workspace, FILE, "the published figures")
}

fn table(published: &Published, whose: &str, file: &ResultFile, article: &Article) -> String {
    let shipped = article.kotlin.first().map_or("", String::as_str);
    let rows: String = published
        .row
        .iter()
        .map(|row| {
            let ours = file.metric(&row.metric);
            let of = |side: &str| {
                let measured = ours.and_then(|metric| metric.value(side));
                measured.map_or_else(|| "–".to_owned(), |measured| value(measured.value))
            };
            let against_shipped = ours.and_then(|metric| metric.comparison(&article.rust, shipped));
            let against_best = ours.and_then(|metric| file.rust_against_kotlin(metric));
            let best = against_best.map_or_else(String::new, |comparison| {
                let side = file.sides.iter().find(|side| side.id == comparison.against);
                side.map_or_else(String::new, |side| escape(&side.label))
            });
            format!(
                "<tr><th scope=\"row\">{}</th>{}{}<td>{best}</td></tr>\n",
                row.heading(),
                row.cells(),
                cells([
                    of(shipped),
                    of(&article.rust),
                    against_shipped.map_or_else(|| "–".to_owned(), ratio),
                    against_best.map_or_else(|| "–".to_owned(), ratio),
                ])
            )
        })
        .collect();
    wrapped(
        &format!("The published figures beside ours, {whose}"),
        "figures headline",
        &format!(
            "<thead>\n<tr><td rowspan=\"2\"></td><th scope=\"colgroup\" colspan=\"3\">Published</th><th scope=\"colgroup\" colspan=\"5\">{whose}</th></tr>\n<tr><th scope=\"col\">Kotlin</th><th scope=\"col\">Rust</th><th scope=\"col\">Rust ÷ Kotlin</th><th scope=\"col\">Kotlin as shipped</th><th scope=\"col\">Rust</th><th scope=\"col\">Rust ÷ Kotlin as shipped <span class=\"unit\">(95 % interval)</span></th><th scope=\"col\">Rust ÷ best row of Kotlin</th><th scope=\"col\">which is</th></tr>\n</thead>\n<tbody>\n{rows}</tbody>\n"
        ),
    )
}

pub(super) fn cells<const N: usize>(texts: [String; N]) -> String {
    texts
        .iter()
        .map(|text| format!("<td class=\"number\">{text}</td>"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use workshop_results::article_table::tests::article;
    use workshop_results::metrics;

    /// A checkout with the published figures alone.
    fn checkout() -> (tempfile::TempDir, Workspace) {
        let real = Workspace::at(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::at(folder.path());
        std::fs::create_dir_all(workspace.reference_results()).unwrap();
        std::fs::copy(
            real.reference_results().join(FILE),
            workspace.reference_results().join(FILE),
        )
        .unwrap();
        (folder, workspace)
    }

    #[test]
    fn every_published_row_is_measured_here_as_well() {
        let (_folder, workspace) = checkout();
        let mut ours = metrics::of_article(&[60], 60, 32);
        ours.extend(metrics::of_minute());
        for row in published(&workspace).unwrap().row {
            assert!(
                ours.iter().any(|metric| metric.key == row.metric),
                "{}",
                row.metric
            );
        }
    }

    #[test]
    fn the_ratio_is_printed_as_it_was_published() {
        let (_folder, workspace) = checkout();
        let html = render(&workspace).unwrap();
        for percent in ["26 %", "3 %", "100 %", "9 %", "23 %"] {
            assert!(html.contains(&format!(">{percent}<")), "{percent}: {html}");
        }
        assert!(html.contains("MB; a JVM adds 80 to 120"), "{html}");
    }

    #[test]
    fn our_figures_stand_beside_with_the_best_row_of_kotlin_named() {
        let (_folder, workspace) = checkout();
        let without = beside_ours(&workspace).unwrap();
        assert!(without.contains("not measured yet"), "{without}");
        article()
            .write(&ResultFile::reference_path(&workspace, "exercise-8"))
            .unwrap();
        let html = beside_ours(&workspace).unwrap();
        let ours = "<td class=\"number\">200</td><td class=\"number\">8</td><td class=\"number\">0.0400 <span";
        assert!(html.contains(ours), "{html}");
        assert!(html.contains("<td>Kotlin raw JDBC</td>"), "{html}");
        assert!(
            !html.trim().contains("\n\n"),
            "an empty line would end the HTML block"
        );
    }
}
