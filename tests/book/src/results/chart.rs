//! The chart of a measurement: Rust divided by Kotlin on a logarithmic axis, with the intervals as whiskers.
//!
//! Everything across is in percent of the width and everything down in pixels, so that the chart fits a phone without
//! its letters shrinking. Reference and own figures differ by shape and line, not by colour alone.

use std::fmt::Write;

use crate::html::escape;
use crate::results::numbers::value;
use crate::results::table;
use workshop_results::file::Better;
use workshop_results::file::Comparison;
use workshop_results::file::Metric;
use workshop_results::file::ResultFile;

/// Where the plot starts and how wide it is, in percent.
const LEFT: f64 = 3.0;
const WIDTH: f64 = 94.0;
/// Pixels from the top to the first row.
const TOP: f64 = 26.0;
/// Pixels a row takes: its name, then a line for each series.
const NAME: f64 = 22.0;
const LINE: f64 = 20.0;
const GAP: f64 = 12.0;
/// Pixels below the rows, for the axis.
const AXIS: f64 = 46.0;

/// One row of the chart.
struct Row<'a> {
    metric: &'a Metric,
    reference: Option<&'a Comparison>,
    own: Option<&'a Comparison>,
}

/// The chart with its legend; nothing when there is nothing to compare.
pub fn figure(reference: Option<&ResultFile>, own: Option<&ResultFile>) -> String {
    let rows = rows(reference, own);
    let all: Vec<&Comparison> = rows
        .iter()
        .flat_map(|row| [row.reference, row.own])
        .flatten()
        .filter(|comparison| comparison.ratio.is_some())
        .collect();
    if all.is_empty() {
        return String::new();
    }
    let scale = Scale::of(
        all.iter()
            .flat_map(|comparison| [comparison.ratio, comparison.low, comparison.high])
            .flatten(),
    );
    let legend = legend(
        rows.iter().any(|row| row.reference.is_some()),
        rows.iter().any(|row| row.own.is_some()),
    );
    format!(
        "<figure class=\"chart\">\n{}\n<figcaption>{legend}</figcaption>\n</figure>\n",
        svg(&rows, &scale)
    )
}

fn rows<'a>(reference: Option<&'a ResultFile>, own: Option<&'a ResultFile>) -> Vec<Row<'a>> {
    let mut rows: Vec<Row<'a>> = Vec::new();
    for (is_own, file) in [(false, reference), (true, own)] {
        let Some(file) = file else { continue };
        for metric in file.metrics.iter().filter(|metric| metric.headline) {
            let Some(comparison) = file.rust_against_kotlin(metric) else {
                continue;
            };
            let index = rows
                .iter()
                .position(|row| row.metric.key == metric.key)
                .unwrap_or_else(|| {
                    rows.push(Row {
                        metric,
                        reference: None,
                        own: None,
                    });
                    rows.len() - 1
                });
            let place = if is_own {
                &mut rows[index].own
            } else {
                &mut rows[index].reference
            };
            *place = Some(comparison);
        }
    }
    rows
}

fn legend(reference: bool, own: bool) -> String {
    let mut items = Vec::new();
    if reference {
        items.push(format!(
            "<span class=\"legend\">{} reference</span>",
            sample("reference")
        ));
    }
    if own {
        items.push(format!(
            "<span class=\"legend\">{} yours</span>",
            sample("own")
        ));
    }
    items.push("<span class=\"legend\">whiskers: 95 % interval</span>".to_owned());
    items.join(" ")
}

/// A small picture of a series' mark, for the legend.
fn sample(class: &str) -> String {
    let mark = if class == "own" {
        "M18 3L24 9L18 15L12 9Z"
    } else {
        "M12.5 9a5.5 5.5 0 1 0 11 0a5.5 5.5 0 1 0 -11 0Z"
    };
    format!(
        "<svg class=\"legend-mark\" width=\"36\" height=\"18\" aria-hidden=\"true\"><g class=\"chart-{class}\"><line x1=\"1\" x2=\"35\" y1=\"9\" y2=\"9\"></line><path d=\"{mark}\"></path></g></svg>"
    )
}

/// The axis: from where to where, in decimal logarithms, and what is marked on it.
struct Scale {
    low: f64,
    high: f64,
    ticks: Vec<f64>,
}

impl Scale {
    /// An axis that holds these ratios and 1.
    fn of(ratios: impl Iterator<Item = f64>) -> Self {
        let usable = ratios.filter(|ratio| ratio.is_finite() && *ratio > 0.0);
        let (least, most) = usable.fold((1.0f64, 1.0f64), |(least, most), ratio| {
            (least.min(ratio), most.max(ratio))
        });
        // A little air, and the line at 1 never on the very edge.
        let least = least / 1.15;
        let most = most * 1.15;
        let steps =
            || (-9..=9).flat_map(|power| [1.0, 2.0, 5.0].map(|step: f64| step * 10f64.powi(power)));
        let low = steps()
            .filter(|step| *step <= least)
            .fold(f64::MIN_POSITIVE, f64::max)
            .max(1e-9);
        let high = steps()
            .filter(|step| *step >= most)
            .fold(f64::MAX, f64::min)
            .min(1e9);
        let decades = (high / low).log10();
        // Up to two decades every 1, 2 and 5; beyond, powers of ten: more labels would touch on a phone.
        let wanted =
            |step: &f64| decades <= 2.05 || (step.log10() - step.log10().round()).abs() < 1e-9;
        let inside = |step: &f64| *step >= low * 0.999 && *step <= high * 1.001;
        Scale {
            low: low.log10(),
            high: high.log10(),
            ticks: steps().filter(inside).filter(wanted).collect(),
        }
    }

    /// Where a ratio stands, in percent of the chart's width.
    fn x(&self, ratio: f64) -> f64 {
        let share = (ratio.max(1e-12).log10() - self.low) / (self.high - self.low);
        LEFT + WIDTH * share.clamp(0.0, 1.0)
    }
}

fn svg(rows: &[Row<'_>], scale: &Scale) -> String {
    let lines =
        |row: &Row<'_>| f64::from(u8::from(row.reference.is_some()) + u8::from(row.own.is_some()));
    let body: f64 = rows.iter().map(|row| NAME + LINE * lines(row) + GAP).sum();
    let bottom = TOP + body;
    let mut svg = format!(
        "<svg role=\"img\" width=\"100%\" height=\"{}\" class=\"chart-plot\">\n",
        bottom + AXIS
    );
    svg.push_str("<title>Rust divided by Kotlin, by metric</title>\n");
    let _ = writeln!(svg, "<desc>{}</desc>", escape(&description(rows)));
    for tick in &scale.ticks {
        let x = scale.x(*tick);
        let one = (*tick - 1.0).abs() < 1e-9;
        let class = if one { "chart-one" } else { "chart-grid" };
        let _ = writeln!(
            svg,
            "<line class=\"{class}\" x1=\"{x:.2}%\" x2=\"{x:.2}%\" y1=\"{}\" y2=\"{bottom}\"></line>",
            TOP - 6.0
        );
        let anchor = if x < LEFT + 2.0 {
            "start"
        } else if x > LEFT + WIDTH - 2.0 {
            "end"
        } else {
            "middle"
        };
        let weight = if one { " class=\"chart-strong\"" } else { "" };
        let _ = writeln!(
            svg,
            "<text x=\"{x:.2}%\" y=\"{}\" text-anchor=\"{anchor}\"{weight}>{}</text>",
            bottom + 16.0,
            tick_label(*tick)
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"50%\" y=\"{}\" text-anchor=\"middle\" class=\"chart-faint\">Rust ÷ Kotlin, logarithmic; at 1 they are equal</text>",
        bottom + 38.0
    );
    let one = scale.x(1.0);
    if one > 22.0 {
        let _ = writeln!(
            svg,
            "<text x=\"{LEFT}%\" y=\"12\" class=\"chart-faint\">← Rust less</text>"
        );
    }
    if one < 78.0 {
        let _ = writeln!(
            svg,
            "<text x=\"{}%\" y=\"12\" text-anchor=\"end\" class=\"chart-faint\">Rust more →</text>",
            LEFT + WIDTH
        );
    }
    let mut y = TOP;
    for row in rows {
        let sense = match row.metric.better {
            Better::Higher => "more is better",
            Better::Lower => "less is better",
        };
        let _ = writeln!(
            svg,
            "<text x=\"{LEFT}%\" y=\"{}\"><tspan class=\"chart-strong\">{}</tspan><tspan class=\"chart-faint\">, {sense}</tspan></text>",
            y + 14.0,
            escape(&row.metric.name)
        );
        y += NAME;
        for (class, comparison) in [("reference", row.reference), ("own", row.own)] {
            if let Some(comparison) = comparison {
                svg.push_str(&mark(class, comparison, scale, y + LINE / 2.0));
                y += LINE;
            }
        }
        y += GAP;
    }
    svg.push_str("</svg>");
    svg
}

/// A ratio with its whiskers.
fn mark(class: &str, comparison: &Comparison, scale: &Scale, y: f64) -> String {
    let Some(ratio) = comparison.ratio else {
        return format!(
            "<text x=\"{LEFT}%\" y=\"{}\" class=\"chart-faint\">no ratio: invalid</text>\n",
            y + 4.0
        );
    };
    let mut svg = format!("<g class=\"chart-{class}\">");
    if let (Some(low), Some(high)) = (comparison.low, comparison.high) {
        let (low, high) = (scale.x(low), scale.x(high));
        let _ = write!(
            svg,
            "<line x1=\"{low:.2}%\" x2=\"{high:.2}%\" y1=\"{y}\" y2=\"{y}\"></line>"
        );
        for end in [low, high] {
            let _ = write!(
                svg,
                "<line class=\"chart-end\" x1=\"{end:.2}%\" x2=\"{end:.2}%\" y1=\"{}\" y2=\"{}\"></line>",
                y - 5.0,
                y + 5.0
            );
        }
    }
    let x = scale.x(ratio);
    let shape = if class == "own" {
        "<path d=\"M0 -6L6 0L0 6L-6 0Z\"></path>"
    } else {
        "<circle r=\"5.5\"></circle>"
    };
    // A drawing of its own can be moved by percent, which a path cannot.
    let _ = writeln!(
        svg,
        "<svg x=\"{x:.2}%\" y=\"{y}\" overflow=\"visible\">{shape}</svg></g>"
    );
    svg
}

/// `0.02`, `5`, `1000`.
fn tick_label(tick: f64) -> String {
    let decimals = if tick < 1.0 {
        (-tick.log10() - 1e-9).ceil().max(0.0) as usize
    } else {
        0
    };
    format!("{tick:.decimals$}")
}

/// The chart in words.
fn description(rows: &[Row<'_>]) -> String {
    let mut sentences = Vec::new();
    for row in rows {
        for (whose, comparison) in [("reference", row.reference), ("yours", row.own)] {
            let Some(comparison) = comparison else {
                continue;
            };
            let figures = match (comparison.ratio, comparison.low, comparison.high) {
                (Some(ratio), Some(low), Some(high)) => format!(
                    "{}, 95 % interval {} to {}",
                    value(ratio),
                    value(low),
                    value(high)
                ),
                (Some(ratio), ..) => value(ratio),
                _ => "no ratio".to_owned(),
            };
            sentences.push(format!(
                "{} ({whose}): {figures}, {}.",
                row.metric.name,
                table::verdict(comparison, &row.metric.key)
            ));
        }
    }
    sentences.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_holds_every_ratio_and_one() {
        let scale = Scale::of([0.03, 3.4].into_iter());
        assert!(scale.low <= 0.03f64.log10() && scale.high >= 3.4f64.log10());
        assert!(scale.ticks.contains(&1.0), "{:?}", scale.ticks);
        assert!(scale.x(0.03) > LEFT && scale.x(3.4) < LEFT + WIDTH);
    }

    #[test]
    fn a_wide_axis_is_marked_at_powers_of_ten() {
        let scale = Scale::of([0.001, 30.0].into_iter());
        let labels: Vec<_> = scale.ticks.iter().map(|tick| tick_label(*tick)).collect();
        assert_eq!(labels, ["0.001", "0.01", "0.1", "1", "10"]);
    }

    #[test]
    fn ratios_that_cannot_be_drawn_do_not_break_the_axis() {
        let scale = Scale::of([0.0, f64::INFINITY, f64::NAN, -1.0].into_iter());
        assert!(scale.x(0.0).is_finite() && scale.x(f64::INFINITY).is_finite());
    }
}
