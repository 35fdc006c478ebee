//! The writer of HTML, for the pages.

use super::{escape, is_number, plain, svg, verdict};
use crate::figures::{figure, interval};
use crate::file::Verdict;
use crate::shown::{Cell, Chart, Column, Drawing, Ratio, Table};
use crate::view::Item;

/// What the pages of the book add to the values that a page by itself needs of mdBook.
const STYLE: &str = "\
:root { --bg: #fff; --mono-font: monospace; font-size: 62.5%; }
body { margin: 3rem auto; max-width: 140rem; padding-inline: 3rem; color: var(--fg); background: var(--bg);
       font: 1.8rem/1.5 system-ui, sans-serif; }
table { border-collapse: collapse; }
.results > * { max-width: none; }
";

/// A page that needs nothing but itself, with these sections below their headings; `style` is the book's.
pub fn page(title: &str, style: &str, sections: &[(String, Vec<Item>)]) -> String {
    let sections = sections.iter().map(|(heading, items)| {
        let (heading, items) = (escape(heading), write(items));
        format!("<section class=\"results\">\n<h2>{heading}</h2>\n{items}</section>\n")
    });
    let (title, sections) = (escape(title), sections.collect::<String>());
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\" class=\"light js\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
         <style>\n{style}\n{STYLE}</style>\n</head>\n<body>\n{sections}</body>\n</html>\n"
    )
}

/// A section with all items, labelled for those who hear it.
pub fn section(label: &str, items: &[Item]) -> String {
    format!(
        "<div class=\"results\" role=\"group\" aria-label=\"{}\">\n{}</div>",
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
            prose(lead),
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

/// Escaped, with what stands in backticks as code.
pub fn with_code(text: &str) -> String {
    super::with_code(text, prose, |code| {
        // A command this long is there to be copied: a block has a button for that, and keeps its lines.
        match code.chars().count() > 60 {
            true => format!(
                "<pre><code class=\"language-sh\">{}</code></pre>",
                escape(code)
            ),
            false => format!("<code>{}</code>", escape(code)),
        }
    })
}

/// Escaped, with the apostrophes that the pages around it have.
fn prose(text: &str) -> String {
    escape(text).replace("&#39;", "’")
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
    let table = &match table.id.as_str() {
        "question" | "headline" => verdict_first(table),
        _ => table.clone(),
    };
    let rows = table.rows.iter().map(|row| {
        let cells = (0..table.columns.len()).map(|place| of_cell(row.cell(place)));
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
        "<div class=\"table-wrapper\" tabindex=\"0\" role=\"group\" aria-label=\"{}\">\n<table class=\"figures {}\">\n{caption}<thead>\n{}</thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n{}",
        escape(label),
        escape(&table.id),
        head(table),
        list(&table.notes)
    )
}

/// The table with what it comes to before what that is made of: a phone shows few columns.
fn verdict_first(table: &Table) -> Table {
    let is_ratio = |place: &usize| {
        let mut cells = table.rows.iter().map(|row| row.cell(*place));
        cells.any(|cell| matches!(cell, Cell::Ratio(_)))
    };
    let places: Vec<usize> = (0..table.columns.len()).collect();
    let same_group =
        |one: &usize, other: &usize| table.columns[*one].group == table.columns[*other].group;
    let groups = places.chunk_by(same_group);
    let order: Vec<usize> = groups
        .flat_map(|group| {
            let (ratios, values): (Vec<_>, Vec<_>) =
                group.iter().partition(|place| is_ratio(place));
            ratios.into_iter().chain(values)
        })
        .copied()
        .collect();
    let mut turned = table.clone();
    turned.columns = order
        .iter()
        .map(|place| table.columns[*place].clone())
        .collect();
    for row in &mut turned.rows {
        row.cells = order.iter().map(|place| row.cell(*place).clone()).collect();
    }
    turned
}

/// The headings, groups above those that have one.
fn head(table: &Table) -> String {
    let is_grouped = table.columns.iter().any(|column| !column.group.is_empty());
    let span = if is_grouped { " rowspan=\"2\"" } else { "" };
    if !is_grouped && table.columns.iter().all(|column| column.heading.is_empty()) {
        return String::new();
    }
    let heading = |column: &Column, span: &str| {
        let heading = with_unit(&column.heading);
        format!("<th scope=\"col\"{span}>{heading}</th>")
    };
    let mut above = match table.corner.as_str() {
        "" => format!("<td{span}></td>"),
        corner => format!("<th scope=\"col\"{span}>{}</th>", escape(corner)),
    };
    let mut below = String::new();
    let in_group = |one: &Column, next: &Column| !one.group.is_empty() && one.group == next.group;
    for columns in table.columns.chunk_by(in_group) {
        if columns[0].group.is_empty() {
            above += &heading(&columns[0], span);
            continue;
        }
        let (group, columns_in_it) = (escape(&columns[0].group), columns.len());
        above += &format!("<th scope=\"colgroup\" colspan=\"{columns_in_it}\">{group}</th>");
        below.extend(columns.iter().map(|column| heading(column, "")));
    }
    match is_grouped {
        true => format!("<tr>{above}</tr>\n<tr>{below}</tr>\n"),
        false => format!("<tr>{above}</tr>\n"),
    }
}

/// A unit in parentheses at the end stands back.
fn with_unit(heading: &str) -> String {
    let heading = escape(heading);
    let unit = heading
        .strip_suffix(')')
        .and_then(|rest| rest.rsplit_once(" ("));
    match unit {
        Some((name, unit)) => format!("{name} <span class=\"unit\">({unit})</span>"),
        None => heading,
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
    match ratio.ratio.filter(|_| !ratio.says_nothing()) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backticks_are_code() {
        assert_eq!(with_code("a `b < c` d"), "a <code>b &lt; c</code> d");
    }
}
