//! The article's table on the terminal: its rows as lines, what the port may claim, and what each knob does.

use crate::file::Article;

use crate::file::Comparison;

use crate::file::ResultFile;
use crate::table::NAME;
use crate::table::VALUE;
use crate::table::cut;
use crate::table::figure;
use crate::table::interval;
use crate::table::style;
use crate::table::times;
use crate::table::wrapped;
use workshop_base::terminal::Style;
use workshop_base::terminal::paint;

/// The columns of the rows that were saturated: keys and headings.
const SATURATED: [(&str, &str); 6] = [
    ("throughput", "requests/s"),
    ("p99", "p99 ms"),
    ("cpu_per_request", "CPU µs"),
    ("memory", "memory MB"),
    ("start_up", "start ms"),
    ("size", "size MB"),
];
/// The columns of the rows under the article's load.
const AT_TEN: [(&str, &str); 6] = [
    ("memory_at_idle", "idle MB"),
    ("memory_at_ten", "memory MB"),
    ("p50_at_ten", "median ms"),
    ("threads_at_ten", "threads"),
    ("cpu_load_at_ten", "CPU load %"),
    ("cpu_in_all_at_ten", "CPU in all"),
];
/// What is claimed.
const CLAIMS: [&str; 9] = [
    "throughput",
    "p99",
    "cpu_per_request",
    "memory",
    "start_up",
    "size",
    "memory_at_ten",
    "threads_at_ten",
    "cpu_in_all_at_ten",
];

/// The lines.
pub fn lines(result: &ResultFile, article: &Article) -> Vec<String> {
    let mut lines = rows(result, "under saturation", &SATURATED);
    if let Some(database) = result
        .metric("pgbench")
        .and_then(|metric| metric.values.first())
    {
        lines.push(format!(
            "{:NAME$} {:>VALUE$}",
            "pgbench alone",
            figure(database.value)
        ));
    }
    lines.push(String::new());
    let load = format!("{} requests/s for {} s", article.rate, article.seconds);
    lines.extend(rows(result, &load, &AT_TEN));
    if result.invalid.is_empty() {
        lines.push(String::new());
        lines.extend(claims(result, article));
        lines.extend(knobs(result, article));
    }
    lines.push(String::new());
    lines.extend(heap(article));
    lines
}

fn label<'a>(result: &'a ResultFile, side: &'a str) -> &'a str {
    let found = result.sides.iter().find(|one| one.id == side);
    found.map_or(side, |side| &side.label)
}

/// Those sides that have one of these values, a line each.
pub fn rows(result: &ResultFile, title: &str, columns: &[(&str, &str)]) -> Vec<String> {
    let mut header = format!("{title:NAME$}");
    for (_, heading) in columns {
        header.push_str(&format!(" {heading:>VALUE$}"));
    }
    let mut lines = vec![paint(Style::Strong, header)];
    for side in &result.sides {
        let values: Vec<Option<f64>> = columns
            .iter()
            .map(|(key, _)| Some(result.metric(key)?.value(&side.id)?.value))
            .collect();
        if values.iter().all(Option::is_none) {
            continue;
        }
        let mut line = format!("{:NAME$}", cut(&side.label, NAME));
        for value in values {
            let value = value.map_or_else(|| "-".to_owned(), figure);
            line.push_str(&format!(" {value:>VALUE$}"));
        }
        lines.push(line);
    }
    lines
}

/// The port held against the best set-up of Kotlin, metric by metric.
fn claims(result: &ResultFile, article: &Article) -> Vec<String> {
    let rust = label(result, &article.rust);
    let mut lines = vec![format!(
        "verdict: {rust} held against the best row of Kotlin"
    )];
    for key in CLAIMS {
        let Some((metric, claim)) = result
            .metric(key)
            .and_then(|metric| Some((metric, result.rust_against_kotlin(metric)?)))
        else {
            continue;
        };
        let words = paint(style(claim.verdict), claim.verdict.words(key));
        let of_what = match (&claim.reason, claim.ratio) {
            (Some(reason), _) => reason.clone(),
            (None, Some(ratio)) => times(ratio, label(result, &claim.against)),
            (None, None) => String::new(),
        };
        let line = format!("{}: {words}: {of_what}{}", metric.name, in_brackets(claim));
        lines.extend(wrapped(&line, "- "));
    }
    lines
}

/// Each knob held against the reference, and the port against the ceiling.
fn knobs(result: &ResultFile, article: &Article) -> Vec<String> {
    let mut lines = vec![format!(
        "each knob held against {}, by throughput and by CPU per request",
        label(result, &article.reference)
    )];
    let ratio = |key: &str, side: &str, against: &str| {
        let comparison = result.metric(key)?.comparison(side, against)?;
        Some(format!(
            "{}{}",
            figure(comparison.ratio?),
            in_brackets(comparison)
        ))
    };
    for knob in &article.knobs {
        let of = |key| ratio(key, &knob.side, &article.reference).unwrap_or_else(|| "-".to_owned());
        let line = format!(
            "{}: {}, {}",
            knob.title,
            of("throughput"),
            of("cpu_per_request")
        );
        lines.extend(wrapped(&line, "- "));
    }
    if let Some(share) = ratio("throughput", &article.rust, &article.ceiling) {
        let rust = label(result, &article.rust);
        lines.extend(wrapped(
            &format!("{rust} reaches {share} of the ceiling's throughput"),
            "- ",
        ));
    }
    lines
}

pub fn in_brackets(comparison: &Comparison) -> String {
    let interval = interval(comparison);
    if interval.is_empty() {
        interval
    } else {
        format!(" ({interval})")
    }
}

/// How the heap was found.
fn heap(article: &Article) -> Vec<String> {
    let search = &article.heap;
    let chosen = search.chosen_mb.map_or_else(
        || "no heap that was tried keeps to it".to_owned(),
        |chosen| format!("{chosen} MB is the smallest that was tried and keeps to it"),
    );
    let line = format!(
        "the heap: at {} requests/s the default one has a p99 of {} ms, the goal is {} ms; {chosen}",
        figure(search.rate),
        figure(search.usual_p99_ms),
        figure(search.goal_p99_ms)
    );
    let mut lines = wrapped(&line, "");
    for trial in &search.trials {
        let said = match (&trial.refused, trial.p99_ms) {
            (Some(reason), _) => format!("too small: {reason}"),
            (None, Some(p99_ms)) => format!("a p99 of {} ms", figure(p99_ms)),
            (None, None) => continue,
        };
        lines.extend(wrapped(&format!("{} MB: {said}", trial.megabytes), "- "));
    }
    lines
}

#[cfg(any(test, feature = "samples"))]
pub mod tests {
    use super::*;
    use crate::file::Better;
    use crate::file::HeapSearch;
    use crate::file::HeapTrial;
    use crate::file::Image;
    use crate::file::Knob;
    use crate::file::Language;
    use crate::file::Metric;
    use crate::file::Side;
    use crate::file::SideValue;
    use crate::file::Verdict;
    use crate::file::tests::sample;
    use crate::table::WIDTH;

    /// Two set-ups of Kotlin, the port, a knob, the ceiling.
    pub fn article() -> ResultFile {
        let side = |id: &str, label: &str, language| Side {
            id: id.to_owned(),
            label: label.to_owned(),
            language,
            command: id.to_owned(),
            runtime: "1.0".to_owned(),
        };
        let metric = |key: &str, name: &str, unit: &str, better, values: &[f64]| {
            let ids = [
                "kotlin",
                "kotlin-jdbc",
                "solution-8",
                "solution-8-no-ping",
                "ceiling",
            ];
            let values: Vec<SideValue> = ids
                .iter()
                .zip(values)
                .map(|(id, value)| SideValue {
                    side: (*id).to_owned(),
                    value: *value,
                    least: *value,
                    most: *value,
                    blocks: 3,
                })
                .collect();
            let pairs = [
                ("solution-8", "kotlin"),
                ("solution-8", "kotlin-jdbc"),
                ("solution-8", "ceiling"),
                ("solution-8-no-ping", "solution-8"),
            ];
            let of = |id: &str| {
                values
                    .iter()
                    .find(|value| value.side == id)
                    .map(|one| one.value)
            };
            let comparisons = pairs.iter().filter_map(|(side, against)| {
                let ratio = of(side)? / of(against)?;
                Some(Comparison {
                    ratio: Some(ratio),
                    low: Some(ratio * 0.95),
                    high: Some(ratio * 1.05),
                    rounds: 3,
                    verdict: Verdict::Faster,
                    reason: None,
                    ..Comparison::invalid(side, against, "")
                })
            });
            Metric {
                key: key.to_owned(),
                name: name.to_owned(),
                unit: unit.to_owned(),
                how: String::new(),
                better,
                headline: true,
                comparisons: comparisons.collect(),
                values,
            }
        };
        let mut result = sample();
        result.sides = vec![
            side("kotlin", "Kotlin as shipped", Language::Kotlin),
            side("kotlin-jdbc", "Kotlin raw JDBC", Language::Kotlin),
            side("solution-8", "Rust as shipped", Language::Rust),
            side("solution-8-no-ping", "no ping", Language::Rust),
            side("ceiling", "axum, tokio-postgres", Language::Rust),
        ];
        result.metrics = vec![
            metric(
                "throughput",
                "Throughput",
                "requests/s",
                Better::Higher,
                &[8_000.0, 10_000.0, 25_000.0, 27_500.0, 40_000.0],
            ),
            metric(
                "memory",
                "Memory",
                "MB",
                Better::Lower,
                &[300.0, 150.0, 10.0, 10.0, 6.0],
            ),
            metric(
                "cpu_per_request",
                "CPU per request",
                "µs",
                Better::Lower,
                &[100.0, 80.0, 40.0, 36.0, 25.0],
            ),
            metric(
                "memory_at_ten",
                "Memory, 10/s",
                "MB",
                Better::Lower,
                &[200.0, 120.0, 8.0],
            ),
            metric(
                "start_up",
                "Start-up",
                "ms",
                Better::Lower,
                &[1200.0, 600.0, 12.0, 12.0, 8.0],
            ),
        ];
        result.article = Some(Article {
            kotlin: vec!["kotlin".to_owned(), "kotlin-jdbc".to_owned()],
            rust: "solution-8".to_owned(),
            reference: "solution-8".to_owned(),
            knobs: vec![Knob {
                side: "solution-8-no-ping".to_owned(),
                title: "no ping".to_owned(),
            }],
            ceiling: "ceiling".to_owned(),
            rate: 10.0,
            seconds: 60.0,
            heap: HeapSearch {
                rate: 5000.0,
                usual_p99_ms: 3.0,
                goal_p99_ms: 6.0,
                trials: vec![HeapTrial {
                    megabytes: 16,
                    p99_ms: None,
                    refused: Some("it did not start".to_owned()),
                }],
                chosen_mb: Some(24),
            },
            images: vec![Image {
                side: "solution-8".to_owned(),
                unpacked_mb: None,
                missing: Some("no engine".to_owned()),
            }],
        });
        result
    }

    fn text() -> String {
        let result = article();
        let article = result.article.as_ref().unwrap();
        lines(&result, article).join("\n")
    }

    #[test]
    fn a_claim_rests_on_the_best_row_of_kotlin() {
        let text = text();
        let claim = "- Throughput: faster: 2.50 times that of Kotlin raw JDBC (2.38 to 2.62)";
        assert!(text.contains(claim), "{text}");
        assert!(
            text.contains("Memory, 10/s: less: 0.0667 times that of Kotlin raw JDBC"),
            "{text}"
        );
        assert!(!text.contains("times that of Kotlin as shipped"), "{text}");
    }

    #[test]
    fn knobs_are_held_against_the_reference_and_the_port_against_the_ceiling() {
        let text = text();
        assert!(
            text.contains("- no ping: 1.10 (1.04 to 1.16), 0.900 (0.855 to 0.945)"),
            "{text}"
        );
        assert!(
            text.contains("Rust as shipped reaches 0.625 (0.594 to 0.656) of"),
            "{text}"
        );
    }

    #[test]
    fn an_invalid_measurement_claims_nothing() {
        let mut result = article();
        result
            .invalid
            .push("no block of kotlin passed the gates".to_owned());
        let article = result.article.as_ref().unwrap();
        assert!(!lines(&result, article).join("\n").contains("faster"));
    }

    #[test]
    fn only_rows_that_took_part_stand_under_the_articles_load() {
        let text = text();
        let at_ten = text.split("10 requests/s for 60 s").nth(1).unwrap();
        let at_ten = at_ten.split("verdict").next().unwrap();
        assert!(
            at_ten.contains("Rust as shipped") && !at_ten.contains("tokio-postgres"),
            "{text}"
        );
        assert!(
            text.contains("16 MB: too small: it did not start"),
            "{text}"
        );
    }

    #[test]
    fn no_line_is_longer_than_a_hundred_columns() {
        for line in text().lines() {
            assert!(line.chars().count() <= WIDTH, "{line}");
        }
    }
}
