//! What only the measurement of exercise 5 has: a stall of the database, counted from when requests were sent and from when
//! they were due, as a table of percentiles and as a chart over time.

use std::fmt::Write;

use crate::results::numbers::grouped;

use crate::html::escape;
use crate::results::numbers::value;
use crate::results::table::name;
use crate::results::table::ratio;
use crate::results::table::wrapped;
use workshop_results::file::ResultFile;
use workshop_results::file::Side;
use workshop_results::file::Stall;
use workshop_results::file::StalledSide;
use workshop_results::metrics::UNCORRECTED;

/// Where the plots start and how wide they are, in percent.
const LEFT: f64 = 9.0;
const WIDTH: f64 = 88.0;
/// Pixels of a plot: its title, its bars, the gap below.
const TITLE: f64 = 22.0;
const BARS: f64 = 72.0;
const GAP: f64 = 14.0;
/// Pixels below the plots, for the axis.
const AXIS: f64 = 40.0;

/// The table and the chart of each file that has a stall.
pub fn render(reference: Option<&ResultFile>, own: Option<&ResultFile>) -> String {
    [("reference", reference), ("yours", own)]
        .into_iter()
        .filter_map(|(whose, file)| {
            let file = file?;
            let stall = file.stall.as_ref()?;
            Some(format!(
                "{}{}",
                chart(whose, file, stall),
                table(whose, file, stall)
            ))
        })
        .collect()
}

/// The sides of a stall with their names.
fn sides<'a>(
    file: &'a ResultFile,
    stall: &'a Stall,
) -> impl Iterator<Item = (&'a Side, &'a StalledSide)> {
    stall.sides.iter().filter_map(|stalled| {
        let side = file.sides.iter().find(|side| side.id == stalled.side)?;
        Some((side, stalled))
    })
}

fn table(whose: &str, file: &ResultFile, stall: &Stall) -> String {
    let mut languages = String::new();
    let mut ways = String::new();
    for (side, _) in sides(file, stall) {
        let _ = write!(
            languages,
            "<th scope=\"colgroup\" colspan=\"2\">{}</th>",
            side.language
        );
        ways.push_str("<th scope=\"col\">from sent</th><th scope=\"col\">from due</th>");
    }
    let mut rows = String::new();
    for metric in &file.metrics {
        let Some(uncorrected) = file.metric(&format!("{}{UNCORRECTED}", metric.key)) else {
            continue;
        };
        let _ = write!(rows, "<tr><th scope=\"row\">{}</th>", name(metric));
        for (side, _) in sides(file, stall) {
            for metric in [uncorrected, metric] {
                let cell = metric
                    .value(&side.id)
                    .map_or_else(|| "–".to_owned(), |side| value(side.value));
                let _ = write!(rows, "<td class=\"number\">{cell}</td>");
            }
        }
        rows.push_str("</tr>\n");
    }
    rows.push_str("<tr><th scope=\"row\">p99 from due ÷ p99 from sent <span class=\"unit\">(95 % interval)</span></th>");
    for (_, stalled) in sides(file, stall) {
        let _ = write!(
            rows,
            "<td class=\"number\" colspan=\"2\">{}</td>",
            ratio(&stalled.p99)
        );
    }
    rows.push_str("</tr>\n<tr><th scope=\"row\">Answers by status</th>");
    for (_, stalled) in sides(file, stall) {
        let counts: Vec<String> = stalled
            .statuses
            .iter()
            .map(|(status, count)| format!("{}: {}", escape(status), grouped(*count)))
            .collect();
        let _ = write!(rows, "<td colspan=\"2\">{}</td>", counts.join(", "));
    }
    rows.push_str("</tr>\n");
    wrapped(
        &format!("The same requests counted twice, {whose}"),
        "figures",
        &format!(
            "<caption>The same requests counted from when they were sent and from when they were due, {whose}</caption>\n<thead>\n<tr><th scope=\"col\" rowspan=\"2\">Latency</th>{languages}</tr>\n<tr>{ways}</tr>\n</thead>\n<tbody>\n{rows}</tbody>\n"
        ),
    )
}

/// One way of counting one side: the slowest request of each moment.
struct Plot<'a> {
    title: String,
    class: &'static str,
    moments: &'a [Option<f64>],
}

/// The course of one run of each side, one plot for each way of counting.
fn chart(whose: &str, file: &ResultFile, stall: &Stall) -> String {
    let plots: Vec<Plot<'_>> = sides(file, stall)
        .flat_map(|(side, stalled)| {
            [
                Plot {
                    title: format!("{}, from when it was sent", side.language),
                    class: "chart-bar-faint",
                    moments: &stalled.course.uncorrected_ms,
                },
                Plot {
                    title: format!("{}, from when it was due", side.language),
                    class: "chart-bar",
                    moments: &stalled.course.corrected_ms,
                },
            ]
        })
        .collect();
    let most = plots
        .iter()
        .flat_map(|plot| plot.moments.iter().flatten())
        .fold(0.0, |most: f64, latency| most.max(*latency));
    if most <= 0.0 {
        return String::new();
    }
    let caption = format!(
        "The slowest request of each {} ms in one run at {} requests a second, {whose}. The database stands still in the grey stretch. Where there is no bar, no request was sent.",
        value(
            stall
                .sides
                .first()
                .map_or(0.0, |side| side.course.moment_s * 1e3)
        ),
        value(stall.rate)
    );
    format!(
        "<figure class=\"chart\">\n{}\n<figcaption>{}</figcaption>\n</figure>\n",
        svg(&plots, stall, most),
        escape(&caption)
    )
}

fn svg(plots: &[Plot<'_>], stall: &Stall, most: f64) -> String {
    let x = |second: f64| LEFT + WIDTH * (second / stall.seconds).clamp(0.0, 1.0);
    let bottom = (TITLE + BARS + GAP) * plots.len() as f64;
    let mut svg = format!(
        "<svg role=\"img\" width=\"100%\" height=\"{}\" class=\"chart-plot\">\n<title>Latency over time, counted in two ways</title>\n",
        bottom + AXIS
    );
    let _ = writeln!(svg, "<desc>{}</desc>", escape(&description(plots)));
    let _ = writeln!(
        svg,
        "<rect class=\"chart-band\" x=\"{:.2}%\" width=\"{:.2}%\" y=\"0\" height=\"{bottom}\"></rect>",
        x(stall.began_s),
        x(stall.began_s + stall.lasted_s) - x(stall.began_s)
    );
    for (place, plot) in plots.iter().enumerate() {
        let top = place as f64 * (TITLE + BARS + GAP) + TITLE;
        let ground = top + BARS;
        let _ = writeln!(
            svg,
            "<text x=\"{LEFT}%\" y=\"{}\" class=\"chart-strong\">{}</text>",
            top - 8.0,
            escape(&plot.title)
        );
        for (latency, y) in [(most, top), (0.0, ground)] {
            let _ = writeln!(
                svg,
                "<line class=\"chart-grid\" x1=\"{LEFT}%\" x2=\"{}%\" y1=\"{y}\" y2=\"{y}\"></line><text x=\"{}%\" y=\"{}\" text-anchor=\"end\" class=\"chart-faint\">{}</text>",
                LEFT + WIDTH,
                LEFT - 1.0,
                y + 4.0,
                if latency > 0.0 {
                    format!("{} ms", value(latency.round()))
                } else {
                    "0".to_owned()
                }
            );
        }
        let width = WIDTH / plot.moments.len().max(1) as f64;
        for (moment, latency) in plot.moments.iter().enumerate() {
            let Some(latency) = latency else { continue };
            // A pixel at least: a fast request is not the same as none.
            let height = (BARS * latency / most).max(1.0);
            let _ = writeln!(
                svg,
                "<rect class=\"{}\" x=\"{:.2}%\" width=\"{:.2}%\" y=\"{:.1}\" height=\"{height:.1}\"></rect>",
                plot.class,
                LEFT + width * moment as f64,
                width * 0.85,
                ground - height
            );
        }
    }
    for second in 0..=stall.seconds as u32 {
        let _ = writeln!(
            svg,
            "<text x=\"{:.2}%\" y=\"{}\" text-anchor=\"middle\">{second}</text>",
            x(f64::from(second)),
            bottom + 14.0
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"50%\" y=\"{}\" text-anchor=\"middle\" class=\"chart-faint\">seconds from the beginning of the run</text>",
        bottom + 34.0
    );
    svg.push_str("</svg>");
    svg
}

/// The chart in words.
fn description(plots: &[Plot<'_>]) -> String {
    let sentences = plots.iter().map(|plot| {
        let slow = plot
            .moments
            .iter()
            .flatten()
            .filter(|latency| **latency > 100.0)
            .count();
        let empty = plot.moments.iter().filter(|moment| moment.is_none()).count();
        format!(
            "{}: a request took more than 100 ms in {slow} of {} moments; in {empty} there was none.",
            plot.title,
            plot.moments.len()
        )
    });
    sentences.collect::<Vec<_>>().join(" ")
}
