//! The writer of Markdown, for the report as a file.

use super::{is_number, plain, text};
use crate::shown::Table;
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
        let is_right = table.rows.iter().all(|row| is_number(row.cell(place)));
        rule.push_str(if is_right { "---:|" } else { "---|" });
    }
    let rows = table.rows.iter().map(|row| {
        let cell = |place| format!(" {} |", escaped(&plain(row.cell(place))));
        let cells: String = (0..table.columns.len()).map(cell).collect();
        format!("| {} |{cells}\n", escaped(&row.heading))
    });
    let title = match table.title.as_str() {
        "" => String::new(),
        title => format!("**{}**\n\n", escaped(title)),
    };
    let rows: String = rows.collect();
    format!("{title}{heading}\n{rule}\n{rows}\n{}", list(&table.notes))
}

fn with_code(text: &str) -> String {
    super::with_code(text, escaped, |code| format!("`{code}`"))
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
