//! What only the measurement of exercise 6 has: throughput by the size of the pool, with the knee of each side, and the
//! hidden ping as a knob.

use std::fmt::Write;

use crate::html::escape;
use crate::results::knob;
use crate::results::numbers::value;
use crate::results::table::wrapped;
use workshop_results::file::Language;
use workshop_results::file::PoolSweep;
use workshop_results::file::ResultFile;
use workshop_results::file::Side;
use workshop_results::metrics::pool_end;

/// Where the bars start and how wide the longest is, in percent.
const LEFT: f64 = 9.0;
const WIDTH: f64 = 72.0;
/// Pixels of a side's name, of a bar, and of the gap below a side.
const NAME: f64 = 24.0;
const BAR: f64 = 20.0;
const GAP: f64 = 12.0;

/// The chart and the tables of each file that has pools of several sizes.
pub fn render(reference: Option<&ResultFile>, own: Option<&ResultFile>) -> String {
    [("reference", reference), ("yours", own)]
        .into_iter()
        .filter_map(|(whose, file)| {
            let file = file?;
            let pool = file.pool.as_ref()?;
            Some([
                chart(whose, file, pool),
                table(whose, file, pool),
                ping(whose, file, pool),
            ])
        })
        .flatten()
        .collect()
}

/// The sides that were measured with every size: the first of each language.
fn sides(file: &ResultFile) -> impl Iterator<Item = &Side> {
    [Language::Kotlin, Language::Rust]
        .into_iter()
        .filter_map(|language| file.side(language))
}

/// A side's value of a metric with a pool of this size.
fn measured(file: &ResultFile, key: &str, side: &str, size: u16) -> Option<f64> {
    let metric = file.metric(&format!("{key}{}", pool_end(size)))?;
    Some(metric.value(side)?.value)
}

fn is_knee(pool: &PoolSweep, side: &str, size: u16) -> bool {
    pool.knees
        .iter()
        .any(|knee| knee.side == side && knee.size == size)
}

fn table(whose: &str, file: &ResultFile, pool: &PoolSweep) -> String {
    let cell = |value_of: Option<f64>| value_of.map_or_else(|| "–".to_owned(), value);
    let mut first = String::from("<th scope=\"col\" rowspan=\"2\">Pool</th>");
    let mut second = String::new();
    for side in sides(file) {
        let _ = write!(
            first,
            "<th scope=\"colgroup\" colspan=\"3\">{}</th>",
            side.language
        );
        second.push_str("<th scope=\"col\">requests/s</th><th scope=\"col\">p99 <span class=\"unit\">(ms)</span></th><th scope=\"col\">opened</th>");
    }
    first.push_str(
        "<th scope=\"col\" rowspan=\"2\">pgbench <span class=\"unit\">(records/s)</span></th>",
    );
    let mut rows = String::new();
    for size in &pool.sizes {
        let _ = write!(rows, "<tr><th scope=\"row\">{size}</th>");
        for side in sides(file) {
            let knee = if is_knee(pool, &side.id, *size) {
                " <span class=\"sense\">knee</span>"
            } else {
                ""
            };
            let _ = write!(
                rows,
                "<td class=\"number\">{}{knee}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>",
                cell(measured(file, "throughput", &side.id, *size)),
                cell(measured(file, "p99", &side.id, *size)),
                cell(measured(file, "connections", &side.id, *size)),
            );
        }
        let _ = writeln!(
            rows,
            "<td class=\"number\">{}</td></tr>",
            cell(pool.database.get(size).copied())
        );
    }
    wrapped(
        &format!("Pools of several sizes, {whose}"),
        "figures",
        &format!(
            "<caption>{} connections of load on pools of several sizes, {whose}; pgbench with as many clients, without a service. The knee is the smallest pool with at least {} % of the best throughput.</caption>\n<thead>\n<tr>{first}</tr>\n<tr>{second}</tr>\n</thead>\n<tbody>\n{rows}</tbody>\n",
            file.manifest.connections,
            value(pool.enough * 100.0),
        ),
    )
}

/// The ping: the reference without it held against the reference with it.
fn ping(whose: &str, file: &ResultFile, pool: &PoolSweep) -> String {
    let side = |id: &str| file.sides.iter().find(|side| side.id == id);
    let (Some(without), Some(with)) = (side(&pool.without_ping), side(&pool.with_ping)) else {
        return String::new();
    };
    let pair = file
        .metrics
        .iter()
        .filter_map(|metric| Some((metric, metric.comparison(&without.id, &with.id)?)));
    knob::table(&format!("The hidden ping, {whose}"), without, with, pair)
}

/// Throughput as bars, one for each size, side by side.
fn chart(whose: &str, file: &ResultFile, pool: &PoolSweep) -> String {
    let throughput = |side: &Side, size: u16| measured(file, "throughput", &side.id, size);
    let most = sides(file)
        .flat_map(|side| {
            pool.sizes
                .iter()
                .filter_map(move |size| throughput(side, *size))
        })
        .fold(0.0, f64::max);
    if most <= 0.0 {
        return String::new();
    }
    let a_side = NAME + BAR * pool.sizes.len() as f64 + GAP;
    let height = a_side * sides(file).count() as f64;
    let mut svg = format!(
        "<svg role=\"img\" width=\"100%\" height=\"{height}\" class=\"chart-plot\">\n<title>Throughput by the size of the pool</title>\n"
    );
    let _ = writeln!(svg, "<desc>{}</desc>", escape(&description(file, pool)));
    for (place, side) in sides(file).enumerate() {
        let top = place as f64 * a_side;
        let _ = writeln!(
            svg,
            "<text x=\"{LEFT}%\" y=\"{}\" class=\"chart-strong\">{}</text>",
            top + 14.0,
            side.language
        );
        for (line, size) in pool.sizes.iter().enumerate() {
            let y = top + NAME + BAR * line as f64;
            let _ = writeln!(
                svg,
                "<text x=\"{}%\" y=\"{}\" text-anchor=\"end\">{size}</text>",
                LEFT - 1.5,
                y + 13.0
            );
            let Some(rate) = throughput(side, *size) else {
                continue;
            };
            let width = WIDTH * rate / most;
            let knee = is_knee(pool, &side.id, *size);
            let class = if knee { "chart-bar" } else { "chart-bar-faint" };
            let words = if knee { ", the knee" } else { "" };
            let _ = writeln!(
                svg,
                "<rect class=\"{class}\" x=\"{LEFT}%\" width=\"{width:.2}%\" y=\"{y}\" height=\"{}\"></rect><text x=\"{:.2}%\" y=\"{}\">{}{words}</text>",
                BAR - 4.0,
                LEFT + width + 1.0,
                y + 13.0,
                value(rate)
            );
        }
    }
    svg.push_str("</svg>");
    format!(
        "<figure class=\"chart\">\n{svg}\n<figcaption>Requests a second by the size of the pool, {whose}.</figcaption>\n</figure>\n"
    )
}

/// The chart in words.
fn description(file: &ResultFile, pool: &PoolSweep) -> String {
    let sentences = sides(file).filter_map(|side| {
        let knee = pool.knees.iter().find(|knee| knee.side == side.id)?;
        Some(format!(
            "{}: the knee is a pool of {}; the best throughput is that of {}.",
            side.language, knee.size, knee.best
        ))
    });
    sentences.collect::<Vec<_>>().join(" ")
}
