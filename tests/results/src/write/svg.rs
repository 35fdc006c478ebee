//! The charts as SVG.
//!
//! Everything across is in percent of the width and everything down in pixels, so that a chart fits a phone without its
//! letters shrinking. Reference and own marks differ by shape and line, not by color alone.

use super::{escape, in_words, verdict};
use crate::figures::{figure, tick_label};
use crate::file::Verdict;
use crate::shown::{Bar, Bars, Chart, Course, Drawing, Mark, Panel, RatioRow, unique};

/// A drawing that grows downwards.
#[derive(Default)]
struct Drawn {
    body: String,
}

/// How a text is anchored, and its class.
type How = (&'static str, &'static str);
const PLAIN: How = ("start", "chart-plain");
const STRONG: How = ("start", "chart-strong");
const FAINT: How = ("start", "chart-faint");

impl Drawn {
    fn text(&mut self, x: f64, y: f64, (anchor, class): How, words: &str) {
        let words = escape(words);
        self.body += &format!(
            "<text x=\"{x:.2}%\" y=\"{y:.1}\" text-anchor=\"{anchor}\" class=\"{class}\">{words}</text>\n"
        );
    }

    fn line(&mut self, class: &str, (x1, x2): (f64, f64), (y1, y2): (f64, f64)) {
        self.body += &format!(
            "<line class=\"{class}\" x1=\"{x1:.2}%\" x2=\"{x2:.2}%\" y1=\"{y1:.1}\" y2=\"{y2:.1}\"></line>\n"
        );
    }

    fn bar(&mut self, class: &str, (x, width): (f64, f64), (y, height): (f64, f64)) {
        self.body += &format!(
            "<rect class=\"{class}\" x=\"{x:.2}%\" width=\"{width:.2}%\" y=\"{y:.1}\" height=\"{height:.1}\"></rect>\n"
        );
    }

    /// A mark at this place, which ends its group. A drawing of its own can be moved by percent, which a path cannot.
    fn shape(&mut self, shape: &str, x: f64, y: f64) {
        self.body +=
            &format!("<svg x=\"{x:.2}%\" y=\"{y}\" overflow=\"visible\">{shape}</svg></g>\n");
    }

    fn finished(self, height: f64, title: &str, description: &str) -> String {
        format!(
            "<svg role=\"img\" width=\"100%\" height=\"{height}\" class=\"chart-plot\">\n<title>{}</title>\n<desc>{}</desc>\n{}</svg>",
            escape(title),
            escape(description),
            self.body
        )
    }
}

/// The chart, with itself in words for those who hear it.
pub fn write(chart: &Chart) -> String {
    match &chart.drawing {
        Drawing::Ratios(rows) => ratios(rows),
        Drawing::Bars(groups) => bars(&chart.title, groups),
        Drawing::Lines(groups) => lines(&chart.title, groups),
        Drawing::Course(course) => runs(&chart.title, course),
    }
}

/// A logarithmic axis: from where to where, in decimal logarithms, and what is marked on it.
pub struct Scale {
    low: f64,
    high: f64,
    /// The marks.
    pub ticks: Vec<f64>,
}

impl Scale {
    /// An axis with all these ratios and 1 in it.
    pub fn of_ratios(rows: &[RatioRow]) -> Self {
        let marks = rows.iter().flat_map(|row| &row.marks);
        let values = marks.flat_map(Mark::values);
        let usable = |value: &f64| value.is_finite() && (1e-9..1e9).contains(value);
        let (mut least, mut most) = (1.0_f64, 1.0_f64);
        for value in values.filter(usable) {
            (least, most) = (least.min(value), most.max(value));
        }
        let steps =
            || (-9..=9).flat_map(|power| [1.0, 2.0, 5.0].map(|step| step * 10f64.powi(power)));
        // A little air, and the line at 1 never on the very edge.
        let low = steps().rfind(|step| *step <= least / 1.15).unwrap_or(1e-9);
        let high = steps().find(|step| *step >= most * 1.15).unwrap_or(1e9);
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

    /// How far along the axis a ratio is, 0 to 1.
    pub fn share(&self, ratio: f64) -> f64 {
        ((ratio.max(1e-12).log10() - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    /// In percent of the chart's width.
    fn x(&self, ratio: f64) -> f64 {
        3.0 + 94.0 * self.share(ratio)
    }
}

fn ratios(rows: &[RatioRow]) -> String {
    const TOP: f64 = 26.0;
    const NAME: f64 = 22.0;
    const LINE: f64 = 20.0;
    const GAP: f64 = 12.0;
    const BELOW: f64 = 17.0;
    let scale = Scale::of_ratios(rows);
    let marks: usize = rows.iter().map(|row| row.marks.len()).sum();
    // On a phone, what is said of a metric goes below a long name.
    let long = |row: &RatioRow| 3.0 + width_of(&row.name) + width_of(&aside(row)) > 100.0;
    let wrapped = rows.iter().filter(|row| long(row)).count();
    let bottom =
        TOP + (NAME + GAP) * rows.len() as f64 + BELOW * wrapped as f64 + LINE * marks as f64;
    let mut drawn = Drawn::default();
    for tick in &scale.ticks {
        let (x, one) = (scale.x(*tick), (*tick - 1.0).abs() < 1e-9);
        let class = if one { "chart-one" } else { "chart-grid" };
        drawn.line(class, (x, x), (TOP - 6.0, bottom));
        let anchor = match x {
            x if x < 5.0 => "start",
            x if x > 95.0 => "end",
            _ => "middle",
        };
        let class = if one { "chart-strong" } else { "chart-plain" };
        drawn.text(x, bottom + 16.0, (anchor, class), &tick_label(*tick));
    }
    let axis = [
        "Rust ÷ Kotlin, logarithmic; at 1 they are equal",
        "the shaded side of each row is better for Rust",
    ];
    for (y, line) in [bottom + 38.0, bottom + 55.0].into_iter().zip(axis) {
        drawn.text(50.0, y, ("middle", "chart-faint"), line);
    }
    if scale.x(1.0) > 22.0 {
        drawn.text(3.0, 12.0, FAINT, "← Rust less");
    }
    if scale.x(1.0) < 78.0 {
        drawn.text(97.0, 12.0, ("end", "chart-faint"), "Rust more →");
    }
    let mut words = Vec::new();
    let mut y = TOP;
    for row in rows {
        let (one, words_beside) = (scale.x(1.0), aside(row));
        let (better, height) = match row.more_is_better() {
            true => ((one, 97.0 - one), LINE * row.marks.len() as f64),
            false => ((3.0, one - 3.0), LINE * row.marks.len() as f64),
        };
        drawn.text(3.0, y + 14.0, STRONG, &row.name);
        if long(row) {
            y += BELOW;
        }
        let class = if says_verdict(row) {
            "chart-plain"
        } else {
            "chart-faint"
        };
        drawn.text(97.0, y + 14.0, ("end", class), &words_beside);
        drawn.bar("chart-better", better, (y + NAME, height));
        y += NAME;
        for one in &row.marks {
            mark(&mut drawn, one, row, &scale, y + LINE / 2.0);
            let of = match one.whose.as_str() {
                "" => String::new(),
                whose => format!(" ({whose})"),
            };
            words.push(format!("{}{of}: {}.", row.name, with_prediction(one)));
            y += LINE;
        }
        y += GAP;
    }
    drawn.finished(
        bottom + 63.0,
        "Rust divided by Kotlin, by metric",
        &words.join(" "),
    )
}

/// True where what is said of the only mark has room beside the metric's name.
fn says_verdict(row: &RatioRow) -> bool {
    row.marks.len() == 1 && !row.named
}

/// What is said beside a metric's name: of the only mark, else which way is better.
fn aside(row: &RatioRow) -> String {
    match row.marks.as_slice() {
        [mark] if says_verdict(row) => match mark.ratio.ratio {
            Some(ratio) => format!("{}, {}", figure(ratio), better(mark.ratio.verdict)),
            None => String::new(),
        },
        _ => row.sense.clone(),
    }
}

/// For whom a ratio is good.
fn better(verdict: Verdict) -> String {
    match verdict {
        Verdict::Faster | Verdict::Less => "better for Rust".to_owned(),
        Verdict::Slower | Verdict::More => "better for Kotlin".to_owned(),
        open => open.to_string(),
    }
}

/// The class of a mark by whose it is.
fn class(whose: &str) -> &'static str {
    if whose == "yours" { "own" } else { "reference" }
}

/// `0.29 (0.27 to 0.31), faster; predicted 0.5`.
fn with_prediction(mark: &Mark) -> String {
    let predicted = mark
        .predicted
        .map(|value| format!("; predicted {}", figure(value)));
    in_words(&mark.ratio) + &predicted.unwrap_or_default()
}

/// A ratio with its whiskers. If it is named, the prediction is on the same line. Where there are several marks, each is in words
/// on the side that has more room.
fn mark(drawn: &mut Drawn, mark: &Mark, row: &RatioRow, scale: &Scale, y: f64) {
    let (ratio, named) = (&mark.ratio, row.named);
    let class = if named {
        "reference"
    } else {
        class(&mark.whose)
    };
    if let Some(value) = ratio.ratio {
        drawn.body += &format!("<g class=\"chart-{class}\">\n");
        if let (Some(low), Some(high)) = (ratio.low, ratio.high) {
            let (low, high) = (scale.x(low), scale.x(high));
            drawn.line("chart-whisker", (low, high), (y, y));
            for end in [low, high] {
                drawn.line("chart-end", (end, end), (y - 5.0, y + 5.0));
            }
        }
        let circle = "<circle r=\"5.5\"></circle>";
        let shape = if class == "own" { OWN } else { circle };
        drawn.shape(shape, scale.x(value), y);
    } else if !named {
        drawn.text(3.0, y + 4.0, FAINT, &verdict(ratio));
    }
    if let Some(value) = mark.predicted {
        drawn.body += "<g class=\"chart-own\">\n";
        drawn.shape(OWN, scale.x(value), y);
    }
    if named || row.marks.len() > 1 && ratio.ratio.is_some() {
        let taken: Vec<f64> = mark.values().map(|value| scale.x(value)).collect();
        let left = taken.iter().copied().fold(100.0, f64::min);
        let right = taken.iter().copied().fold(0.0, f64::max);
        let (x, anchor) = match 100.0 - right >= left {
            true => (right + 1.5, "start"),
            false => (left - 1.5, "end"),
        };
        let words = match named {
            true => format!("{}: {}", mark.whose, with_prediction(mark)),
            // Short enough for a phone.
            false => ratio.ratio.map_or_else(String::new, figure),
        };
        drawn.text(x, y + 4.0, (anchor, "chart-plain"), &words);
    }
}

/// The mark that is not the reference's.
const OWN: &str = "<path d=\"M0 -6L6 0L0 6L-6 0Z\"></path>";

/// Which mark is whose; nothing where all are of one.
pub fn legend(rows: &[RatioRow]) -> String {
    let marks = rows
        .iter()
        .filter(|row| !row.named)
        .flat_map(|row| &row.marks);
    let names = unique(marks.map(|mark| mark.whose.as_str()));
    let of = |whose: &str| {
        let class = class(whose);
        let shape = if class == "own" {
            "M18 3L24 9L18 15L12 9Z"
        } else {
            "M12.5 9a5.5 5.5 0 1 0 11 0a5.5 5.5 0 1 0 -11 0Z"
        };
        format!(
            "<span class=\"legend\"><svg class=\"legend-mark\" width=\"36\" height=\"18\" aria-hidden=\"true\"><g class=\"chart-{class}\"><line x1=\"1\" x2=\"35\" y1=\"9\" y2=\"9\"></line><path d=\"{shape}\"></path></g></svg> {}</span> ",
            escape(whose)
        )
    };
    let names = names.into_iter().filter(|name| !name.is_empty());
    names.map(of).collect()
}

fn bars(title: &str, groups: &[Bars]) -> String {
    // Between a bar and the words beside it.
    const GAP: f64 = 1.5;
    const NAME: f64 = 24.0;
    const BAR: f64 = 20.0;
    let most = Bars::most(groups);
    let all = || groups.iter().flat_map(|group| &group.bars);
    let has_marks = all().any(|bar| !bar.mark.is_empty());
    let left = all().map(|bar| width_of(&bar.label)).fold(7.5, f64::max) + GAP;
    // The longest bar is as long as the words behind each of them allow.
    let room = |bar: &Bar| (100.0 - GAP - left - width_of(&in_figures(bar))) * most / bar.value;
    let longest = all().map(room).fold(72.0, f64::min);
    let mut drawn = Drawn::default();
    let mut words = Vec::new();
    let mut y = 0.0;
    for group in groups {
        drawn.text(left, y + 14.0, STRONG, &group.name);
        y += NAME;
        for bar in &group.bars {
            let width = longest * bar.value / most;
            let class = match has_marks {
                true => bar_class(bar.mark.is_empty()),
                false => class_of_language(&group.name, &bar.label),
            };
            drawn.text(left - GAP, y + 13.0, ("end", "chart-plain"), &bar.label);
            drawn.bar(class, (left, width), (y, BAR - 4.0));
            let value = in_figures(bar);
            drawn.text(left + width + GAP, y + 13.0, PLAIN, &value);
            words.push(format!("{}, {}: {value}.", group.name, bar.label));
            y += BAR;
        }
        y += 12.0;
    }
    drawn.finished(y, title, &words.join(" "))
}

fn bar_class(faint: bool) -> &'static str {
    if faint {
        "chart-bar-faint"
    } else {
        "chart-bar"
    }
}

/// The color of a bar where none is remarkable: that of the language which its group or its label begins with.
fn class_of_language(group: &str, label: &str) -> &'static str {
    let of = |language| group.starts_with(language) || label.starts_with(language);
    match (of("Rust"), of("Kotlin")) {
        (true, _) => "chart-bar-rust",
        (_, true) => "chart-bar-kotlin",
        _ => bar_class(true),
    }
}

/// `9 710, the knee`.
fn in_figures(bar: &Bar) -> String {
    let comma = if bar.mark.is_empty() { "" } else { ", " };
    format!("{}{comma}{}", figure(bar.value), bar.mark)
}

/// A line for each group, which has a number at both of its ends.
fn lines(title: &str, groups: &[Bars]) -> String {
    // Between two panels.
    const GAP: f64 = 22.0;
    let mut drawn = Drawn::default();
    let mut top = 0.0;
    for panel in panels(groups) {
        if top > 0.0 {
            top += GAP;
        }
        top = lines_of_panel(&mut drawn, groups, &panel, top);
    }
    let value = |bar: &Bar| format!("{}: {}", bar.label, figure(bar.value));
    let words = groups.iter().map(|group| {
        let values: Vec<_> = group.bars.iter().map(value).collect();
        format!("{}: {}.", group.name, values.join(", "))
    });
    let words: Vec<String> = words.collect();
    drawn.finished(top, title, &words.join(" "))
}

/// The family of a line: `Kotlin` of `Kotlin, coroutines`.
fn family(group: &Bars) -> &str {
    group.name.split(',').next().unwrap_or_default()
}

/// The lines of each panel. More than four cannot be told apart: then each family of several has a panel, and what is alone of
/// its kind is in all of them.
fn panels(groups: &[Bars]) -> Vec<Vec<usize>> {
    const MOST: usize = 4;
    let all: Vec<usize> = (0..groups.len()).collect();
    let members = |name: &str| groups.iter().filter(|group| family(group) == name).count();
    let families = unique(groups.iter().map(family));
    let several: Vec<&str> = families
        .into_iter()
        .filter(|name| members(name) > 1)
        .collect();
    if groups.len() <= MOST || several.is_empty() {
        return vec![all];
    }
    let panels = several.iter().map(|name| {
        let belongs = |at: &&usize| {
            let family = family(&groups[**at]);
            family == *name || members(family) == 1
        };
        all.iter().filter(belongs).copied().collect()
    });
    panels.collect()
}

/// One panel below this height, on the scale of all groups; where it ends.
fn lines_of_panel(drawn: &mut Drawn, groups: &[Bars], panel: &[usize], above: f64) -> f64 {
    const LEFT: f64 = 14.0;
    const WIDTH: f64 = 76.0;
    const NAME: f64 = 20.0;
    const PLOT: f64 = 280.0;
    // The lowest distance of two numbers below each other.
    const NUMBER: f64 = 14.0;
    let most = Bars::most(groups);
    let points = groups.iter().flat_map(|group| &group.bars);
    let places = unique(points.map(|point| point.label.as_str()));
    let families = unique(groups.iter().map(family));
    let top = above + NAME * panel.len() as f64 + 24.0;
    let ground = top + PLOT;
    let x = |place: usize| LEFT + WIDTH * place as f64 / (places.len().max(2) - 1) as f64;
    let y = |value: f64| ground - PLOT * value / most;
    for tick in ticks(most) {
        drawn.line("chart-grid", (LEFT, LEFT + WIDTH), (y(tick), y(tick)));
        let label = figure(tick);
        drawn.text(LEFT - 4.0, y(tick) + 4.0, ("end", "chart-faint"), &label);
    }
    let labels = without_unit(&places);
    let last = labels.len().saturating_sub(1);
    let widest = labels.iter().take(last).map(|label| width_of(label));
    let widest = widest.fold(0.0, f64::max) + 1.0;
    // On a phone, labels of many places would touch: then there is one for every second or third, counted from the last.
    let each = (widest / (x(1) - x(0))).ceil().max(1.0) as usize;
    for (place, label) in labels.into_iter().enumerate() {
        if (last - place).is_multiple_of(each) {
            drawn.text(x(place), ground + 18.0, ("middle", "chart-plain"), label);
        }
    }
    let mut ends: [Vec<(f64, usize)>; 2] = Default::default();
    for (row, at) in panel.iter().copied().enumerate() {
        let (group, number) = (&groups[at], at + 1);
        let color = families.iter().position(|known| *known == family(group));
        let color = color.unwrap_or_default() % 4 + 1;
        let before = groups[..at].iter();
        let stroke = before.filter(|one| family(one) == family(group)).count() % 4 + 1;
        let class = format!("chart-line chart-line-{color} chart-stroke-{stroke}");
        let middle = above + NAME * row as f64 + 10.0;
        drawn.text(2.0, middle + 4.0, STRONG, &number.to_string());
        drawn.line(&class, (5.0, 12.0), (middle, middle));
        drawn.text(LEFT, middle + 4.0, PLAIN, &group.name);
        let point = |(place, label): (usize, &&str)| {
            let bar = group.bars.iter().find(|bar| bar.label == *label)?;
            Some((x(place), y(bar.value)))
        };
        let points: Vec<_> = places.iter().enumerate().filter_map(point).collect();
        for pair in points.windows(2) {
            drawn.line(&class, (pair[0].0, pair[1].0), (pair[0].1, pair[1].1));
        }
        for (end, point) in ends.iter_mut().zip([points.first(), points.last()]) {
            end.extend(point.map(|(_, y)| (*y, number)));
        }
    }
    for (end, x) in ends.iter_mut().zip([LEFT - 2.0, LEFT + WIDTH + 2.0]) {
        end.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut free = top;
        for (y, _) in end.iter_mut() {
            *y = y.max(free);
            free = *y + NUMBER;
        }
        // Those that this has pushed below the axis go back up.
        let mut free = ground;
        for (y, number) in end.iter().rev() {
            let y = y.min(free);
            free = y - NUMBER;
            let number = number.to_string();
            drawn.text(x, y + 4.0, ("middle", "chart-strong"), &number);
        }
    }
    ground + 28.0
}

/// Labels of an axis: where all have the same unit, the last one says it.
fn without_unit<'a>(labels: &[&'a str]) -> Vec<&'a str> {
    let unit = |label: &&'a str| label.split_once(' ').map(|(_, unit)| unit);
    let same = labels
        .windows(2)
        .all(|pair| unit(&pair[0]) == unit(&pair[1]));
    let last = labels.len().saturating_sub(1);
    let short = |(place, label): (usize, &&'a str)| match label.split_once(' ') {
        Some((number, _)) if same && place < last => number,
        _ => *label,
    };
    labels.iter().enumerate().map(short).collect()
}

/// About as wide as a text is on a phone, in percent of a chart's width.
fn width_of(text: &str) -> f64 {
    const LETTER: f64 = 2.1;
    LETTER * text.chars().count() as f64
}

/// Two to five round numbers from 0 to the largest value.
fn ticks(most: f64) -> impl Iterator<Item = f64> {
    let power = 10f64.powf(most.max(1e-9).log10().floor());
    let step = [0.2, 0.5, 1.0, 2.0].map(|step| step * power);
    let step = step.into_iter().find(|step| most / step <= 5.0);
    let step = step.unwrap_or(2.0 * power);
    (0..=5)
        .map(move |tick| f64::from(tick) * step)
        .take_while(move |tick| *tick <= most)
}

fn runs(title: &str, course: &Course) -> String {
    const LEFT: f64 = 9.0;
    const WIDTH: f64 = 88.0;
    const TITLE: f64 = 22.0;
    const BARS: f64 = 72.0;
    const PANEL: f64 = TITLE + BARS + 14.0;
    let x = |second: f64| LEFT + WIDTH * (second / course.seconds).clamp(0.0, 1.0);
    let most = course.most();
    let bottom = PANEL * course.panels.len() as f64;
    let mut drawn = Drawn::default();
    let (began, ended) = (x(course.band.0), x(course.band.1));
    drawn.bar("chart-band", (began, ended - began), (0.0, bottom));
    for (place, panel) in course.panels.iter().enumerate() {
        let top = place as f64 * PANEL + TITLE;
        let ground = top + BARS;
        drawn.text(LEFT, top - 8.0, STRONG, &panel.name);
        let highest = format!("{} ms", figure(most.round()));
        for (y, label) in [(top, highest.as_str()), (ground, "0")] {
            drawn.line("chart-grid", (LEFT, LEFT + WIDTH), (y, y));
            drawn.text(LEFT - 1.0, y + 4.0, ("end", "chart-faint"), label);
        }
        let class = bar_class(panel.faint);
        let width = WIDTH / panel.moments.len().max(1) as f64;
        for (moment, latency) in panel.moments.iter().enumerate() {
            let Some(latency) = latency else { continue };
            // A pixel at least: a fast request is not the same as none.
            let height = (BARS * latency / most).max(1.0);
            let left = LEFT + width * moment as f64;
            drawn.bar(class, (left, width * 0.85), (ground - height, height));
        }
    }
    for second in 0..=course.seconds as u32 {
        let (at, label) = (x(f64::from(second)), second.to_string());
        drawn.text(at, bottom + 14.0, ("middle", "chart-plain"), &label);
    }
    let axis = "seconds from the beginning of the run";
    drawn.text(50.0, bottom + 34.0, ("middle", "chart-faint"), axis);
    let words: Vec<String> = course.panels.iter().map(panel_in_words).collect();
    drawn.finished(bottom + 40.0, title, &words.join(" "))
}

fn panel_in_words(panel: &Panel) -> String {
    let all = panel.moments.len();
    let latencies: Vec<f64> = panel.moments.iter().copied().flatten().collect();
    let slow = latencies.iter().filter(|latency| **latency > 100.0).count();
    let empty = all - latencies.len();
    format!(
        "{}: a request took more than 100 ms in {slow} of {all} moments; in {empty} there was none.",
        panel.name
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shown::Ratio;

    fn scale(values: &[f64]) -> Scale {
        let mark = |value: &f64| Mark {
            whose: String::new(),
            ratio: Ratio {
                ratio: Some(*value),
                low: None,
                high: None,
                verdict: Verdict::NoDifferenceShown,
                reason: None,
            },
            predicted: None,
        };
        Scale::of_ratios(&[RatioRow {
            name: String::new(),
            sense: String::new(),
            marks: values.iter().map(mark).collect(),
            named: false,
        }])
    }

    #[test]
    fn the_axis_holds_every_ratio_and_one() {
        let scale = scale(&[0.03, 3.4]);
        assert!(scale.low <= 0.03f64.log10() && scale.high >= 3.4f64.log10());
        assert!(scale.ticks.contains(&1.0), "{:?}", scale.ticks);
    }

    #[test]
    fn a_wide_axis_is_marked_at_powers_of_ten() {
        let labels: Vec<_> = scale(&[0.001, 30.0])
            .ticks
            .iter()
            .map(|tick| tick_label(*tick))
            .collect();
        assert_eq!(labels, ["0.001", "0.01", "0.1", "1", "10"]);
    }

    #[test]
    fn ratios_that_cannot_be_drawn_do_not_break_the_axis() {
        let scale = scale(&[0.0, f64::INFINITY, f64::NAN, -1.0]);
        assert!(scale.x(0.0).is_finite() && scale.x(f64::INFINITY).is_finite());
    }

    fn group(name: &str, values: &[(&str, f64, &str)]) -> Bars {
        let bar = |(label, value, mark): &(&str, f64, &str)| Bar {
            label: (*label).to_owned(),
            value: *value,
            mark: (*mark).to_owned(),
        };
        Bars {
            name: name.to_owned(),
            bars: values.iter().map(bar).collect(),
        }
    }

    /// The texts of a drawing: where each begins and ends on a phone, in percent, how far down it is, and its words.
    fn texts(drawn: &str) -> Vec<(f64, f64, f64, String)> {
        let attribute = |tag: &str, name: &str| {
            let value = tag.split(&format!("{name}=\"")).nth(1).unwrap();
            value.split('"').next().unwrap().to_owned()
        };
        let number = |tag: &str, name: &str| -> f64 {
            attribute(tag, name).trim_end_matches('%').parse().unwrap()
        };
        let text = |tag: &str| {
            let words = tag.split('>').nth(1).unwrap();
            let words = words.split('<').next().unwrap().to_owned();
            let (x, y, width) = (number(tag, " x"), number(tag, " y"), width_of(&words));
            let start = match attribute(tag, "text-anchor").as_str() {
                "start" => x,
                "middle" => x - width / 2.0,
                _ => x - width,
            };
            (start, start + width, y, words)
        };
        drawn.split("<text").skip(1).map(text).collect()
    }

    #[test]
    fn labels_and_values_of_bars_stay_inside_on_a_phone() {
        let peers = group(
            "Kotlin",
            &[("2000 peers", 534.0, ""), ("500 peers", 215.0, "")],
        );
        let pools = group("Rust", &[("4", 9710.0, "the knee"), ("16", 10200.0, "")]);
        for groups in [[peers], [pools]] {
            for (start, end, _, words) in texts(&bars("", &groups)) {
                assert!(start >= 0.0 && end <= 100.0, "{words}: {start} to {end}");
            }
        }
    }

    #[test]
    fn the_only_mark_is_told_beside_its_metric_and_the_better_side_is_shaded() {
        let ratio = |value, verdict| Ratio {
            ratio: Some(value),
            low: None,
            high: None,
            verdict,
            reason: None,
        };
        let row = |name: &str, sense: &str, ratio| RatioRow {
            name: name.to_owned(),
            sense: sense.to_owned(),
            marks: vec![Mark {
                whose: "reference".to_owned(),
                ratio,
                predicted: None,
            }],
            named: false,
        };
        let drawn = ratios(&[
            row("Throughput", "more is better", ratio(0.5, Verdict::Slower)),
            row("Memory", "less is better", ratio(0.25, Verdict::Less)),
        ]);
        let words: Vec<String> = texts(&drawn).into_iter().map(|text| text.3).collect();
        for told in ["0.500, better for Kotlin", "0.250, better for Rust"] {
            assert!(words.iter().any(|words| words == told), "{words:?}");
        }
        let shades = drawn.split("<rect class=\"chart-better\" x=\"").skip(1);
        let starts: Vec<&str> = shades.filter_map(|rest| rest.split('%').next()).collect();
        assert!(starts[0] > "50" && starts[1] == "3.00", "{starts:?}");
    }

    #[test]
    fn a_long_name_leaves_what_is_better_to_the_next_line() {
        let long = RatioRow {
            name: "CPU per million requests, at the same rate".to_owned(),
            sense: "less is better".to_owned(),
            marks: Vec::new(),
            named: false,
        };
        let drawn = texts(&ratios(&[long]));
        let of = |words: &str| drawn.iter().find(|text| text.3 == words);
        let (name, sense) = (
            of("CPU per million requests, at the same rate"),
            of("less is better"),
        );
        assert!(
            name.zip(sense)
                .is_some_and(|(name, sense)| name.2 < sense.2),
            "{drawn:?}"
        );
    }

    #[test]
    fn nothing_below_lines_touches() {
        let delays = ["0 ms", "5 ms", "20 ms", "50 ms", "200 ms", "1000 ms"];
        let line = |name: &str, last: f64| {
            let values =
                delays.map(|delay| (delay, if delay == "1000 ms" { last } else { 8000.0 }, ""));
            group(name, &values)
        };
        let drawn = lines("", &[line("a", 200.0), line("b", 190.0), line("c", 180.0)]);
        let texts = texts(&drawn);
        let lowest = texts.iter().map(|text| text.2).fold(0.0, f64::max);
        let (below, above): (Vec<_>, Vec<_>) = texts.into_iter().partition(|text| text.2 == lowest);
        for (_, _, y, words) in above {
            assert!(y <= lowest - 14.0, "{words} at {y}, the labels at {lowest}");
        }
        apart(below);
    }

    #[test]
    fn many_lines_have_a_panel_per_family_and_what_is_alone_is_in_each() {
        let line = |name: &str| group(name, &[("0 ms", 1.0, ""), ("5 ms", 2.0, "")]);
        let names = [
            "Kotlin, threads",
            "Kotlin, coroutines",
            "Rust",
            "Spring",
            "Spring, reactive",
        ];
        let drawn = lines("", &names.map(line));
        let count = |name: &str| texts(&drawn).iter().filter(|text| text.3 == name).count();
        assert_eq!(names.map(count), [1, 1, 2, 1, 1]);
    }

    #[test]
    fn the_labels_of_many_places_leave_some_out_instead_of_touching() {
        let millions: Vec<String> = (1..=10)
            .map(|tenth| format!("{:.2}", 0.3 * f64::from(tenth)))
            .collect();
        let values: Vec<_> = millions
            .iter()
            .map(|label| (label.as_str(), 7.6, ""))
            .collect();
        let texts = texts(&lines("", &[group("Rust", &values)]));
        let below: Vec<_> = texts
            .into_iter()
            .filter(|text| millions.contains(&text.3))
            .collect();
        assert!(below.iter().any(|text| text.3 == "3.00"), "{below:?}");
        apart(below);
    }

    /// Fails where two texts of one line touch.
    fn apart(mut texts: Vec<(f64, f64, f64, String)>) {
        texts.sort_by(|one, other| one.0.total_cmp(&other.0));
        for pair in texts.windows(2) {
            assert!(pair[0].1 + 1.0 <= pair[1].0, "{pair:?}");
        }
    }
}
