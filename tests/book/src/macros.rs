//! The macros of a page, `{{#name arguments}}`: found in Markdown; in code only `{{#include}}` is one.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag};
use workshop_base::outcome::Trouble;

/// One call of a macro.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MacroCall {
    /// The name, with a leading slash for one that closes: `panes`, `/instructor`.
    pub name: String,
    /// What follows the name, split at white space.
    pub arguments: Vec<String>,
    /// Where the call is in the text, braces included.
    pub span: Range<usize>,
    /// Its line, from 1.
    pub line: usize,
    /// True when nothing else is on its line.
    pub alone: bool,
    /// True for `\{{#name}}`, which is shown as it is written, without the backslash.
    pub escaped: bool,
    /// True inside a code block.
    pub in_code: bool,
}

impl MacroCall {
    /// The arguments, as many as an example of the call has.
    pub fn takes<const N: usize>(&self, example: &str) -> anyhow::Result<&[String; N]> {
        self.arguments.as_slice().try_into().map_err(|_| {
            let (name, count) = (&self.name, self.arguments.len());
            Trouble::new(format!(
                "{{{{#{name}}}}} takes {N} arguments, this has {count}"
            ))
            .next(format!("write it as {example}"))
            .into()
        })
    }

    /// The number of the exercise that the only argument names.
    pub fn exercise(&self) -> anyhow::Result<u8> {
        let example = format!("{{{{#{} exercise-3}}}}", self.name);
        let [argument] = self.takes(&example)?;
        exercise(argument, &example)
    }
}

/// The number of the exercise that an argument names, in a call that is written like the example.
pub fn exercise(argument: &str, example: &str) -> anyhow::Result<u8> {
    let digits = argument.strip_prefix("exercise-");
    let number = digits.and_then(|digits| digits.parse().ok());
    number.ok_or_else(|| {
        Trouble::new(format!("{argument} names no exercise"))
            .next(format!("write it as {example}"))
            .into()
    })
}

/// The Markdown that mdBook reads, with the extensions it switches on.
pub fn parser(text: &str) -> Parser<'_> {
    Parser::new_ext(text, options())
}

/// The extensions that mdBook switches on.
pub fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_HEADING_ATTRIBUTES
        | Options::ENABLE_SMART_PUNCTUATION
        | Options::ENABLE_DEFINITION_LIST
        | Options::ENABLE_GFM
}

/// The line, from 1, that this byte of the text is in.
pub fn line_at(text: &str, offset: usize) -> usize {
    let before = text.get(..offset).unwrap_or(text);
    1 + before.matches('\n').count()
}

/// All calls in the text, in order. In code spans and comments braces are only text; in code blocks everything is, but
/// for `{{#include}}`, which fills them.
pub fn find(text: &str) -> Vec<MacroCall> {
    let quiet = quiet_ranges(text);
    let mut calls = Vec::new();
    let mut from = 0;
    while let Some(found) = text[from..].find("{{#") {
        let start = from + found;
        let Some(length) = text[start..].find("}}") else {
            break;
        };
        let end = start + length + 2;
        let inside = &text[start + 3..end - 2];
        let in_block = quiet.iter().find(|(range, _)| range.contains(&start));
        let in_block = in_block.map(|(_, is_block)| *is_block);
        let mut words = inside.split_whitespace().map(str::to_owned);
        let name = words.next().unwrap_or_default();
        let is_text = in_block.is_some_and(|is_block| !is_block || name != "include");
        if inside.contains('\n') || is_text {
            from = start + 3;
            continue;
        }
        let escaped = text[..start].ends_with('\\');
        let span = start - usize::from(escaped)..end;
        let before = text[..span.start].rsplit('\n').next();
        let after = text[end..].lines().next();
        calls.push(MacroCall {
            name,
            arguments: words.collect(),
            line: line_at(text, start),
            alone: before == Some("") && after.is_none_or(|after| after.trim().is_empty()),
            span,
            escaped,
            in_code: in_block.is_some(),
        });
        from = end;
    }
    calls
}

/// Where braces are only text: in code spans and comments; or nearly so: in code blocks, for which it is true.
fn quiet_ranges(text: &str) -> Vec<(Range<usize>, bool)> {
    let events = parser(text).into_offset_iter();
    let quiet = events.filter_map(|(event, range)| match event {
        Event::Start(Tag::CodeBlock(_)) => Some((range, true)),
        Event::Code(_) => Some((range, false)),
        Event::Html(html) | Event::InlineHtml(html) => {
            let is_comment = html.trim_start().starts_with("<!--");
            is_comment.then_some((range, false))
        }
        _ => None,
    });
    quiet.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_found_with_its_line_and_arguments() {
        let calls = find("# Title\n\n{{#panes kotlin=a.kt:read rust=b.rs}}\n");
        assert_eq!(calls.len(), 1);
        assert_eq!(calls[0].name, "panes");
        assert_eq!(calls[0].arguments, ["kotlin=a.kt:read", "rust=b.rs"]);
        assert_eq!((calls[0].line, calls[0].alone), (3, true));
    }

    #[test]
    fn code_and_comments_keep_their_braces() {
        let text = "`{{#a}}`\n\n```text\n{{#b}}\n```\n\n    {{#c}}\n\n<!-- {{#d}} -->\n\n{{#e}}\n";
        let names: Vec<_> = find(text).into_iter().map(|call| call.name).collect();
        assert_eq!(names, ["e"]);
    }

    #[test]
    fn an_include_fills_a_code_block() {
        let calls = find("```sql\n{{#include ../a.sql}}\n```\n");
        assert_eq!(calls.len(), 1);
        assert!(calls[0].in_code);
    }

    #[test]
    fn a_call_inside_a_sentence_is_not_alone() {
        let calls = find("It takes {{#minutes exercise-3}} in all.");
        assert!(!calls[0].alone);
    }

    #[test]
    fn a_backslash_makes_text_of_a_call() {
        let calls = find(r"Write \{{#report}} there.");
        assert!(calls[0].escaped);
        assert_eq!(calls[0].span, 6..18);
    }

    #[test]
    fn an_exercise_is_named_in_full() {
        let call = |text: &str| find(text).remove(0);
        let named = call("{{#minutes exercise-3}}").exercise();
        assert_eq!(named.expect("a number"), 3);
        for wrong in [
            "{{#minutes 3}}",
            "{{#minutes}}",
            "{{#minutes exercise-3 exercise-4}}",
        ] {
            let problem = call(wrong).exercise().expect_err(wrong);
            assert!(
                problem.to_string().contains("{{#minutes exercise-3}}"),
                "{problem:?}"
            );
        }
    }
}
