//! The writer of HTML, for the pages.

use super::{escape, is_number, plain, svg, verdict};
use crate::figures::{figure, interval};
use crate::file::Verdict;
use crate::shown::{Cell, Chart, Column, Drawing, Ratio, Table};
use crate::view::Item;

/// A section with all items, labelled for those who hear it.
pub fn section(label: &str, items: &[Item]) -> String {
    format!(
        "<section class=\"results\" aria-label=\"{}\">\n{}</section>",
        escape(label),
        write(items)
    )
}

/// All items.
pub fn write(items: &[Item]) -> String {
    items.iter().map(of_item).collect()
}

fn of_item(item: &Item) -> String {
    match item {
        Item::Text(lead, text) if lead.is_empty() => {
            format!("<p class=\"results-about\">{}</p>\n", with_code(text))
        }
        Item::Text(lead, text) => format!(
            "<p class=\"results-about\"><strong>{}:</strong> {}</p>\n",
            escape(lead),
            with_code(text)
        ),
        Item::Invalid(reason) => format!(
            "<p class=\"results-invalid\"><strong>Invalid:</strong> {}</p>\n",
            escape(reason)
        ),
        Item::List(title, items) => format!(
            "<p class=\"results-about\">{}:</p>\n{}",
            escape(title),
            list(items)
        ),
        Item::Table(table) => of_table(table),
        Item::Chart(chart) => of_chart(chart),
        Item::Folded(summary, items) => format!(
            "<details class=\"results-data\">\n<summary>{}</summary>\n{}</details>\n",
            escape(summary),
            write(items)
        ),
    }
}

/// Commands stand in backticks.
fn with_code(text: &str) -> String {
    let parts = text.split('`').enumerate();
    parts
        .map(|(place, part)| match place % 2 {
            0 => escape(part),
            _ => format!("<code>{}</code>", escape(part)),
        })
        .collect()
}

fn list(items: &[String]) -> String {
    let lines: String = items
        .iter()
        .map(|item| format!("<li>{}</li>\n", with_code(item)))
        .collect();
    if lines.is_empty() {
        lines
    } else {
        format!("<ul class=\"results-notes\">\n{lines}</ul>\n")
    }
}

/// A table that scrolls inside itself and takes the keyboard's focus.
fn of_table(table: &Table) -> String {
    let rows = table.rows.iter().map(|row| {
        let cells = (0..table.columns.len())
            .map(|place| of_cell(row.cells.get(place).unwrap_or(&Cell::Empty)));
        format!(
            "<tr><th scope=\"row\">{}</th>{}</tr>\n",
            with_unit(&row.heading),
            cells.collect::<String>()
        )
    });
    let rows: String = rows.collect();
    let (caption, label) = match table.title.as_str() {
        "" => (String::new(), "Measured values"),
        title => (
            format!("<caption><span>{}</span></caption>\n", escape(title)),
            title,
        ),
    };
    format!(
        "<div class=\"table-wrapper\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\n<table class=\"figures {}\">\n{caption}<thead>\n{}</thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n{}",
        escape(label),
        escape(&table.id),
        head(table),
        list(&table.notes)
    )
}

/// The headings, groups above those that have one.
fn head(table: &Table) -> String {
    let of_column =
        |column: &Column| format!("<th scope=\"col\">{}</th>", with_unit(&column.heading));
    let corner = |span: &str| match table.corner.as_str() {
        "" => format!("<td{span}></td>"),
        corner => format!("<th scope=\"col\"{span}>{}</th>", escape(corner)),
    };
    let all =
        |columns: &mut dyn Iterator<Item = &Column>| columns.map(of_column).collect::<String>();
    if table.columns.iter().all(|column| column.group.is_empty()) {
        return match table.columns.iter().all(|column| column.heading.is_empty()) {
            true => String::new(),
            false => format!(
                "<tr>{}{}</tr>\n",
                corner(""),
                all(&mut table.columns.iter())
            ),
        };
    }
    let mut groups = String::new();
    for group in table
        .columns
        .chunk_by(|one, next| !one.group.is_empty() && one.group == next.group)
    {
        groups.push_str(&match group[0].group.as_str() {
            "" => format!(
                "<th scope=\"col\" rowspan=\"2\">{}</th>",
                with_unit(&group[0].heading)
            ),
            name => format!(
                "<th scope=\"colgroup\" colspan=\"{}\">{}</th>",
                group.len(),
                escape(name)
            ),
        });
    }
    let mut grouped = table
        .columns
        .iter()
        .filter(|column| !column.group.is_empty());
    format!(
        "<tr>{}{groups}</tr>\n<tr>{}</tr>\n",
        corner(" rowspan=\"2\""),
        all(&mut grouped)
    )
}

/// A unit in parentheses at the end stands back.
fn with_unit(heading: &str) -> String {
    match heading
        .strip_suffix(')')
        .and_then(|heading| heading.rsplit_once(" ("))
    {
        Some((name, unit)) => format!(
            "{} <span class=\"unit\">({})</span>",
            escape(name),
            escape(unit)
        ),
        None => escape(heading),
    }
}

fn of_cell(cell: &Cell) -> String {
    let class = if is_number(cell) {
        " class=\"number\""
    } else {
        ""
    };
    let content = match cell {
        Cell::Range { value, least, most } => with_interval(*value, Some(*least), Some(*most)),
        Cell::Ratio(ratio) => of_ratio(ratio),
        _ => escape(&plain(cell)),
    };
    format!("<td{class}>{content}</td>")
}

fn with_interval(value: f64, low: Option<f64>, high: Option<f64>) -> String {
    let interval = interval(low, high);
    let interval = interval.map_or_else(String::new, |interval| {
        format!(" <span class=\"interval\">({interval})</span>")
    });
    format!("{}{interval}", figure(value))
}

fn of_ratio(ratio: &Ratio) -> String {
    let class = match ratio.verdict {
        Verdict::Faster | Verdict::Less => "better",
        Verdict::Slower | Verdict::More => "worse",
        Verdict::NoDifferenceShown | Verdict::Invalid | Verdict::NotJudged => "open",
    };
    let words = format!(
        "<span class=\"verdict {class}\">{}</span>",
        escape(&verdict(ratio))
    );
    match ratio.ratio {
        Some(value) => format!("{} {words}", with_interval(value, ratio.low, ratio.high)),
        None => words,
    }
}

fn of_chart(chart: &Chart) -> String {
    let legend = match &chart.drawing {
        Drawing::Ratios(rows) => svg::legend(rows),
        Drawing::Bars(_) | Drawing::Lines(_) | Drawing::Course(_) => String::new(),
    };
    format!(
        "<figure class=\"chart\">\n{}\n<figcaption>{legend}{}</figcaption>\n</figure>\n",
        svg::write(chart),
        escape(&chart.title)
    )
}
