//! Turns the macros of a page into what the reader sees.

use crate::fault::PageFault;
use crate::macros::{self, MacroCall};
use crate::site::{Page, Site};
use crate::source::Excerpt;
use crate::{
    board, difference, given, green, guess, kata, panes, picture, question, results, schedule,
    sheet, tests_list, typed,
};
use workshop_base::exercise::{Catalogue, Exercise};
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;
use workshop_results::file::{CALIBRATION, ENDURANCE, ROUNDS, TURNS};

/// Every macro, as a page writes it.
pub const MACROS: [&str; 21] = [
    "{{#panes kotlin=path:anchor rust=path:anchor}}",
    "{{#code rust=path:anchor}}",
    "{{#include path:anchor}}",
    "{{#plan one-day}}",
    "{{#minutes exercise-3}}",
    "{{#results exercise-3}}",
    "{{#published published-article}}",
    "{{#report}}",
    "{{#guide}}",
    "{{#quoted}}",
    "{{#diff exercise-3}}",
    "{{#given exercise-3}}",
    "{{#tests exercise-3}}",
    "{{#typed exercise-3}}",
    "{{#guess exercise-3 typed-parameter}}",
    "{{#kata a}}",
    "{{#picture move}}",
    "{{#questions loans}}",
    "{{#sheet exercise-3}}",
    "{{#board the-port}}",
    "{{#instructor}} … {{#/instructor}}",
];

/// What expanding needs to know of the checkout and the book.
pub struct Expander<'a> {
    workspace: &'a Workspace,
    site: &'a Site,
    /// The exercises.
    pub catalogue: Catalogue,
}

impl<'a> Expander<'a> {
    /// For the pages of this book.
    pub fn new(workspace: &'a Workspace, site: &'a Site) -> anyhow::Result<Self> {
        Ok(Expander {
            workspace,
            site,
            catalogue: Catalogue::read(workspace)?,
        })
    }

    /// The page with every macro replaced.
    pub fn expand(&self, page: &Page) -> Result<String, Vec<PageFault>> {
        let text = &page.text;
        let mut faults = Vec::new();
        let mut expanded = String::with_capacity(text.len());
        let mut copied = 0;
        let mut instructor: Option<usize> = None;
        for call in macros::find(text) {
            expanded.push_str(&text[copied..call.span.start]);
            copied = call.span.end;
            if call.escaped {
                expanded.push_str(text[call.span.clone()].trim_start_matches('\\'));
                continue;
            }
            match self.one(page, &call, &mut instructor) {
                Ok(html) => expanded.push_str(&html),
                Err(error) => faults.push(PageFault::new(page.file(), call.line, error)),
            }
        }
        if let Some(line) = instructor {
            let open = Trouble::new("{{#instructor}} is never closed")
                .next("write {{#/instructor}} on a line of its own after the notes");
            faults.push(PageFault::new(page.file(), line, open));
        }
        expanded.push_str(&text[copied..]);
        match faults.is_empty() {
            true => Ok(expanded),
            false => Err(faults),
        }
    }

    fn one(
        &self,
        page: &Page,
        call: &MacroCall,
        instructor: &mut Option<usize>,
    ) -> anyhow::Result<String> {
        if !call.alone && !matches!(call.name.as_str(), "minutes" | "include") {
            let name = &call.name;
            return Trouble::new(format!(
                "{{{{#{name}}}}} makes a block, but something else is on its line, or the line is indented"
            ))
            .next("put it on a line of its own, at the left margin")
            .err();
        }
        let without_arguments = || call.takes::<0>(&format!("{{{{#{}}}}}", call.name));
        match call.name.as_str() {
            "panes" | "code" => panes::render(self.workspace.root(), call),
            "include" => self.include(page, call),
            "minutes" => match schedule::case(self.workspace, call) {
                Some(case) => Ok(schedule::minutes(case.minutes)),
                None => Ok(schedule::minutes(self.exercise(call)?.minutes)),
            },
            "plan" => {
                let [name] = call.takes("{{#plan one-day}}")?;
                schedule::plan(self.workspace, self.site, &page.path, &self.catalogue, name)
            }
            "results" => self.results(call),
            "published" => match call.arguments.as_slice() {
                [file] => results::published(self.workspace, file, None),
                [file, beside] => results::published(self.workspace, file, Some(beside)),
                _ => Trouble::new(
                    "{{#published}} takes a file, and perhaps an exercise to put beside it",
                )
                .next("write it as {{#published published-article exercise-8}}")
                .err(),
            },
            "report" => {
                without_arguments()?;
                results::report(self.workspace)
            }
            "guide" => {
                without_arguments()?;
                results::guide(self.workspace)
            }
            "quoted" => {
                without_arguments()?;
                results::quoted(self.workspace)
            }
            "diff" => difference::render(self.workspace, self.exercise(call)?),
            "given" => given::render(self.workspace, &self.catalogue, self.exercise(call)?),
            "guess" => {
                const EXAMPLE: &str = "{{#guess exercise-3 typed-parameter}}";
                let [of, slug] = call.takes(EXAMPLE)?;
                let of = self.catalogue.get(macros::exercise(of, EXAMPLE)?)?;
                guess::render(self.workspace, of, slug)
            }
            "kata" => {
                let [name] = call.takes("{{#kata a}}")?;
                kata::render(self.workspace, self.catalogue.get(0)?, name)
            }
            "picture" => {
                let [name] = call.takes("{{#picture move}}")?;
                picture::render(self.workspace, name)
            }
            "questions" => {
                let [name] = call.takes("{{#questions loans}}")?;
                question::render(self.workspace, name)
            }
            "typed" => typed::render(self.workspace, &self.catalogue, self.exercise(call)?),
            "sheet" => sheet::render(self.workspace, self.exercise(call)?),
            "board" => {
                let [name] = call.takes("{{#board the-port}}")?;
                board::render(self.workspace, name)
            }
            "tests" => Ok(tests_list::render(&self.catalogue, self.exercise(call)?)),
            "instructor" | "/instructor" => {
                without_arguments()?;
                notes(call, instructor)
            }
            unknown => Trouble::new(format!("there is no macro {{{{#{unknown}}}}}"))
                .next(format!("use one of: {}", MACROS.join(", ")))
                .err(),
        }
    }

    /// `{{#include path:anchor}}`, the path seen from the page as mdBook sees it. Other than mdBook's own, it fails when
    /// there is nothing to include.
    fn include(&self, page: &Page, call: &MacroCall) -> anyhow::Result<String> {
        let [argument] = call.takes("{{#include ../path/to/file.sql:anchor}}")?;
        let path = page.beside(argument);
        let path = path.to_string_lossy();
        let text = Excerpt::parse(&path)?.read(self.workspace.root())?;
        let ends_code = |line: &str| line.trim_start().starts_with("```");
        if call.in_code && text.lines().any(ends_code) {
            return Trouble::new(format!(
                "{path} has a line of ``` in it, which would end the code block"
            ))
            .next("show it with {{#code …}} instead, on a line of its own")
            .err();
        }
        Ok(match green::of(&self.catalogue, &path) {
            Some(exercise) => green::shortened(&text, exercise),
            None => text,
        })
    }

    /// What was measured, in an exercise, by the calibration or for long: all of it, or the tables and charts that are named.
    fn results(&self, call: &MacroCall) -> anyhow::Result<String> {
        let exercises = self.catalogue.names();
        match call.arguments.split_first() {
            Some((of, ids))
                if [CALIBRATION, ROUNDS, TURNS, ENDURANCE].contains(&of.as_str())
                    || exercises.contains(of) =>
            {
                results::render(self.workspace, of, ids)
            }
            of => Trouble::new(format!(
                "{{{{#results}}}} names nothing that is measured: {}",
                of.map_or("", |(of, _)| of)
            ))
            .next(format!(
                "name one of: {}, {CALIBRATION}, {ROUNDS}, {TURNS}, {ENDURANCE}",
                exercises.join(", ")
            ))
            .err(),
        }
    }

    fn exercise(&self, call: &MacroCall) -> anyhow::Result<&Exercise> {
        self.catalogue.get(call.exercise()?)
    }
}

/// The notes for instructors are folded away. `open` has the line where they have begun.
fn notes(call: &MacroCall, open: &mut Option<usize>) -> anyhow::Result<String> {
    match (call.name.as_str(), open.take()) {
        ("instructor", None) => {
            *open = Some(call.line);
            let summary = "<details class=\"instructor\">\n<summary>For instructors</summary>";
            Ok(format!("\n\n{summary}\n\n"))
        }
        ("instructor", Some(_)) => Trouble::new("{{#instructor}} inside {{#instructor}}")
            .next("close the first with {{#/instructor}}")
            .err(),
        (_, Some(_)) => Ok("\n\n</details>\n\n".to_owned()),
        (_, None) => Trouble::new("{{#/instructor}} closes nothing")
            .next("write {{#instructor}} before the notes")
            .err(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(text: &str) -> Result<String, Vec<PageFault>> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir_all(folder.path().join("book/x")).expect("a folder");
        std::fs::create_dir_all(folder.path().join("solutions")).expect("a folder");
        std::fs::write(
            folder.path().join("a.sql"),
            "-- ANCHOR: one\nSELECT 1;\n-- ANCHOR_END: one\nSELECT 2;\n",
        )
        .expect("written");
        let page = Page {
            path: "x/page.md".into(),
            part: None,
            text: text.into(),
        };
        let site = Site {
            pages: vec![page.clone()],
        };
        let workspace = Workspace::at(folder.path());
        let expanded = Expander::new(&workspace, &site)
            .expect("a catalogue")
            .expand(&page);
        drop(folder);
        expanded
    }

    #[test]
    fn an_include_is_seen_from_the_page_and_works_in_code() {
        assert_eq!(
            expand("```sql\n{{#include ../../a.sql:one}}\n```\n").as_deref(),
            Ok("```sql\nSELECT 1;\n```\n")
        );
    }

    #[test]
    fn a_fault_names_file_and_line() {
        let faults =
            expand("# A\n\n{{#include ../../b.sql}}\n\n{{#nonsense}}\n").expect_err("two faults");
        let told: Vec<_> = faults.iter().map(ToString::to_string).collect();
        assert!(
            told[0].starts_with("book/x/page.md:3: cannot include b.sql"),
            "{told:?}"
        );
        assert!(
            told[1].starts_with("book/x/page.md:5: there is no macro {{#nonsense}}"),
            "{told:?}"
        );
        assert!(told[1].contains("{{#plan one-day}}"), "{told:?}");
    }

    #[test]
    fn instructor_notes_are_folded_and_stay_markdown() {
        let page = expand("{{#instructor}}\n- **Ask** why\n{{#/instructor}}\n").expect("a page");
        assert!(
            page.contains("<summary>For instructors</summary>\n\n\n- **Ask** why\n"),
            "{page}"
        );
        assert!(page.contains("</details>"), "{page}");
    }

    #[test]
    fn instructor_notes_must_pair() {
        assert!(
            expand("{{#instructor}}\n").expect_err("open")[0]
                .to_string()
                .contains("never closed")
        );
        assert!(
            expand("{{#/instructor}}\n").expect_err("closed")[0]
                .to_string()
                .contains("closes nothing")
        );
        assert!(expand("{{#instructor}}\n\n{{#instructor}}\n\n{{#/instructor}}\n").is_err());
    }

    #[test]
    fn a_block_inside_a_sentence_or_indented_is_refused() {
        for text in ["See {{#report}} here.", "  {{#report}}"] {
            assert!(
                expand(text).expect_err(text)[0]
                    .to_string()
                    .contains("line of its own")
            );
        }
    }

    #[test]
    fn an_unknown_exercise_is_refused() {
        assert!(
            expand("{{#minutes exercise-7}}").expect_err("no exercise-7")[0]
                .to_string()
                .contains("there is no exercise-7")
        );
    }

    #[test]
    fn an_escaped_call_is_shown() {
        assert_eq!(
            expand(r"Write \{{#nonsense}}.").as_deref(),
            Ok("Write {{#nonsense}}.")
        );
    }
}
