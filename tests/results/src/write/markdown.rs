//! The writer of Markdown, for the report as a file.

use super::{is_number, plain, text};
use crate::shown::{Cell, Table};
use crate::view::Item;

/// All items.
pub fn write(items: &[Item]) -> String {
    items.iter().map(of_item).collect()
}

fn of_item(item: &Item) -> String {
    match item {
        Item::Text(lead, words) if lead.is_empty() => format!("{}\n\n", with_code(words)),
        Item::Text(lead, words) => format!("**{}:** {}\n\n", escaped(lead), with_code(words)),
        Item::Invalid(reason) => format!("**Invalid:** {}\n\n", escaped(reason)),
        Item::List(title, items) => format!("{}:\n\n{}", escaped(title), list(items)),
        Item::Table(table) => of_table(table),
        Item::Chart(_) => format!(
            "```text\n{}```\n\n",
            text::write(std::slice::from_ref(item))
        ),
        Item::Folded(summary, items) => format!(
            "<details>\n<summary>{}</summary>\n\n{}</details>\n\n",
            escaped(summary),
            write(items)
        ),
    }
}

fn list(items: &[String]) -> String {
    let items: String = items
        .iter()
        .map(|item| format!("- {}\n", with_code(item)))
        .collect();
    if items.is_empty() {
        items
    } else {
        items + "\n"
    }
}

fn of_table(table: &Table) -> String {
    let mut heading = format!("| {} |", escaped(&table.corner));
    let mut rule = String::from("|---|");
    for (place, column) in table.columns.iter().enumerate() {
        let group = if column.group.is_empty() { "" } else { ": " };
        heading.push_str(&format!(
            " {}{group}{} |",
            escaped(&column.group),
            escaped(&column.heading)
        ));
        let mut cells = table.rows.iter().filter_map(|row| row.cells.get(place));
        rule.push_str(if cells.all(is_number) {
            "---:|"
        } else {
            "---|"
        });
    }
    let rows = table.rows.iter().map(|row| {
        let cells = (0..table.columns.len()).map(|place| {
            let cell = row.cells.get(place).unwrap_or(&Cell::Empty);
            format!(" {} |", escaped(&plain(cell)))
        });
        format!(
            "| {} |{}\n",
            escaped(&row.heading),
            cells.collect::<String>()
        )
    });
    let title = match table.title.as_str() {
        "" => String::new(),
        title => format!("**{}**\n\n", escaped(title)),
    };
    let rows: String = rows.collect();
    format!("{title}{heading}\n{rule}\n{rows}\n{}", list(&table.notes))
}

/// Commands stand in backticks.
fn with_code(text: &str) -> String {
    let parts = text.split('`').enumerate();
    parts
        .map(|(place, part)| match place % 2 {
            0 => escaped(part),
            _ => format!("`{part}`"),
        })
        .collect()
}

/// Text that Markdown and HTML take for text.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '&' | '{' | '#' | '~' => {
                escaped.push('\\');
                escaped.push(character);
            }
            '\n' => escaped.push(' '),
            _ => escaped.push(character),
        }
    }
    escaped
}
