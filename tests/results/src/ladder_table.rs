//! The ladder on the terminal: its tiers as lines, and each held against Kotlin alone.

use crate::article_table::in_brackets;

use crate::article_table::rows;
use crate::file::Comparison;
use crate::file::Metric;
use crate::file::ResultFile;
use crate::table::figure;
use crate::table::style;
use crate::table::wrapped;
use workshop_base::terminal::Style;
use workshop_base::terminal::paint;

/// The columns of the tables: keys and headings.
const SHORT_TEXTS: [(&str, &str); 6] = [
    ("throughput", "requests/s"),
    ("p99", "p99 ms"),
    ("cpu_per_request", "CPU µs"),
    ("pss_at_load", "memory MB"),
    ("start_up", "start ms"),
    ("image_at_32_bytes", "image B"),
];
const LONG_TEXTS: [(&str, &str); 3] = [
    ("throughput_at_512_bytes", "requests/s"),
    ("cpu_per_request_at_512_bytes", "CPU µs"),
    ("image_at_512_bytes", "image B"),
];
/// What is said of each tier.
const CLAIMS: [&str; 5] = [
    "throughput",
    "throughput_at_512_bytes",
    "p99",
    "cpu_per_request",
    "pss_at_load",
];

/// The lines.
pub fn lines(result: &ResultFile) -> Vec<String> {
    let mut lines = rows(result, "texts of 32 bytes", &SHORT_TEXTS);
    lines.push(String::new());
    lines.extend(rows(result, "texts of 512 bytes", &LONG_TEXTS));
    if result.invalid.is_empty() {
        lines.push(String::new());
        lines.extend(claims(result));
    }
    lines
}

/// Each tier held against the first.
fn claims(result: &ResultFile) -> Vec<String> {
    let Some(ground) = result.sides.first() else {
        return Vec::new();
    };
    let mut lines = vec![format!(
        "verdict: each tier divided by {} (95 % interval)",
        ground.label
    )];
    for side in &result.sides[1..] {
        lines.push(paint(Style::Strong, &side.label));
        for key in CLAIMS {
            let compared = result
                .metric(key)
                .and_then(|metric| Some((metric, metric.comparison(&side.id, &ground.id)?)));
            if let Some((metric, comparison)) = compared {
                lines.extend(wrapped(&claim(metric, comparison), "- "));
            }
        }
    }
    lines
}

fn claim(metric: &Metric, comparison: &Comparison) -> String {
    let words = comparison.verdict.words(&metric.key);
    let words = paint(style(comparison.verdict), words);
    let of_what = match (&comparison.reason, comparison.ratio) {
        (Some(reason), _) => reason.clone(),
        (None, Some(ratio)) => figure(ratio),
        (None, None) => String::new(),
    };
    format!(
        "{}: {words}: {of_what}{}",
        metric.name,
        in_brackets(comparison)
    )
}

#[cfg(any(test, feature = "samples"))]
pub mod tests {
    use super::*;
    use crate::file::Better;
    use crate::file::Ladder;
    use crate::file::Language;
    use crate::file::Side;
    use crate::file::SideValue;
    use crate::file::Tier;
    use crate::file::Verdict;
    use crate::file::tests::sample;
    use crate::table::WIDTH;

    /// Kotlin alone, a tier that is slower, and a service in Rust that is faster and needs less memory, also behind nginx.
    pub fn ladder() -> ResultFile {
        let side = |id: &str, label: &str, language| Side {
            id: id.to_owned(),
            label: label.to_owned(),
            language,
            command: id.to_owned(),
            runtime: "1.0".to_owned(),
        };
        let mut result = sample();
        result.exercise = "exercise-12".to_owned();
        result.target = "solution-12".to_owned();
        result.sides = vec![
            side("kotlin", "Kotlin alone", Language::Kotlin),
            side("solution-9", "A process away", Language::Rust),
            side("solution-12", "A service in Rust", Language::Rust),
            side(
                "solution-12-behind-nginx",
                "The same behind nginx",
                Language::Rust,
            ),
        ];
        let ids = [
            "kotlin",
            "solution-9",
            "solution-12",
            "solution-12-behind-nginx",
        ];
        let metric = |key: &str, name: &str, better, values: [f64; 4]| {
            let comparisons = ids.iter().zip(values).skip(1).map(|(id, value)| {
                let ratio = value / values[0];
                let better = (ratio > 1.0) == (better == Better::Higher);
                Comparison {
                    ratio: Some(ratio),
                    low: Some(ratio * 0.95),
                    high: Some(ratio * 1.05),
                    rounds: 3,
                    verdict: if better {
                        Verdict::Faster
                    } else {
                        Verdict::Slower
                    },
                    reason: None,
                    ..Comparison::invalid(id, "kotlin", "")
                }
            });
            let of_side = |(id, value): (&&str, f64)| SideValue {
                side: (*id).to_owned(),
                value,
                least: value,
                most: value,
                blocks: 3,
            };
            Metric {
                key: key.to_owned(),
                name: name.to_owned(),
                unit: String::new(),
                how: String::new(),
                better,
                headline: true,
                values: ids.iter().zip(values).map(of_side).collect(),
                comparisons: comparisons.collect(),
            }
        };
        let (more, less) = (Better::Higher, Better::Lower);
        result.metrics = vec![
            metric(
                "throughput",
                "Throughput",
                more,
                [4000.0, 400.0, 8000.0, 7000.0],
            ),
            metric("p99", "p99 at 60 %", less, [4.0, 12.0, 1.0, 2.0]),
            metric(
                "cpu_per_request",
                "CPU per request",
                less,
                [400.0, 4000.0, 200.0, 250.0],
            ),
            metric(
                "throughput_at_512_bytes",
                "Throughput, 512 B",
                more,
                [800.0, 300.0, 1600.0, 1500.0],
            ),
            metric(
                "pss_at_load",
                "Memory, all processes",
                less,
                [400.0, 200.0, 10.0, 160.0],
            ),
            metric(
                "image_at_32_bytes",
                "Image of 32 B",
                less,
                [394.0, 392.0, 392.0, 392.0],
            ),
        ];
        let tiers = [(0, ids[0]), (1, ids[1]), (4, ids[2]), (4, ids[3])];
        result.ladder = Some(Ladder {
            tiers: tiers
                .map(|(tier, side)| Tier {
                    tier,
                    side: side.to_owned(),
                })
                .into(),
        });
        result
    }

    #[test]
    fn every_tier_has_its_line_and_is_held_against_kotlin_alone() {
        let text = lines(&ladder()).join("\n");
        assert!(
            text.contains("A service in Rust                  8 000        1.00         200"),
            "{text}"
        );
        assert!(
            text.contains("- Throughput: slower: 0.100 (0.0950 to 0.105)"),
            "{text}"
        );
        assert!(
            text.contains("- Memory, all processes: less: 0.0250 (0.0238 to 0.0263)"),
            "{text}"
        );
    }

    #[test]
    fn an_invalid_measurement_claims_nothing() {
        let mut result = ladder();
        result
            .invalid
            .push("no block of kotlin passed the gates".to_owned());
        assert!(!lines(&result).join("\n").contains("slower"));
    }

    #[test]
    fn no_line_is_longer_than_a_hundred_columns() {
        for line in lines(&ladder()) {
            assert!(line.chars().count() <= WIDTH, "{line}");
        }
    }

    #[test]
    fn the_rust_of_the_result_is_the_target_not_the_first_tier() {
        let result = ladder();
        let throughput = result.metric("throughput").unwrap();
        assert_eq!(result.rust(throughput).map(|rust| rust.value), Some(8000.0));
        let ratio = result.rust_against_kotlin(throughput).unwrap().ratio;
        assert_eq!(ratio, Some(2.0));
    }
}
