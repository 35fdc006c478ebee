//! The planned minutes of an exercise, compared with what they are made of: the words of its pages, and its measurement. And how
//! long readers read before they edit something again.

use std::path::Path;

use pulldown_cmark::{Event, Tag, TagEnd};

use crate::fault::PageFault;
use crate::macros;
use crate::plans::Takes;
use crate::site::{Page, Site};
use workshop_base::exercise::{Catalogue, Exercise};
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;

/// How many words are read in a minute: slowly, with code between them.
const WORDS: usize = 200;
/// How far the planned minutes may be from the counted ones.
const TOLERANCE: u32 = 2;
/// The shortest talk about what was measured.
const TALK: u32 = 5;
/// How many words may come between two edits by the reader.
const STRETCH: usize = 900;
/// What begins a paragraph or a heading at which the reader edits something.
const TURNS: [&str; 3] = ["Your turn", "Your task", "Kata "];
/// Separates the prose before a turn from the prose after it.
const TURN: char = '\u{c}';

/// The faults in the minutes of all exercises that have a page.
pub fn check(
    workspace: &Workspace,
    site: &Site,
    catalogue: &Catalogue,
) -> anyhow::Result<Vec<PageFault>> {
    let takes = Takes::read(workspace)?;
    let mut faults = Vec::new();
    for exercise in catalogue.iter() {
        let Some(prose) = prose_before(site, exercise) else {
            continue;
        };
        let words = count(&prose);
        let folder = Path::new("solutions").join(exercise.folder());
        let mut fault = |what: String, next: String| {
            let trouble = Trouble::new(what).next(next);
            faults.push(PageFault::new(folder.join("exercise.toml"), 0, trouble));
        };
        let write = |line: &str, minutes: u32| {
            let name = exercise.name();
            format!("write {line} = {minutes} here and in the starter's, then just carry {name}")
        };
        let longest = prose.split(TURN).map(count).max().unwrap_or_default();
        if exercise.is_rust() && longest > STRETCH {
            fault(
                format!("readers of its pages read {longest} words without an edit of their own"),
                format!(
                    "begin a paragraph with **{}.** before {STRETCH} words are over",
                    TURNS[0]
                ),
            );
        }
        let (planned, counted) = (exercise.minutes.reading, minutes(words));
        if planned.abs_diff(counted) > TOLERANCE {
            fault(
                format!(
                    "{planned} minutes of reading are planned for {words} words, which take {counted}"
                ),
                write("reading", counted),
            );
        }
        let (reviewing, needed) = (exercise.minutes.reviewing, takes.minutes(exercise) + TALK);
        if takes.minutes(exercise) > 0 && reviewing < needed {
            fault(
                format!(
                    "{reviewing} minutes of reviewing are planned, and the measurement leaves fewer than {TALK} to talk"
                ),
                write("reviewing", needed),
            );
        }
    }
    Ok(faults)
}

/// How many words are read on this page.
pub fn words(page: &Page) -> usize {
    count(&prose(page))
}

/// The minutes that the words of this page take to read.
pub fn reading(page: &Page) -> u32 {
    minutes(words(page))
}

/// How often a page has its reader edit something.
pub fn turns(page: &Page) -> usize {
    prose(page).matches(TURN).count()
}

fn minutes(words: usize) -> u32 {
    u32::try_from((words + WORDS / 2) / WORDS).unwrap_or(u32::MAX)
}

/// What is read on the page of an exercise, and on the pages of its part since the exercise before.
fn prose_before(site: &Site, exercise: &Exercise) -> Option<String> {
    let last = site.exercise_page(exercise.number)?;
    let place = site.pages.iter().position(|page| page == last)?;
    let before = site.pages[..place].iter().rev();
    let since =
        before.take_while(|page| page.part == last.part && page.exercise("minutes").is_none());
    let mut pages: Vec<&Page> = since.collect();
    pages.reverse();
    Some(pages.into_iter().chain([last]).map(prose).collect())
}

/// What a reader reads: no code, no macros, no notes for instructors.
fn prose(page: &Page) -> String {
    let (mut text, mut from, mut is_note) = (String::new(), 0, false);
    for call in macros::find(&page.text) {
        if !is_note {
            text.push_str(&page.text[from..call.span.start]);
        }
        from = call.span.end;
        is_note = match call.name.as_str() {
            "instructor" => true,
            "/instructor" => false,
            _ => is_note,
        };
    }
    text.push_str(&page.text[from..]);
    let (mut prose, mut in_code, mut may_turn) = (String::new(), false, false);
    for event in macros::parser(&text) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => in_code = true,
            Event::End(TagEnd::CodeBlock) => in_code = false,
            Event::Start(Tag::Strong | Tag::Heading { .. }) => may_turn = true,
            Event::Text(words) | Event::Code(words) if !in_code => {
                if may_turn && TURNS.iter().any(|turn| words.starts_with(turn)) {
                    prose.push(TURN);
                }
                may_turn = false;
                prose.push_str(&words);
            }
            Event::SoftBreak
            | Event::End(
                TagEnd::Paragraph | TagEnd::Item | TagEnd::TableCell | TagEnd::Heading(_),
            ) => {
                prose.push(' ');
            }
            _ => {}
        }
    }
    prose
}

fn count(prose: &str) -> usize {
    let words = prose.split_whitespace();
    words
        .filter(|word| word.contains(char::is_alphanumeric))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_reader_reads_is_counted() {
        let page = Page {
            path: "a.md".into(),
            part: None,
            text: "# One two\n\n{{#minutes exercise-3}}\n\nIt's *three*: `four`\nfive.\n\n```rust\nlet x = 1;\n```\n\n\
                   {{#instructor}}\nnot for you\n{{#/instructor}}\n\n| six | seven |\n|---|---|\n| eight – nine | |\n"
                .into(),
        };
        assert_eq!(count(&prose(&page)), 10);
    }

    #[test]
    fn readers_edit_at_turns_tasks_and_katas() {
        let page = Page {
            path: "a.md".into(),
            part: None,
            text: "# One\n\ntwo: not **yet** Your turn, see Kata 8\n\n> [!TIP]\n> **Your turn.** Type.\n\n## Kata 1: go\n\nOn.\n".into(),
        };
        let stretches: Vec<usize> = prose(&page).split(TURN).map(count).collect();
        assert_eq!(stretches, [9, 3, 4]);
    }
}
