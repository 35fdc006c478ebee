//! What the tool prints looks like: words first, color only on a terminal, never alone, never with `NO_COLOR`.

use std::io::IsTerminal;

use unicode_width::UnicodeWidthStr;

/// How many marks without a width of their own are kept in a row: a flag that is made of letters has seven.
const MOST_MARKS: usize = 8;

/// How a piece of text is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Good,
    Bad,
    Warning,
    /// A heading or a command to type.
    Strong,
    Faint,
}

/// True when standard output is a terminal that wants color: no `NO_COLOR`, `TERM` is not `dumb`.
pub fn color() -> bool {
    wants_color(&std::io::stdout())
}

/// The same for standard error, where the compiler's words go.
pub fn color_of_errors() -> bool {
    wants_color(&std::io::stderr())
}

fn wants_color(stream: &impl IsTerminal) -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    stream.is_terminal() && !refused && !dumb
}

/// True when standard error is a terminal, so that a progress bar can be drawn there.
pub fn interactive() -> bool {
    std::io::stderr().is_terminal()
}

/// The text in its style; unchanged where color is not wanted.
pub fn paint(style: Style, text: impl AsRef<str>) -> String {
    let text = text.as_ref();
    if !color() {
        return text.to_owned();
    }
    let code = match style {
        Style::Good => "32",
        Style::Bad => "31",
        Style::Warning => "33",
        Style::Strong => "1",
        Style::Faint => "2",
    };
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}

/// Prints one finding, `  ok    WHAT` or `  FAIL  WHAT`, and gives it back.
pub fn finding(what: &str, holds: bool) -> bool {
    let word = if holds {
        paint(Style::Good, "ok  ")
    } else {
        paint(Style::Bad, "FAIL")
    };
    println!("  {word}  {what}");
    holds
}

/// How many columns of a terminal a text takes: a Chinese letter and an emoji take two, an accent that is a character of its own none.
pub fn columns(text: &str) -> usize {
    text.width()
}

/// A text of somebody else's on one line of so many columns, without what a terminal takes for a command or turns the rest of the line around.
pub fn of_others(text: &str, most: usize) -> String {
    let mut kept = String::new();
    let mut marks = 0;
    for letter in text.chars().filter(|letter| !turns_text(*letter)) {
        let is_line_end = matches!(letter, '\u{2028}' | '\u{2029}');
        let letter = match letter.is_control() || is_line_end {
            true => ' ',
            false => letter,
        };
        let (end, before) = (kept.len(), columns(&kept));
        kept.push(letter);
        // Emoji that are one picture together take as much as the first.
        let width = columns(&kept);
        marks = if width > before { 0 } else { marks + 1 };
        if width > most || marks > MOST_MARKS {
            kept.truncate(end);
        }
        if width > most {
            break;
        }
    }
    kept
}

/// A text such that what follows it on the line keeps its place: a mark after Hebrew or Arabic ends its direction.
pub fn before_more(text: &str) -> String {
    let end = if text.chars().any(is_right_to_left) {
        "\u{200e}"
    } else {
        ""
    };
    format!("{text}{end}")
}

/// Marks that change the direction of all that follows.
fn turns_text(letter: char) -> bool {
    matches!(letter, '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The blocks of scripts that run from right to left.
fn is_right_to_left(letter: char) -> bool {
    matches!(letter, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefe}' | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_somebody_else_is_one_line_and_cut_by_columns_not_by_characters() {
        assert_eq!(
            of_others("A\u{1b}[2J\u{202e}d\na\u{2028}b", 30),
            "A [2Jd a b"
        );
        assert_eq!(of_others("李雷李雷", 5), "李雷");
        let family = "👨\u{200d}👩\u{200d}👧\u{200d}👦";
        assert_eq!(of_others(&family.repeat(5), 10), family.repeat(5));
        let stack = format!("A{}", "\u{301}".repeat(500));
        assert_eq!(of_others(&stack, 30).chars().count(), 1 + MOST_MARKS);
        assert_eq!(of_others("กฤษณพงศ์", 30), "กฤษณพงศ์");
    }

    #[test]
    fn after_a_name_from_right_to_left_the_line_goes_on_from_left_to_right() {
        assert_eq!(before_more("עדה"), "עדה\u{200e}");
        assert_eq!(columns(&before_more("עדה")), 3);
        assert_eq!(
            before_more("José 李雷 👩\u{200d}💻"),
            "José 李雷 👩\u{200d}💻"
        );
    }
}
