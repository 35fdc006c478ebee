//! A table of one Rust side held against another: with a guard and without it, with a ping and without it.

use crate::html::escape;
use crate::results::numbers::value;
use crate::results::table::name;
use crate::results::table::ratio;
use crate::results::table::wrapped;
use workshop_results::file::Comparison;
use workshop_results::file::Metric;
use workshop_results::file::Side;

/// The table; `pairs` holds the metrics that compare the two.
pub fn table<'a>(
    title: &str,
    side: &Side,
    against: &Side,
    pairs: impl Iterator<Item = (&'a Metric, &'a Comparison)>,
) -> String {
    let rows: String = pairs
        .map(|(metric, comparison)| row(metric, comparison))
        .collect();
    wrapped(
        title,
        "figures",
        &format!(
            "<caption>{title}</caption>\n<thead><tr><th scope=\"col\">Metric</th><th scope=\"col\">{side}</th><th scope=\"col\">{against}</th><th scope=\"col\">{side} ÷ {against} <span class=\"unit\">(95 % interval)</span></th><th scope=\"col\">Verdict</th></tr></thead>\n<tbody>\n{rows}</tbody>\n",
            title = escape(title),
            side = escape(&side.label),
            against = escape(&against.label),
        ),
    )
}

fn row(metric: &Metric, comparison: &Comparison) -> String {
    let of = |side: &str| {
        metric
            .value(side)
            .map_or_else(|| "–".to_owned(), |side| value(side.value))
    };
    let verdict = match &comparison.reason {
        Some(reason) => format!("invalid: {}", escape(reason)),
        None => comparison.verdict.words(&metric.key).to_owned(),
    };
    format!(
        "<tr><th scope=\"row\">{}</th><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td>{verdict}</td></tr>\n",
        name(metric),
        of(&comparison.side),
        of(&comparison.against),
        ratio(comparison),
    )
}
