//! The checks of one page's Markdown that need no rendering: minutes, definitions of links, typed code.

use std::cell::RefCell;

use pulldown_cmark::{BrokenLink, CodeBlockKind, CowStr, Event, LinkType, Parser, Tag};

use crate::fault::PageFault;
use crate::macros;
use crate::site::Page;
use workshop_base::exercise::Catalogue;
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;
use workshop_results::file::{CALIBRATION, ROUNDS, ResultFile, TURNS};

/// Languages that exercise chapters show from built code only.
const BUILT: [&str; 5] = ["kotlin", "kt", "kts", "rust", "rs"];

/// The faults of this page.
pub fn check(page: &Page, workspace: &Workspace, catalogue: &Catalogue) -> Vec<PageFault> {
    let file = page.file();
    let line = |at: usize| macros::line_at(&page.text, at);
    let mut faults = unmeasured(page, workspace);
    faults.extend(unanswered(page));
    faults.extend(rungs(page));
    faults.extend(alerts(page));
    let mut fault = |line: usize, what: &str, next: &str| {
        faults.push(PageFault::new(&file, line, Trouble::new(what).next(next)));
    };
    let is_chapter = page.path.starts_with("exercises");
    let chapter = page.exercise("minutes");
    if is_chapter && chapter.is_none() {
        fault(
            0,
            "this exercise chapter does not say its minutes",
            "write {{#minutes exercise-N}} below its heading",
        );
    }
    let chapter = chapter.and_then(|number| catalogue.get(number).ok());
    if let Some(exercise) = chapter.filter(|exercise| exercise.is_crate() && !exercise.is_own())
        && page.exercise("diff") != Some(exercise.number)
    {
        let call = format!("{{{{#diff {}}}}}", exercise.name());
        fault(
            0,
            "this exercise chapter does not show the difference between starter and reference",
            &format!("write {call} below a heading of its own"),
        );
    }
    let undefined = RefCell::new(Vec::new());
    let mut typed_reason = false;
    for (event, range) in parser(&page.text, &undefined) {
        match &event {
            Event::Start(Tag::CodeBlock(kind)) => {
                let language = match kind {
                    CodeBlockKind::Fenced(info) => info.split([',', ' ']).next(),
                    CodeBlockKind::Indented => None,
                };
                let is_built = language.is_some_and(|language| BUILT.contains(&language));
                let is_typed = is_built && is_chapter && !only_includes(&page.text[range.clone()]);
                if is_typed && !typed_reason {
                    fault(
                        line(range.start),
                        "code that was typed, not taken from code that is built",
                        "use {{#panes}} or {{#code}}; where that cannot be, put <!-- typed: the reason --> on the line before",
                    );
                }
                typed_reason = false;
            }
            Event::Html(html) | Event::InlineHtml(html) => {
                let reason = html.trim().strip_prefix("<!-- typed:");
                if let Some(reason) = reason.and_then(|rest| rest.strip_suffix("-->")) {
                    typed_reason = !reason.trim().is_empty();
                    if !typed_reason {
                        let what = "a typed block without a reason";
                        fault(line(range.start), what, "write <!-- typed: the reason -->");
                    }
                }
            }
            // Only the very next block is excused.
            Event::Start(Tag::Paragraph | Tag::Heading { .. } | Tag::List(_)) => {
                typed_reason = false
            }
            _ => {}
        }
    }
    for (at, name) in undefined.into_inner() {
        fault(
            line(at),
            &format!("the link [{name}] is not defined on this page"),
            &format!("write [{name}]: target at the end of the page"),
        );
    }
    faults
}

/// Figures that the page promises and nobody has measured.
fn unmeasured(page: &Page, workspace: &Workspace) -> Vec<PageFault> {
    let calls = page.calls().filter(|call| call.name == "results");
    let faults = calls.filter_map(|call| {
        let name = call.arguments.first()?;
        let command = match name.as_str() {
            CALIBRATION => "calibrate".to_owned(),
            ROUNDS => "calibrate --rounds".to_owned(),
            TURNS => "calibrate --turns".to_owned(),
            "exercise-1" => "measure exercise-1".to_owned(),
            other => format!("measure {}", other.replace("exercise", "solution")),
        };
        let problem = Trouble::new(format!("there are no committed figures for {name}")).next(
            format!("measure them on a quiet machine: just {command} --reference"),
        );
        let is_there = ResultFile::reference_path(workspace, name).is_file();
        (!is_there).then(|| PageFault::new(page.file(), call.line, problem))
    });
    faults.collect()
}

/// A page with the fold *Led* has the other two rungs, and says what it is for.
fn rungs(page: &Page) -> Vec<PageFault> {
    const LED: &str = "<summary><b>Led</b>";
    const OTHERS: [(&str, &str); 4] = [
        ("*After this you can", "what readers can do afterwards"),
        ("What has to hold", "what has to hold"),
        ("reviewer will", "what a reviewer will ask"),
        (
            "<summary><b>Open</b>",
            "what may be deleted and written anew",
        ),
    ];
    if !page.text.contains(LED) {
        return Vec::new();
    }
    let lacking = OTHERS
        .iter()
        .filter(|(words, _)| !page.text.contains(words));
    let faults = lacking.map(|(words, what)| {
        let problem = Trouble::new(format!(
            "this page leads step by step and doesn't say {what}"
        ))
        .next(format!("write it, with the words {words:?}"));
        PageFault::new(page.file(), 0, problem)
    });
    faults.collect()
}

/// Boxes of a page before an exercise that neither name the exercise, whose tests judge them, nor have an answer in a fold below.
fn unanswered(page: &Page) -> Vec<PageFault> {
    const BOX: &str = "> **Your turn.**";
    if page.path.starts_with("exercises") {
        return Vec::new();
    }
    let boxes = page.text.match_indices(BOX).filter_map(|(at, _)| {
        let below = &page.text[at + BOX.len()..];
        let end = ["\n## ", BOX]
            .iter()
            .filter_map(|next| below.find(next))
            .min();
        let below = &below[..end.unwrap_or(below.len())];
        let words = below.split("\n\n").next().unwrap_or_default();
        if words.to_lowercase().contains("exercise") || below.contains("<details>") {
            return None;
        }
        let what = Trouble::new("nothing judges or answers this box").next(
            "name the exercise whose tests judge it, or put a fold with what comes out below it",
        );
        let line = macros::line_at(&page.text, at);
        Some(PageFault::new(page.file(), line, what))
    });
    boxes.collect()
}

/// The Markdown with its places; links without a definition are noted. A lone [word] is prose, [text][name] and [text][] are not.
fn parser<'a>(
    text: &'a str,
    undefined: &'a RefCell<Vec<(usize, String)>>,
) -> impl Iterator<Item = (Event<'a>, std::ops::Range<usize>)> {
    use LinkType::{Collapsed, CollapsedUnknown, Reference, ReferenceUnknown};
    let note = |link: BrokenLink<'a>| -> Option<(CowStr<'a>, CowStr<'a>)> {
        if matches!(
            link.link_type,
            Reference | ReferenceUnknown | Collapsed | CollapsedUnknown
        ) {
            let mut undefined = undefined.borrow_mut();
            undefined.push((link.span.start, link.reference.to_string()));
        }
        None
    };
    Parser::new_with_broken_link_callback(text, macros::options(), Some(note)).into_offset_iter()
}

/// True when a block of code holds nothing but includes between its fences.
fn only_includes(block: &str) -> bool {
    let lines = block
        .lines()
        .map(|line| line.trim_start_matches(['>', ' ']).trim_end());
    let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with("```"));
    lines.all(|line| line.starts_with("{{#include ") && line.ends_with("}}"))
}

/// `> [!TIP]` is an alert only by itself; with words behind it, the page shows the brackets.
fn alerts(page: &Page) -> Vec<PageFault> {
    let mut faults = Vec::new();
    for (number, line) in (1..).zip(page.text.lines()) {
        let tag = line.trim_start().strip_prefix("> [!");
        let after = tag.and_then(|tag| tag.split_once(']'));
        if after.is_some_and(|(_, words)| !words.trim().is_empty()) {
            let problem = Trouble::new("an alert's tag with words on its line, so it's no alert")
                .next("begin the words on the next line, with > in front");
            faults.push(PageFault::new(page.file(), number, problem));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alert_has_its_tag_on_a_line_of_its_own() {
        let faults = |text: &str| {
            let (path, text) = ("one.md".into(), text.to_owned());
            alerts(&Page {
                path,
                part: None,
                text,
            })
            .len()
        };
        assert_eq!(faults("> [!TIP]\n> **Your turn.** Try.\n"), 0);
        assert_eq!(faults("> [!TIP] **Your turn.** Try.\n"), 1);
    }

    #[test]
    fn a_page_that_leads_has_all_three_rungs() {
        let faults = |text: &str| {
            let (path, text) = ("exercises/03.md".into(), text.to_owned());
            rungs(&Page {
                path,
                part: None,
                text,
            })
            .len()
        };
        let led = "<summary><b>Led</b>: step by step</summary>";
        let whole = format!(
            "*After this you can read.*\n\nWhat has to hold:\n\nA reviewer will ask.\n\n{led}\n\n<summary><b>Open</b></summary>\n"
        );
        assert_eq!(faults(&whole), 0);
        assert_eq!(faults(led), 4);
        assert_eq!(faults("No rungs."), 0);
    }

    #[test]
    fn a_box_is_judged_by_an_exercise_or_answered_in_a_fold() {
        let faults = |text: &str, path: &str| {
            let (path, text) = (
                path.into(),
                format!("# One\n\n> [!TIP]\n> **Your turn.** {text}"),
            );
            let part = None;
            unanswered(&Page { path, part, text }).len()
        };
        assert_eq!(faults("Try it.\n\n## Two\n\n<details>\n", "one.md"), 1);
        assert_eq!(faults("Try it.\n\n<details>\n", "one.md"), 0);
        assert_eq!(
            faults("Write `read`,\n> in exercise 3's file.\n", "one.md"),
            0
        );
        assert_eq!(faults("Write it.\n", "exercises/03.md"), 0);
    }
}
