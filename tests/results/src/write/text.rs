//! The terminal's writer: lines of at most a hundred columns.

use super::{is_number, plain, svg::Scale, verdict};
use crate::figures::{NONE, THIN, figure, interval, tick_label};
use crate::file::Verdict;
use crate::shown::{Bars, Cell, Chart, Course, Drawing, Ratio, RatioRow, Table};
use crate::view::Item;
use workshop_base::terminal::{Style, paint};

/// The longest line.
const WIDTH: usize = 100;
/// The longest line of a cell in words, and of a heading.
const WORDS: usize = 30;
const HEADING: usize = 16;
/// The length of the longest bar.
const BAR: f64 = 50.0;

/// All items, an empty line between them.
pub fn write(items: &[Item]) -> String {
    let blocks = items.iter().map(|item| match item {
        Item::Text(lead, text) if lead.is_empty() => wrapped(text, ""),
        Item::Text(lead, text) => wrapped(&format!("{lead}: {text}"), ""),
        Item::Invalid(reason) => {
            let invalid = paint(Style::Warning, "invalid");
            wrapped(&format!("{invalid}: {reason}"), "")
        }
        Item::List(title, items) => {
            let items = items.iter().flat_map(|item| wrapped(item, "- "));
            std::iter::once(format!("{title}:")).chain(items).collect()
        }
        Item::Table(table) => of_table(table),
        Item::Chart(chart) => of_chart(chart),
        Item::Folded(..) => Vec::new(),
    });
    let blocks = blocks.filter(|lines| !lines.is_empty());
    let blocks: Vec<String> = blocks.map(|lines| lines.join("\n") + "\n").collect();
    blocks.join("\n").replace(THIN, " ")
}

/// Prints all items.
pub fn print(items: &[Item]) {
    print!("\n{}", write(items));
}

/// Text in lines; the first begins with this mark, the others are indented as far.
fn wrapped(text: &str, mark: &str) -> Vec<String> {
    let indent = " ".repeat(mark.len());
    let lines = broken(text, WIDTH - mark.len()).into_iter().enumerate();
    lines
        .map(|(place, line)| format!("{}{line}", if place == 0 { mark } else { &indent }))
        .collect()
}

/// Words in lines of at most this width, escape sequences not counted; a longer word has its own line.
fn broken(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last().map_or(0, |line| length(line));
        match lines.last_mut() {
            Some(last) if line > 0 && line + 1 + length(word) <= width => {
                last.push(' ');
                last.push_str(word);
            }
            Some(last) if line == 0 => last.push_str(word),
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The columns that a text takes.
fn length(text: &str) -> usize {
    let mut escape = false;
    let shown = text.chars().filter(|character| {
        let hidden = escape || *character == '\u{1b}';
        escape = hidden && *character != 'm';
        !hidden
    });
    shown.count()
}

/// A column as text: its cells as lines, the heading's first.
struct TextColumn {
    heading: Vec<String>,
    cells: Vec<Vec<String>>,
    right: bool,
    width: usize,
}

impl TextColumn {
    fn new(heading: &str, cells: Vec<String>, right: bool) -> Self {
        let heading = broken(heading, HEADING);
        let cells: Vec<_> = cells.iter().map(|cell| broken(cell, WORDS)).collect();
        let lines = heading.iter().chain(cells.iter().flatten());
        let width = lines.map(|line| length(line)).max().unwrap_or(0);
        TextColumn {
            heading,
            cells,
            right,
            width,
        }
    }

    fn padded(&self, text: &str) -> String {
        let space = " ".repeat(self.width.saturating_sub(length(text)));
        if self.right {
            format!("{space}{text}")
        } else {
            format!("{text}{space}")
        }
    }
}

fn of_table(table: &Table) -> Vec<String> {
    let mut columns = Vec::new();
    for (place, column) in table.columns.iter().enumerate() {
        let cells: Vec<&Cell> = table.rows.iter().map(|row| row.cell(place)).collect();
        let heading = match column.group.as_str() {
            "" => column.heading.clone(),
            group => format!("{group}: {}", column.heading),
        };
        let right = cells.iter().all(|cell| is_number(cell));
        if right && cells.iter().any(|cell| matches!(cell, Cell::Ratio(_))) {
            columns.push(of_ratios(&heading, &cells));
        } else {
            let cells = cells.into_iter().map(plain).collect();
            columns.push(vec![TextColumn::new(&heading, cells, right)]);
        }
    }
    let headings = table.rows.iter().map(|row| row.heading.clone()).collect();
    let first = TextColumn::new(&table.corner, headings, false);
    let mut lines = wrapped(&table.title, "");
    lines.retain(|line| !line.is_empty());
    // What does not fit goes below, each part with the rows' headings.
    let mut part: Vec<&TextColumn> = vec![&first];
    let mut width = first.width;
    for group in &columns {
        let more: usize = group.iter().map(|column| column.width + 2).sum();
        if width + more > WIDTH && part.len() > 1 {
            lines.extend(laid_out(&part, table.rows.len()));
            part = vec![&first];
            width = first.width;
        }
        part.extend(group);
        width += more;
    }
    lines.extend(laid_out(&part, table.rows.len()));
    lines.extend(table.notes.iter().flat_map(|note| wrapped(note, "- ")));
    lines
}

/// Ratios with their intervals and verdicts, each part below its like.
fn of_ratios(heading: &str, cells: &[&Cell]) -> Vec<TextColumn> {
    let of = |part: fn(&Ratio) -> String, otherwise: fn(&Cell) -> String| -> Vec<String> {
        let parts = cells.iter().map(|cell| match cell {
            Cell::Ratio(ratio) => part(ratio),
            other => otherwise(other),
        });
        parts.collect()
    };
    let nothing = |_: &Cell| String::new();
    let ratios = of(
        |one| one.ratio.map_or_else(|| NONE.to_owned(), figure),
        plain,
    );
    let intervals = of(
        |one| interval(one.low, one.high).unwrap_or_default(),
        nothing,
    );
    let verdicts = of(|one| painted(one.verdict, &verdict(one)), nothing);
    vec![
        TextColumn::new(heading, ratios, true),
        TextColumn::new("95 % interval", intervals, true),
        TextColumn::new("verdict", verdicts, false),
    ]
}

fn painted(verdict: Verdict, words: &str) -> String {
    let style = match verdict {
        Verdict::Faster | Verdict::Less => Style::Good,
        Verdict::Slower | Verdict::More => Style::Bad,
        Verdict::NoDifferenceShown | Verdict::NotJudged => Style::Faint,
        Verdict::Invalid => Style::Warning,
    };
    let words: Vec<String> = words.split(' ').map(|word| paint(style, word)).collect();
    words.join(" ")
}

fn laid_out(columns: &[&TextColumn], rows: usize) -> Vec<String> {
    let headings: Vec<&[String]> = columns.iter().map(|column| &*column.heading).collect();
    let headings = beside(columns, &headings, true).into_iter();
    let mut lines: Vec<String> = headings.map(|line| paint(Style::Strong, line)).collect();
    for row in 0..rows {
        let cells: Vec<&[String]> = columns.iter().map(|column| &*column.cells[row]).collect();
        lines.extend(beside(columns, &cells, false));
    }
    lines
}

/// The lines of cells beside each other, which begin at the top or stand on the ground.
fn beside(columns: &[&TextColumn], cells: &[&[String]], on_the_ground: bool) -> Vec<String> {
    let height = cells.iter().map(|cell| cell.len()).max().unwrap_or(0);
    let line = |at: usize| {
        let padded = columns.iter().zip(cells).map(|(column, cell)| {
            let above = if on_the_ground {
                height - cell.len()
            } else {
                0
            };
            let line = at.checked_sub(above).and_then(|at| cell.get(at));
            column.padded(line.map_or("", String::as_str))
        });
        let padded: Vec<String> = padded.collect();
        padded.join("  ").trim_end().to_owned()
    };
    (0..height).map(line).collect()
}

fn of_chart(chart: &Chart) -> Vec<String> {
    let mut lines = wrapped(&chart.title, "");
    match &chart.drawing {
        Drawing::Ratios(rows) => lines.extend(of_ratio_rows(rows)),
        Drawing::Bars(groups) | Drawing::Lines(groups) => lines.extend(of_bars(groups)),
        Drawing::Course(course) => lines.extend(of_course(course)),
    }
    lines
}

/// Marks on a line from the lowest to the highest.
fn of_ratio_rows(rows: &[RatioRow]) -> Vec<String> {
    const AXIS: f64 = 60.0;
    let scale = Scale::of_ratios(rows);
    let at = |value: f64| (scale.share(value) * AXIS).round() as usize;
    let mut ticks = vec![' '; AXIS as usize + 8];
    for tick in &scale.ticks {
        for (offset, character) in tick_label(*tick).chars().enumerate() {
            ticks[at(*tick) + offset] = character;
        }
    }
    let ticks: String = ticks.into_iter().collect();
    let mut lines = vec![format!("{:26}{}", "", ticks.trim_end())];
    for row in rows {
        for (place, mark) in row.marks.iter().enumerate() {
            let ratio = &mark.ratio;
            let mut marks = vec![' '; AXIS as usize + 1];
            marks[at(1.0)] = '|';
            if let (Some(low), Some(high)) = (ratio.low, ratio.high) {
                marks[at(low)..=at(high)].fill('-');
            }
            if let Some(value) = ratio.ratio {
                marks[at(value)] = if place == 0 { 'o' } else { '+' };
            }
            let name = if place == 0 { &row.name } else { &mark.whose };
            let marks: String = marks.into_iter().collect();
            lines.push(format!("{name:26}{}", marks.trim_end()));
        }
    }
    lines
}

fn of_bars(groups: &[Bars]) -> Vec<String> {
    let most = Bars::most(groups);
    let mut lines = Vec::new();
    for group in groups {
        lines.push(group.name.clone());
        lines.extend(group.bars.iter().map(|bar| {
            let blocks = "█".repeat((BAR * bar.value / most).round() as usize);
            let value = figure(bar.value);
            let line = format!("{:>8} {blocks} {value} {}", bar.label, bar.mark);
            line.trim_end().to_owned()
        }));
    }
    lines
}

fn of_course(course: &Course) -> Vec<String> {
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = course.most();
    let mut lines = Vec::new();
    for panel in &course.panels {
        lines.push(panel.name.clone());
        let bars = panel.moments.iter().map(|moment| match moment {
            Some(value) => HEIGHTS[((value / most * 8.0) as usize).min(7)],
            None => ' ',
        });
        lines.push(bars.collect());
    }
    let moments = course.panels.iter().map(|panel| panel.moments.len()).max();
    let at = |second: f64| (second / course.seconds * moments.unwrap_or(0) as f64).round() as usize;
    let (began, ended) = (at(course.band.0), at(course.band.1));
    let stretch = "░".repeat(ended.saturating_sub(began));
    lines.push(format!("{}{stretch} the gray stretch", " ".repeat(began)));
    let (seconds, most) = (figure(course.seconds), figure(most));
    lines.push(format!(
        "from 0 to {seconds} s; the highest bar is {most} ms"
    ));
    lines
}
