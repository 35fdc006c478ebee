//! `{{#ladder}}`: the published ladder beside ours, what lies between the two, and the best tier here.

use std::fmt::Write;

use serde::Deserialize;

use crate::fault::Problem;
use crate::html::block;
use crate::html::escape;
use crate::results::Own;
use crate::results::about;
use crate::results::committed;
use crate::results::ladder;
use crate::results::numbers::value;
use crate::results::own;
use crate::results::published::cells;
use crate::results::reference;
use crate::results::table::wrapped;
use workshop_base::workspace::Workspace;
use workshop_results::file::Ladder;
use workshop_results::file::ResultFile;

/// The published figures, in the folder of the reference results.
const FILE: &str = "published-ladder.toml";
/// The exercise that measures the same.
const EXERCISE: u8 = 12;
/// Our metrics for the published columns.
const OURS: [&str; 4] = ["throughput", "p99", "image_at_32_bytes", "pss_at_load"];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Published {
    source: String,
    service: String,
    load: String,
    tier: Vec<PublishedTier>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PublishedTier {
    tier: u8,
    what: String,
    requests: f64,
    p99_ms: f64,
    bytes: f64,
    memory_mb: f64,
    /// What lies between the published figures and ours, in a few sentences.
    between: String,
}

/// The published ladder beside the committed figures and the reader's own.
///
/// # Errors
/// When its file or the committed reference file cannot be read.
pub fn render(workspace: &Workspace) -> Result<String, Problem> {
    let published: Published = committed(workspace, FILE, "the published ladder")?;
    let exercise = format!("exercise-{EXERCISE}");
    let path = ResultFile::reference_path(workspace, &exercise);
    let reference = reference(&path, ResultFile::read)?;
    let own = match own(workspace, EXERCISE) {
        Own::Read(file) => Some(*file),
        Own::Missing | Own::Unreadable(_) => None,
    };
    let measured: Vec<(&str, &ResultFile, &Ladder)> = [("Reference", &reference), ("Yours", &own)]
        .into_iter()
        .filter_map(|(whose, file)| {
            let file = file.as_ref()?;
            Some((whose, file, file.ladder.as_ref()?))
        })
        .collect();
    let mut html = format!(
        "<section class=\"results\" aria-label=\"The published ladder beside ours\">\n<p class=\"results-about\"><strong>Published:</strong> {}. Without Rust: {}. {}.</p>\n",
        escape(&published.source),
        escape(&published.service),
        escape(&published.load)
    );
    if measured.is_empty() {
        html.push_str(&format!(
            "<p class=\"results-about\"><strong>Ours:</strong> not measured yet. Type <code>just measure {exercise}</code>, and this page shows your figures beside the published ones.</p>\n"
        ));
        html.push_str(&alone(&published));
    }
    for (whose, file, ladder) in &measured {
        html.push_str(&about(whose, file));
        html.push_str(&beside(&published, whose, file, ladder));
    }
    html.push_str("<dl class=\"between\">\n");
    for tier in &published.tier {
        let _ = writeln!(
            html,
            "<dt>Tier {}, {}</dt><dd>{}</dd>",
            tier.tier,
            escape(&tier.what),
            escape(&tier.between)
        );
    }
    html.push_str("</dl>\n");
    for (whose, file, ladder) in &measured {
        html.push_str(&ladder::best(whose, file, ladder));
    }
    html.push_str("</section>");
    Ok(block(&html))
}

/// The published ladder where there is nothing to put beside it.
fn alone(published: &Published) -> String {
    let rows: String = published
        .tier
        .iter()
        .map(|tier| {
            format!(
                "<tr><th scope=\"row\">{}: {}</th>{}</tr>\n",
                tier.tier,
                escape(&tier.what),
                figures(published, tier)
            )
        })
        .collect();
    wrapped(
        "The published ladder",
        "figures",
        &format!(
            "<caption>As published</caption>\n<thead><tr><th scope=\"col\">Tier</th>{}</tr></thead>\n<tbody>\n{rows}</tbody>\n",
            columns()
        ),
    )
}

/// A row for each of ours, the published tier of the same number before the first that has it.
fn beside(published: &Published, whose: &str, file: &ResultFile, ladder: &Ladder) -> String {
    let mut rows = String::new();
    let mut shown = None;
    for ours in &ladder.tiers {
        let mut theirs = published.tier.iter();
        let theirs = theirs.find(|tier| tier.tier == ours.tier && shown != Some(tier.tier));
        let theirs = theirs.map_or_else(
            || "<td colspan=\"5\"></td>".to_owned(),
            |tier| figures(published, tier),
        );
        shown = Some(ours.tier);
        let value_of = |key: &str| {
            let measured = file.metric(key).and_then(|metric| metric.value(&ours.side));
            measured.map_or_else(|| "–".to_owned(), |measured| value(measured.value))
        };
        let [throughput, p99, bytes, memory] = OURS.map(value_of);
        let against_ground = file.metric("throughput").map_or_else(
            || "–".to_owned(),
            |metric| ladder::against_ground(metric, ladder, ours),
        );
        let _ = writeln!(
            rows,
            "<tr><th scope=\"row\">{}</th>{theirs}{}</tr>",
            ladder::heading(file, ours),
            cells([throughput, against_ground, p99, bytes, memory])
        );
    }
    wrapped(
        &format!("The published ladder beside ours, {whose}"),
        "figures headline",
        &format!(
            "<thead>\n<tr><th scope=\"col\" rowspan=\"2\">Tier here</th><th scope=\"colgroup\" colspan=\"5\">Published</th><th scope=\"colgroup\" colspan=\"5\">{whose}, texts of 32 bytes</th></tr>\n<tr>{columns}{columns}</tr>\n</thead>\n<tbody>\n{rows}</tbody>\n",
            columns = columns()
        ),
    )
}

fn columns() -> String {
    [
        "Requests/s",
        "÷ tier 0",
        "p99 <span class=\"unit\">(ms)</span>",
        "Image <span class=\"unit\">(bytes)</span>",
        "Memory <span class=\"unit\">(MB)</span>",
    ]
    .map(|column| format!("<th scope=\"col\">{column}</th>"))
    .concat()
}

/// What was published of a tier.
fn figures(published: &Published, tier: &PublishedTier) -> String {
    let ground = published.tier.first();
    let ratio = ground.map_or(f64::NAN, |ground| tier.requests / ground.requests);
    let figures = [
        tier.requests,
        ratio,
        tier.p99_ms,
        tier.bytes,
        tier.memory_mb,
    ];
    cells(figures.map(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use workshop_results::file::Verdict;
    use workshop_results::ladder_table::tests::ladder;
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
    fn the_published_ladder_stands_alone_until_something_is_measured() {
        let (_folder, workspace) = checkout();
        let html = render(&workspace).unwrap();
        assert!(html.contains("not measured yet"), "{html}");
        assert!(
            html.contains("<th scope=\"row\">3: a native function</th><td class=\"number\">5490</td><td class=\"number\">3.75</td>"),
            "{html}"
        );
    }

    #[test]
    fn our_tier_stands_beside_the_published_one_of_the_same_number() {
        let (_folder, workspace) = checkout();
        ladder()
            .write(&ResultFile::reference_path(&workspace, "exercise-12"))
            .unwrap();
        let html = render(&workspace).unwrap();
        let row = html
            .lines()
            .find(|line| line.contains("4: A service in Rust</th>"))
            .unwrap();
        assert!(
            row.contains("<td class=\"number\">7212</td>")
                && row.contains("<td class=\"number\">8000</td><td class=\"number\">2 "),
            "{row}"
        );
        assert!(
            html.contains("4: The same behind nginx</th><td colspan=\"5\"></td>"),
            "a second row of the same tier has no published one: {html}"
        );
        assert!(html.contains("The best tier by each figure"), "{html}");
        assert!(
            !html.trim().contains("\n\n"),
            "an empty line would end the HTML block"
        );
    }

    /// The last section of the page is prose about figures: who commits others has to read it again.
    #[test]
    fn the_page_says_what_the_committed_figures_show() {
        let workspace = Workspace::at(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let path = ResultFile::reference_path(&workspace, "exercise-12");
        let result = ResultFile::read(&path).unwrap();
        let of = |key: &str, side: &str| {
            let metric = result.metric(key).unwrap();
            metric.comparison(side, "kotlin").unwrap().clone()
        };
        let ratio = |key: &str, side: &str| of(key, side).ratio.unwrap();
        let verdict = |key: &str, side: &str| of(key, side).verdict;
        let (short, long) = ("throughput", "throughput_at_512_bytes");
        let [process, module, library, service] =
            ["solution-9", "solution-10", "solution-11", "solution-12"];
        for tier in [process, module] {
            assert!(
                ratio(short, tier) < 1.0 / 3.0,
                "several times slower: {tier}"
            );
        }
        assert!(ratio(long, process) > 1.5 * ratio(short, process));
        assert!(ratio(long, module) < 1.5 * ratio(short, module));
        assert_eq!(verdict(long, module), Verdict::Slower);
        assert_ne!(verdict(short, library), Verdict::Faster);
        assert!(
            (0.8..1.25).contains(&ratio(short, library)),
            "about as fast"
        );
        for tier in [library, service] {
            for key in [long, "cpu_per_request_at_512_bytes"] {
                assert_eq!(verdict(key, tier), Verdict::Faster, "{tier}: {key}");
            }
        }
        assert!((0.7..1.4).contains(&ratio(short, service)), "about as fast");
        assert!(ratio("start_up", service) < 0.05, "milliseconds");
        assert!(ratio("pss_at_load", service) < 0.1, "a few percent");
    }

    #[test]
    fn every_published_figure_is_measured_here_as_well() {
        let defined = metrics::of_codes(&[32, 512], &[60], 60, 32);
        for key in OURS {
            assert!(defined.iter().any(|metric| metric.key == key), "{key}");
        }
    }
}
