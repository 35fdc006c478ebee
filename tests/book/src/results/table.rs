//! The tables of a measurement: headline figures, the data behind the chart, predictions, conditions.

use crate::html::escape;
use crate::results::compares;
use crate::results::numbers::value;
use workshop_results::file::Better;
use workshop_results::file::Comparison;
use workshop_results::file::Metric;
use workshop_results::file::ResultFile;
use workshop_results::file::SideValue;
use workshop_results::file::Verdict;

/// A table that scrolls inside itself and takes the keyboard's focus.
pub fn wrapped(label: &str, class: &str, content: &str) -> String {
    format!(
        "<div class=\"table-wrapper\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\n<table class=\"{class}\">\n{content}</table>\n</div>\n",
        escape(label)
    )
}

/// The headline metrics: the reference's columns, then the reader's.
pub fn headline(reference: Option<&ResultFile>, own: Option<&ResultFile>) -> String {
    let files: Vec<(&str, &ResultFile)> = [("Reference", reference), ("Yours", own)]
        .into_iter()
        .filter_map(|(name, file)| Some((name, file?)))
        .collect();
    if files.is_empty() {
        return String::new();
    }
    let mut first = String::from("<tr><th scope=\"col\" rowspan=\"2\">Metric</th>");
    let mut second = String::from("<tr>");
    for (name, file) in &files {
        let columns: &[&str] = if compares(file) {
            &[
                "Kotlin",
                "Rust",
                "Rust ÷ Kotlin <span class=\"unit\">(95 % interval)</span>",
                "Verdict",
            ]
        } else {
            &["Kotlin"]
        };
        first.push_str(&format!(
            "<th scope=\"colgroup\" colspan=\"{}\">{name}</th>",
            columns.len()
        ));
        for column in columns {
            second.push_str(&format!("<th scope=\"col\">{column}</th>"));
        }
    }
    let mut rows = String::new();
    // What compares two Rust sides only has a table of its own.
    let has_a_side = |file: &ResultFile, key: &str| {
        let metric = file.metric(key);
        metric.is_some_and(|metric| file.kotlin(metric).is_some() || file.rust(metric).is_some())
    };
    let shown = metrics(&files, |metric| metric.headline)
        .into_iter()
        .filter(|metric| files.iter().any(|(_, file)| has_a_side(file, &metric.key)));
    for metric in shown {
        rows.push_str(&format!(
            "<tr><th scope=\"row\">{}{}</th>",
            name(metric),
            sense(metric)
        ));
        for (_, file) in &files {
            rows.push_str(&cells(file, &metric.key));
        }
        rows.push_str("</tr>\n");
    }
    if rows.is_empty() {
        return String::new();
    }
    wrapped(
        "Measured figures",
        "figures headline",
        &format!("<thead>\n{first}</tr>\n{second}</tr>\n</thead>\n<tbody>\n{rows}</tbody>\n"),
    )
}

/// The metrics of all files by the order of the first that has them.
fn metrics<'a>(
    files: &[(&str, &'a ResultFile)],
    wanted: impl Fn(&Metric) -> bool,
) -> Vec<&'a Metric> {
    let mut metrics: Vec<&Metric> = Vec::new();
    for (_, file) in files {
        for metric in file.metrics.iter().filter(|metric| wanted(metric)) {
            if !metrics.iter().any(|there| there.key == metric.key) {
                metrics.push(metric);
            }
        }
    }
    metrics
}

/// A metric's name with its unit, where that says more.
pub fn name(metric: &Metric) -> String {
    if metric.unit.is_empty() || metric.unit.eq_ignore_ascii_case(&metric.name) {
        return escape(&metric.name);
    }
    format!(
        "{} <span class=\"unit\">({})</span>",
        escape(&metric.name),
        escape(&metric.unit)
    )
}

/// Which way is better; said in words since throughput is the odd one out.
fn sense(metric: &Metric) -> &'static str {
    match metric.better {
        Better::Higher => " <span class=\"sense\">more is better</span>",
        Better::Lower => "",
    }
}

/// The cells of one file in the row of a metric.
fn cells(file: &ResultFile, key: &str) -> String {
    let width = if compares(file) { 4 } else { 1 };
    let Some(metric) = file.metric(key) else {
        return format!("<td colspan=\"{width}\">not measured</td>");
    };
    let side = |value_of: Option<&SideValue>| {
        value_of.map_or_else(|| "–".to_owned(), |side| value(side.value))
    };
    let mut cells = format!("<td class=\"number\">{}</td>", side(file.kotlin(metric)));
    if !compares(file) {
        return cells;
    }
    cells.push_str(&format!(
        "<td class=\"number\">{}</td>",
        side(file.rust(metric))
    ));
    match file.rust_against_kotlin(metric) {
        Some(comparison) => {
            cells.push_str(&format!(
                "<td class=\"number\">{}</td><td>{}</td>",
                ratio(comparison),
                verdict(comparison, key)
            ));
        }
        None => cells.push_str("<td class=\"number\">–</td><td>–</td>"),
    }
    cells
}

/// `0.29 (0.27 to 0.31)`.
pub fn ratio(comparison: &Comparison) -> String {
    match (comparison.ratio, comparison.low, comparison.high) {
        (Some(ratio), Some(low), Some(high)) => {
            format!(
                "{} <span class=\"interval\">({} to {})</span>",
                value(ratio),
                value(low),
                value(high)
            )
        }
        (Some(ratio), ..) => value(ratio),
        _ => "–".to_owned(),
    }
}

/// The verdict as a short sentence.
pub fn verdict(comparison: &Comparison, key: &str) -> String {
    let words = comparison.verdict.words(key);
    match comparison.verdict {
        Verdict::Faster | Verdict::Slower => {
            let verb = if matches!(words, "less" | "more") {
                "needs"
            } else {
                "is"
            };
            format!("Rust {verb} {words}")
        }
        Verdict::NoDifferenceShown => words.to_owned(),
        Verdict::Invalid => match &comparison.reason {
            Some(reason) => format!("{words}: {}", escape(reason)),
            None => words.to_owned(),
        },
    }
}

/// The reader's predictions held against what was measured.
pub fn predictions(own: &ResultFile) -> String {
    if own.predictions.is_empty() {
        return String::new();
    }
    let mut rows = String::new();
    for prediction in &own.predictions {
        let name = own
            .metric(&prediction.key)
            .map_or(prediction.key.as_str(), |metric| metric.name.as_str());
        rows.push_str(&format!(
            "<tr><th scope=\"row\">{}</th><td class=\"number\">{}</td><td class=\"number\">{} %</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td>{}</td></tr>\n",
            escape(name),
            value(prediction.predicted),
            value(prediction.confidence),
            value(prediction.measured),
            value(prediction.factor),
            if prediction.held { "held" } else { "did not hold" }
        ));
    }
    let head = "<caption>Your predictions from exercise 1 (a prediction holds when it is within a factor of two)</caption>\n<thead><tr><th scope=\"col\">Metric</th><th scope=\"col\">You said</th><th scope=\"col\">You were sure</th><th scope=\"col\">Measured</th><th scope=\"col\">Off by a factor of</th><th scope=\"col\">Verdict</th></tr></thead>\n";
    wrapped(
        "Your predictions",
        "figures predictions",
        &format!("{head}<tbody>\n{rows}</tbody>\n"),
    )
}

/// Everything that was measured, and under which conditions, folded away.
pub fn details(reference: Option<&ResultFile>, own: Option<&ResultFile>) -> String {
    let mut html = String::new();
    for (whose, file) in [("reference", reference), ("yours", own)] {
        let Some(file) = file else { continue };
        let what = if compares(file) {
            "The data behind the chart, and its conditions"
        } else {
            "All figures, and their conditions"
        };
        html.push_str(&format!(
            "<details class=\"results-data\">\n<summary>{what}: {whose}</summary>\n{}{}{}</details>\n",
            all(file, whose),
            notes(file),
            conditions(file)
        ));
    }
    html
}

/// Every metric with values, spread and ratio.
fn all(file: &ResultFile, whose: &str) -> String {
    let mut rows = String::new();
    for metric in &file.metrics {
        let side = |measured: Option<&SideValue>| {
            measured.map_or_else(
                || "–".to_owned(),
                |side| {
                    format!(
                        "{} <span class=\"interval\">({} to {}, {} blocks)</span>",
                        value(side.value),
                        value(side.least),
                        value(side.most),
                        side.blocks
                    )
                },
            )
        };
        rows.push_str(&format!(
            "<tr><th scope=\"row\">{}</th><td class=\"number\">{}</td>",
            name(metric),
            side(file.kotlin(metric))
        ));
        if compares(file) {
            rows.push_str(&format!(
                "<td class=\"number\">{}</td>",
                side(file.rust(metric))
            ));
            match file.rust_against_kotlin(metric) {
                Some(comparison) => rows.push_str(&format!(
                    "<td class=\"number\">{}</td><td class=\"number\">{}</td><td>{}</td>",
                    ratio(comparison),
                    comparison.rounds,
                    verdict(comparison, &metric.key)
                )),
                None => rows.push_str("<td>–</td><td>–</td><td>–</td>"),
            }
        }
        rows.push_str(&format!(
            "<td class=\"how\">{}</td></tr>\n",
            escape(&metric.how)
        ));
    }
    let comparing = if compares(file) {
        "<th scope=\"col\">Rust (least to most)</th><th scope=\"col\">Rust ÷ Kotlin (95 % interval)</th><th scope=\"col\">Rounds</th><th scope=\"col\">Verdict</th>"
    } else {
        ""
    };
    wrapped(
        &format!("All metrics, {whose}"),
        "figures",
        &format!(
            "<thead><tr><th scope=\"col\">Metric</th><th scope=\"col\">Kotlin (least to most)</th>{comparing}<th scope=\"col\">How</th></tr></thead>\n<tbody>\n{rows}</tbody>\n"
        ),
    )
}

fn notes(file: &ResultFile) -> String {
    if file.notes.is_empty() {
        return String::new();
    }
    let items: String = file
        .notes
        .iter()
        .map(|note| format!("<li>{}</li>\n", escape(note)))
        .collect();
    format!("<ul class=\"results-notes\">\n{items}</ul>\n")
}

fn conditions(file: &ResultFile) -> String {
    let manifest = &file.manifest;
    let machine = &manifest.machine;
    let mut pairs: Vec<(String, String)> = vec![
        (
            "CPU".into(),
            format!("{}, {} cores", machine.cpu, machine.cores),
        ),
        ("Memory".into(), format!("{} MB", machine.memory_mb)),
        ("System".into(), machine.kernel.clone()),
    ];
    let optional = [
        ("Governor", &machine.governor),
        ("Throttling", &machine.throttled),
        ("Virtual", &machine.virtualised),
    ];
    pairs.extend(
        optional
            .into_iter()
            .filter_map(|(name, text)| Some((name.to_owned(), text.clone()?))),
    );
    pairs.push(("Database".into(), manifest.database.clone()));
    pairs.extend(
        manifest
            .versions
            .iter()
            .map(|(name, version)| (name.clone(), version.clone())),
    );
    pairs.extend(manifest.flags.iter().map(|(name, flag)| {
        (
            name.clone(),
            if flag.is_empty() {
                "not set".to_owned()
            } else {
                flag.clone()
            },
        )
    }));
    pairs.push(("Pool".into(), format!("{} connections", manifest.pool_size)));
    pairs.push((
        "Load".into(),
        format!("{} connections", manifest.connections),
    ));
    pairs.extend(manifest.round_trips.iter().map(|(side, trips)| {
        (
            format!("Database round trips a request, {side}"),
            value(*trips),
        )
    }));
    pairs.extend(manifest.rates.iter().map(|(percent, rate)| {
        (
            format!("Offered rate at {} %", percent.trim_end_matches('%').trim()),
            format!("{} requests/s", value(*rate)),
        )
    }));
    pairs.push(("Took".into(), format!("{} s", value(manifest.took_s))));
    pairs.extend(file.sides.iter().map(|side| {
        (
            side.label.clone(),
            format!("{} ({})", side.command, side.runtime),
        )
    }));
    let rows: String = pairs
        .iter()
        .map(|(name, text)| {
            format!(
                "<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n",
                escape(name),
                escape(text)
            )
        })
        .collect();
    wrapped(
        "Conditions",
        "conditions",
        &format!("<caption>Conditions</caption>\n<tbody>\n{rows}</tbody>\n"),
    )
}
