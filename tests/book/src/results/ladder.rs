//! What only the measurement of exercise 12 has: a row for each tier of the ladder, and the best tier by each figure.

use std::fmt::Write;

use crate::html::escape;
use crate::results::numbers::value;
use crate::results::table::name;
use crate::results::table::ratio;
use crate::results::table::wrapped;
use workshop_results::file::Better;
use workshop_results::file::Ladder;
use workshop_results::file::Metric;
use workshop_results::file::ResultFile;
use workshop_results::file::Tier;

/// The tables of tiers: a title, and the metrics that are their columns.
const TABLES: [(&str, &[&str]); 3] = [
    (
        "The ladder, texts of 32 bytes",
        &[
            "throughput",
            "p50_at_60",
            "p99",
            "cpu_per_request",
            "cpu_per_request_at_60",
            "image_at_32_bytes",
        ],
    ),
    (
        "The ladder, texts of 512 bytes",
        &[
            "throughput_at_512_bytes",
            "cpu_per_request_at_512_bytes",
            "image_at_512_bytes",
        ],
    ),
    (
        "What a tier takes besides",
        &["pss_at_load", "start_up", "warm_up", "threads", "size"],
    ),
];
/// What a tier can be best at.
const BEST: [&str; 7] = [
    "throughput",
    "throughput_at_512_bytes",
    "p99",
    "cpu_per_request",
    "cpu_per_request_at_512_bytes",
    "pss_at_load",
    "start_up",
];

/// The tables of each file that has a ladder.
pub fn render(reference: Option<&ResultFile>, own: Option<&ResultFile>) -> String {
    [("reference", reference), ("yours", own)]
        .into_iter()
        .filter_map(|(whose, file)| Some((whose, file?, file?.ladder.as_ref()?)))
        .map(|(whose, file, ladder)| tiers(whose, file, ladder))
        .collect()
}

/// A row for each tier, held against Kotlin alone where that says something.
pub fn tiers(whose: &str, file: &ResultFile, ladder: &Ladder) -> String {
    let tables = TABLES.iter().map(|(title, keys)| {
        let metrics: Vec<&Metric> = keys.iter().filter_map(|key| file.metric(key)).collect();
        table(&format!("{title}, {whose}"), file, ladder, &metrics)
    });
    tables.collect()
}

fn table(title: &str, file: &ResultFile, ladder: &Ladder, metrics: &[&Metric]) -> String {
    if metrics.is_empty() {
        return String::new();
    }
    let mut head = String::from("<th scope=\"col\">Tier</th>");
    for metric in metrics {
        let _ = write!(head, "<th scope=\"col\">{}</th>", name(metric));
        if compares(metric) {
            head.push_str("<th scope=\"col\">÷ tier 0</th>");
        }
    }
    let mut body = String::new();
    for tier in &ladder.tiers {
        let _ = write!(body, "<tr><th scope=\"row\">{}</th>", heading(file, tier));
        for metric in metrics {
            let measured = metric.value(&tier.side);
            let text = measured.map_or_else(|| "–".to_owned(), |measured| value(measured.value));
            let _ = write!(body, "<td class=\"number\">{text}</td>");
            if compares(metric) {
                let _ = write!(
                    body,
                    "<td class=\"number\">{}</td>",
                    against_ground(metric, ladder, tier)
                );
            }
        }
        body.push_str("</tr>\n");
    }
    wrapped(
        title,
        "figures headline",
        &format!(
            "<caption>{title} (÷ tier 0: with the 95 % interval)</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n"
        ),
    )
}

/// Threads and sizes are told as they are.
fn compares(metric: &Metric) -> bool {
    BEST.contains(&metric.key.as_str())
}

/// `3: A call away`.
pub fn heading(file: &ResultFile, tier: &Tier) -> String {
    format!("{}: {}", tier.tier, escape(file.label(&tier.side)))
}

/// A tier held against the first: 1 for the first itself.
pub fn against_ground(metric: &Metric, ladder: &Ladder, tier: &Tier) -> String {
    let Some(ground) = ladder.tiers.first() else {
        return "–".to_owned();
    };
    if tier.side == ground.side {
        return "1".to_owned();
    }
    let comparison = metric.comparison(&tier.side, &ground.side);
    comparison.map_or_else(|| "–".to_owned(), ratio)
}

/// The best tier by each figure: among those that leave the service in Kotlin, and among all. By the means alone one is always
/// best; whether it is shown to be better than Kotlin alone is said beside.
pub fn best(whose: &str, file: &ResultFile, ladder: &Ladder) -> String {
    let Some(top) = ladder.tiers.iter().map(|tier| tier.tier).max() else {
        return String::new();
    };
    let mut rows = String::new();
    for metric in BEST.iter().filter_map(|key| file.metric(key)) {
        let _ = write!(rows, "<tr><th scope=\"row\">{}</th>", name(metric));
        for below in [top, top + 1] {
            let reached = ladder.tiers.iter().filter(|tier| tier.tier < below);
            match best_of(metric, reached) {
                Some(tier) => {
                    let _ = write!(
                        rows,
                        "<td>{}</td><td class=\"number\">{}</td><td>{}</td>",
                        heading(file, tier),
                        against_ground(metric, ladder, tier),
                        verdict(metric, ladder, tier)
                    );
                }
                None => rows.push_str("<td>–</td><td class=\"number\">–</td><td>–</td>"),
            }
        }
        rows.push_str("</tr>\n");
    }
    let title = format!("The best tier by each figure, {whose}");
    let columns = "<th scope=\"col\">Tier</th><th scope=\"col\">÷ tier 0 <span class=\"unit\">(95 % interval)</span></th><th scope=\"col\">Verdict</th>";
    wrapped(
        &title,
        "figures headline",
        &format!(
            "<caption>{title}</caption>\n<thead>\n<tr><td rowspan=\"2\"></td><th scope=\"colgroup\" colspan=\"3\">The service stays in Kotlin</th><th scope=\"colgroup\" colspan=\"3\">Any tier</th></tr>\n<tr>{columns}{columns}</tr>\n</thead>\n<tbody>\n{rows}</tbody>\n"
        ),
    )
}

fn best_of<'a>(metric: &Metric, tiers: impl Iterator<Item = &'a Tier>) -> Option<&'a Tier> {
    let measured = tiers.filter_map(|tier| Some((tier, metric.value(&tier.side)?.value)));
    let best = match metric.better {
        Better::Higher => measured.max_by(|(_, one), (_, other)| one.total_cmp(other)),
        Better::Lower => measured.min_by(|(_, one), (_, other)| one.total_cmp(other)),
    };
    best.map(|(tier, _)| tier)
}

/// What the measurement allows to say of this tier and the first.
fn verdict(metric: &Metric, ladder: &Ladder, tier: &Tier) -> String {
    let ground = ladder.tiers.first();
    let comparison = ground.and_then(|ground| metric.comparison(&tier.side, &ground.side));
    comparison.map_or_else(
        || "Kotlin alone is best".to_owned(),
        |comparison| comparison.verdict.words(&metric.key).to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use workshop_results::ladder_table::tests::ladder;

    #[test]
    fn every_tier_has_its_row_with_its_ratio_to_the_first() {
        let result = ladder();
        let html = render(Some(&result), None);
        let row = "<th scope=\"row\">1: A process away</th><td class=\"number\">400</td><td class=\"number\">0.100 <span class=\"interval\">(0.0950 to 0.105)</span></td>";
        assert!(html.contains(row), "{html}");
        assert!(
            html.contains("<th scope=\"row\">0: Kotlin alone</th><td class=\"number\">4000</td><td class=\"number\">1</td>"),
            "{html}"
        );
        assert!(
            html.contains("texts of 512 bytes, reference") && !html.contains("Start-up"),
            "{html}"
        );
        let without = ResultFile {
            ladder: None,
            ..result
        };
        assert_eq!(render(Some(&without), None), "");
    }

    #[test]
    fn where_no_tier_in_the_service_beats_kotlin_alone_it_says_so() {
        let result = ladder();
        let html = best("reference", &result, result.ladder.as_ref().unwrap());
        let row = |name: &str| {
            let start = format!("<tr><th scope=\"row\">{name}");
            let row = html.lines().find(|line| line.starts_with(&start));
            row.unwrap_or_else(|| panic!("{name}: {html}")).to_owned()
        };
        let throughput = row("Throughput</th>");
        assert!(
            throughput.contains("<td>0: Kotlin alone</td><td class=\"number\">1</td><td>Kotlin alone is best</td><td>4: A service in Rust</td><td class=\"number\">2 "),
            "{throughput}"
        );
        assert!(throughput.contains("<td>faster</td></tr>"), "{throughput}");
        let memory = row("Memory");
        assert!(
            memory.contains("<td>1: A process away</td><td class=\"number\">0.500 ")
                && memory.contains("<td>less</td></tr>"),
            "{memory}"
        );
    }
}
