//! What the tool prints looks like: words first, color only on a terminal, never alone, never with `NO_COLOR`.

use std::io::IsTerminal;

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
