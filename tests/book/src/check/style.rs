//! The mechanical part of how the course sounds: phrases that are German sentences in English words, and British spelling.
//! Only prose is looked at. `<!-- style: the reason -->` on the line before a paragraph or table allows what is in it.

use std::path::Path;

use pulldown_cmark::{Event, Tag, TagEnd};

use crate::fault::PageFault;
use crate::macros;
use workshop_base::outcome::Trouble;

/// A line for each rule: what to write instead, and after the colon the phrases, separated by bars. A `*` is any word.
const RULES: &str = "\
one query per read: requests a second|reads a second|records a second|line a thing|object a line|query a read|stack a thread|thread a core
isn't a, has no: is no|are no
is, appears or comes: stands|stand above|stand below|stand beside
compare with: hold against|holds against|held against|hold it against|holds it against
fix: mend|mends|mended
belongs in, carries on, mistakes for: belongs into|belong into|goes on as|takes it for
another setting: one thing more|one setting more|one header more|one step more|one call more|one row more
name who acts (you, the pool, Rocket): whoever|somebody|who waits for him|by whom
name the thing again: the first one is|the second one is|the former|the latter
from exercise 5 (no “on” after it): from exercise * on|from kata * on|from chapter * on|from line * on
is different: that isn't so|that isn’t so
a first impression: an orientation|for orientation
one fewer: one method less|one round trip less|one thread less|one line less
expect, since no one has counted: most rooms|many rooms|every room|half of a room|half a room
reference, borrow or lifetime; a loan is the picture: shared loan|a loan with|two loans|three loans|no loan|loan of|own loan
a question or something to try: you can now|is your only clue|goes wrong in this order
the American spelling: licence|licences|behaviour|behaviours|artefact|artefacts|colour|colours|neighbour|neighbours|favourite|optimise|optimises|optimised|unoptimised|initialise|initialised|initialiser|initialisers|recognise|recognises|analyse|centre|misspelt|for ever|whilst|cancelled|cancelling|time-out|time-outs";

/// What tires when it comes back: how often a page may say it.
const FORMULAS: [(&str, usize); 2] = [("the trap", 2), ("write down before", 1)];

/// Words that make a phrase good English: before it, and after it.
const BEFORE: &str = "there here reasons";
const AFTER: &str = "longer more different difference better faster slower still";

/// The faults in the prose of this page.
pub fn check(file: &Path, text: &str) -> Vec<PageFault> {
    let prose = prose(text);
    let words: Vec<(usize, &str)> = prose
        .split(|byte: char| !(byte.is_alphanumeric() || "'’-_".contains(byte)))
        .filter(|word| !word.is_empty())
        .map(|word| (word.as_ptr() as usize - prose.as_ptr() as usize, word))
        .collect();
    let mut faults = Vec::new();
    for (instead, phrases) in RULES.lines().filter_map(|rule| rule.split_once(": ")) {
        for phrase in phrases.split('|') {
            let length = phrase.split(' ').count();
            for index in places(&words, phrase) {
                let before = index.checked_sub(1).map_or("", |index| words[index].1);
                let after = words.get(index + length).map_or("", |word| word.1);
                let line = macros::line_at(text, words[index].0);
                if !is_one_of(before, BEFORE) && !is_one_of(after, AFTER) && !allowed(text, line) {
                    let what = format!("“{phrase}” sounds translated");
                    let next =
                        format!("write: {instead}; or put <!-- style: the reason --> before it");
                    faults.push(PageFault::new(file, line, Trouble::new(what).next(next)));
                }
            }
        }
    }
    for (formula, most) in FORMULAS {
        let said = places(&words, formula);
        for index in said.into_iter().skip(most) {
            let line = macros::line_at(text, words[index].0);
            if !allowed(text, line) {
                let what = format!("“{formula}” more than {most} times on a page");
                let next = "say it in other words, or not at all";
                faults.push(PageFault::new(file, line, Trouble::new(what).next(next)));
            }
        }
    }
    faults
}

/// Where this phrase begins among the words.
fn places(words: &[(usize, &str)], phrase: &str) -> Vec<usize> {
    let parts: Vec<&str> = phrase.split(' ').collect();
    let same = |(word, part): (&(usize, &str), &&str)| *part == "*" || word.1 == *part;
    let found = words.windows(parts.len()).enumerate();
    let found = found.filter(|(_, found)| std::iter::zip(*found, &parts).all(same));
    found.map(|(index, _)| index).collect()
}

fn is_one_of(word: &str, list: &str) -> bool {
    list.split(' ').any(|one| one == word)
}

/// The text in lower case with everything that is not prose blanked, so that places stay the same.
fn prose(text: &str) -> String {
    let mut prose = vec![b'\n'; text.len()];
    let mut in_code = false;
    for (event, range) in macros::parser(text).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(_)) => in_code = true,
            Event::End(TagEnd::CodeBlock) => in_code = false,
            Event::Code(_) => prose[range].fill(b'_'),
            Event::Text(_) if !in_code => {
                prose[range.clone()].copy_from_slice(&text.as_bytes()[range]);
            }
            _ => {}
        }
    }
    for call in macros::find(text) {
        prose[call.span].fill(b'_');
    }
    String::from_utf8_lossy(&prose).to_ascii_lowercase()
}

/// Whether a reason stands above the paragraph or table of this line.
fn allowed(text: &str, line: usize) -> bool {
    let lines: Vec<&str> = text.lines().take(line).collect();
    let block = lines
        .iter()
        .rev()
        .take_while(|line| !line.trim().is_empty());
    block.into_iter().any(|line| {
        let reason = line.trim().strip_prefix("<!-- style:");
        reason.is_some_and(|reason| reason.trim_end_matches("-->").trim() != "")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(text: &str) -> Vec<String> {
        let faults = check(Path::new("book/a.md"), text);
        faults.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_translated_phrase_is_found_over_a_line_break_with_its_line_and_what_to_write() {
        let found = faults("# Page\n\nThe text is\nno number, and 900 Requests a second.\n");
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found[0].starts_with("book/a.md:4: “requests a second”"),
            "{found:?}"
        );
        assert!(found[1].starts_with("book/a.md:3: “is no”"), "{found:?}");
        assert!(found[1].contains("write: isn't a, has no"), "{found:?}");
    }

    #[test]
    fn a_star_in_a_phrase_is_any_word() {
        let found = faults("From exercise 5 on, look. From exercise 5, look on.\n");
        assert_eq!(found.len(), 1, "{found:?}");
    }

    #[test]
    fn a_formula_that_comes_back_too_often_is_found_where_it_does() {
        let found = faults("The trap: a.\n\nThe trap: b.\n\nThe trap: c.\n");
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("book/a.md:5: “the trap”"), "{found:?}");
    }

    #[test]
    fn code_macros_and_good_english_pass() {
        let text = "`is no` and there is no record, it is no longer here.\n\n```text\nwhoever is no friend\n```\n\n{{#code rust=licence.rs}}\n";
        assert_eq!(faults(text), Vec::<String>::new());
    }

    #[test]
    fn a_reason_allows_the_paragraph_after_it_and_no_other() {
        let excused = "<!-- style: the name of a British book -->\nThe *Colour* of Magic.\n";
        assert_eq!(faults(excused), Vec::<String>::new());
        let empty = excused.replace("the name of a British book ", "");
        assert_eq!(faults(&empty).len(), 1);
        assert_eq!(faults(&format!("{excused}\nA colour.\n")).len(), 1);
    }
}
