//! `{{#questions loans}}`: the questions of `book/questions/loans.toml`, each answered on the page.
//!
//! An answer is a fold of HTML: opening it is answering, and inside is why it is right or wrong. So a question works with the keyboard,
//! in a screen reader, and without scripts; on paper every fold is open. A script only remembers what was opened first. mdbook-quiz,
//! which Brown's book uses, draws its questions by React (nothing without scripts or on paper), has one explanation per question instead
//! of one per answer, and shows it after the last question.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;

use crate::fault::PageFault;
use crate::html::{block, escape};
use crate::macros::line_at;
use workshop_base::files;
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;

/// Where the questions are, from the root of the checkout.
pub const FOLDER: &str = "book/questions";

/// A file of questions.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    question: Vec<QuizQuestion>,
}

/// A question and its answers.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuizQuestion {
    /// What it is called in the reader's browser: once in the whole book.
    pub name: Spanned<String>,
    /// The question itself.
    pub ask: String,
    /// A Rust program that it is about. Lines that begin with `# ` are needed to compile it, and not shown.
    pub code: Option<String>,
    /// What becomes of the program: the code of the compiler's error (`error` if it has none), `panics`, or what it prints.
    pub outcome: Option<String>,
    /// The answers, in the order shown.
    #[serde(rename = "answer")]
    pub answers: Vec<QuizAnswer>,
}

/// One answer to choose.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuizAnswer {
    /// What it says.
    pub text: Spanned<String>,
    /// True for the right answer.
    #[serde(default)]
    pub right: bool,
    /// Why it is right, or why it isn't.
    #[serde(default)]
    pub why: String,
}

impl QuizAnswer {
    /// An answer that no file has.
    pub fn new(text: impl Into<String>, right: bool, why: impl Into<String>) -> Self {
        QuizAnswer {
            text: Spanned::new(0..0, text.into()),
            right,
            why: why.into(),
        }
    }
}

/// The questions of one file, or what is wrong with them.
pub fn read(file: &Path, text: &str) -> Result<Vec<QuizQuestion>, Vec<PageFault>> {
    let fault = |at: usize, trouble: Trouble| PageFault::new(file, line_at(text, at), trouble);
    let questions = match toml::from_str::<File>(text) {
        Ok(file) => file.question,
        Err(error) => {
            let at = error.span().map_or(0, |span| span.start);
            let trouble =
                Trouble::new(error.message()).next("write it as the other files in book/questions");
            return Err(vec![fault(at, trouble)]);
        }
    };
    let mut faults = Vec::new();
    for question in &questions {
        let name = question.name.get_ref();
        let right = question.answers.iter().filter(|answer| answer.right);
        let (right, all) = (right.count(), question.answers.len());
        if right != 1 || all < 2 {
            let what = format!("the question {name} has {right} right answers of {all}");
            let next = "give it one right answer, and at least one that is wrong";
            faults.push(fault(
                question.name.span().start,
                Trouble::new(what).next(next),
            ));
        }
        if question.code.is_some() != question.outcome.is_some() {
            let what = format!(
                "the question {name} has code without an outcome, or an outcome without code"
            );
            let next = "say what becomes of the code, so that a test can try it";
            faults.push(fault(
                question.name.span().start,
                Trouble::new(what).next(next),
            ));
        }
        for answer in question.answers.iter().filter(|a| a.why.trim().is_empty()) {
            let what = format!("an answer of the question {name} has no sentence that says why");
            let next = "write one after `why =`, for just this answer";
            faults.push(fault(
                answer.text.span().start,
                Trouble::new(what).next(next),
            ));
        }
    }
    match faults.is_empty() {
        true => Ok(questions),
        false => Err(faults),
    }
}

/// The files of questions, from the root of the checkout, with their text.
pub fn all(workspace: &Workspace) -> anyhow::Result<Vec<(PathBuf, String)>> {
    let folder = workspace.root().join(FOLDER);
    let mut files = Vec::new();
    // Checkouts of tests have no questions.
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry?.path();
        let text = files::text(&path)?;
        files.push((path.strip_prefix(workspace.root())?.to_path_buf(), text));
    }
    files.sort();
    Ok(files)
}

/// What is wrong with the questions of the book.
pub fn check(workspace: &Workspace) -> anyhow::Result<Vec<PageFault>> {
    let mut faults = Vec::new();
    let mut names: HashMap<String, PathBuf> = HashMap::new();
    for (file, text) in all(workspace)? {
        let questions = match read(&file, &text) {
            Ok(questions) => questions,
            Err(found) => {
                faults.extend(found);
                continue;
            }
        };
        for question in questions {
            let name = question.name.get_ref();
            if let Some(other) = names.insert(name.clone(), file.clone()) {
                let what = format!(
                    "the question {name} has the name of one in {}",
                    other.display()
                );
                let line = line_at(&text, question.name.span().start);
                let trouble = Trouble::new(what)
                    .next("give it another: the browser keeps answers by this name");
                faults.push(PageFault::new(&file, line, trouble));
            }
        }
    }
    Ok(faults)
}

/// The questions of a file, as a page shows them.
pub fn render(workspace: &Workspace, name: &str) -> anyhow::Result<String> {
    let file = Path::new(FOLDER).join(format!("{name}.toml"));
    let text = files::text(&workspace.root().join(&file))?;
    let questions = read(&file, &text).map_err(|faults| {
        let told: Vec<_> = faults.iter().map(ToString::to_string).collect();
        Trouble::new(told.join("\n")).next("correct the file")
    })?;
    let shown = questions.iter().map(|question| {
        let code = question.code.as_deref().map(shown);
        let pre = code.map(|code| {
            format!(
                "<pre><code class=\"language-rust\" tabindex=\"0\" role=\"group\" aria-label=\"Rust code of the question\">{}</code></pre>",
                escape(&code)
            )
        });
        html(
            question.name.get_ref(),
            &question.ask,
            &pre.unwrap_or_default(),
            &question.answers,
        )
    });
    Ok(shown.collect())
}

/// The program without the lines that only make it compile.
fn shown(code: &str) -> String {
    let lines = code.lines().filter(|line| !is_hidden(line));
    lines.collect::<Vec<_>>().join("\n")
}

fn is_hidden(line: &str) -> bool {
    line == "#" || line.starts_with("# ")
}

/// The program with all its lines.
#[cfg(test)]
fn program(code: &str) -> String {
    let lines = code.lines().map(|line| match is_hidden(line) {
        true => line[1..].trim_start(),
        false => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A question as a block of a page. `code` is HTML.
pub fn html(name: &str, ask: &str, code: &str, answers: &[QuizAnswer]) -> String {
    let mut choices = String::new();
    for (letter, answer) in ('a'..).zip(answers) {
        let (class, verdict) = match answer.right {
            true => ("is-right", "Right."),
            false => ("is-wrong", "No."),
        };
        choices += &format!(
            "<li><details class=\"choice {class}\" data-letter=\"{letter}\">\n<summary>{}</summary>\n<p><strong>{verdict}</strong> {}</p>\n</details></li>\n",
            inline(answer.text.get_ref()),
            inline(&answer.why),
        );
    }
    let name = escape(name);
    let id = format!("question-{name}");
    block(&format!(
        "<div class=\"question\" data-question=\"{name}\" role=\"group\" aria-labelledby=\"{id}\">\n\
         <p class=\"ask\" id=\"{id}\">{}</p>\n{code}\n<ol>\n{choices}</ol>\n</div>",
        inline(ask),
    ))
}

/// A sentence as HTML: code between backticks, and the apostrophes that mdBook gives to the text around it.
pub fn inline(text: &str) -> String {
    let mut html = String::new();
    for (at, part) in text.split('`').enumerate() {
        match at % 2 {
            0 => html += &escape(&part.replace('\'', "’")),
            _ => html += &format!("<code>{}</code>", escape(part)),
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;
    use std::process::Command;

    const WHOLE: &str = "[[question]]\nname = \"a\"\nask = \"Who?\"\ncode = \"# fn main() {\\nx();\\n# }\"\noutcome = \"E0425\"\n\
        answer = [\n  { text = \"`You`\", right = true, why = \"It's you.\" },\n  { text = \"I\", why = \"No & never.\" },\n]\n";

    fn faults(text: &str) -> Vec<String> {
        let faults = read(Path::new("book/questions/x.toml"), text).expect_err("faults");
        faults.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_answer_is_a_fold_with_its_own_sentence() {
        let questions = read(Path::new("x.toml"), WHOLE).expect("whole");
        let [question] = questions.as_slice() else {
            panic!("one question")
        };
        let html = html("a", &question.ask, "", &question.answers);
        assert!(
            html.contains("<details class=\"choice is-right\" data-letter=\"a\">\n<summary><code>You</code></summary>\n<p><strong>Right.</strong> It’s you.</p>"),
            "{html}"
        );
        assert!(
            html.contains("<p><strong>No.</strong> No &amp; never.</p>"),
            "{html}"
        );
        assert!(!html.trim().contains("\n\n"), "{html}");
    }

    #[test]
    fn hidden_lines_are_compiled_and_not_shown() {
        let code = "# fn main() {\n#[derive(Debug)]\nx();\n# }";
        assert_eq!(shown(code), "#[derive(Debug)]\nx();");
        assert_eq!(program(code), "fn main() {\n#[derive(Debug)]\nx();\n}");
    }

    #[test]
    fn a_question_without_a_right_answer_is_a_fault_with_file_and_line() {
        let found = faults(&format!("\n{}", WHOLE.replace(", right = true", "")));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0]
                .starts_with("book/questions/x.toml:3: the question a has 0 right answers of 2"),
            "{found:?}"
        );
    }

    #[test]
    fn an_answer_without_its_sentence_is_a_fault_with_file_and_line() {
        let found = faults(&WHOLE.replace(", why = \"No & never.\"", ""));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with("book/questions/x.toml:8: an answer of the question a has no"),
            "{found:?}"
        );
    }

    #[test]
    fn code_that_nobody_tries_is_a_fault() {
        let found = faults(&WHOLE.replace("outcome = \"E0425\"\n", ""));
        assert!(found[0].contains("code without an outcome"), "{found:?}");
    }

    #[test]
    fn what_is_no_question_is_a_fault_with_its_line() {
        let found = faults(&WHOLE.replace("ask = ", "asks = "));
        assert!(
            found[0].starts_with("book/questions/x.toml:3: "),
            "{found:?}"
        );
    }

    #[test]
    fn the_questions_of_the_book_are_whole() -> anyhow::Result<()> {
        let workspace = Workspace::find()?;
        assert!(all(&workspace)?.len() > 5);
        let told: Vec<_> = check(&workspace)?.iter().map(ToString::to_string).collect();
        assert_eq!(told, Vec::<String>::new());
        Ok(())
    }

    #[test]
    fn what_a_question_says_of_its_program_is_true() -> anyhow::Result<()> {
        let workspace = Workspace::find()?;
        let folder = tempfile::tempdir()?;
        let mut wrong = Vec::new();
        for (file, text) in all(&workspace)? {
            let questions = read(&file, &text).map_err(|faults| {
                anyhow::anyhow!("{} faults in {}", faults.len(), file.display())
            })?;
            for question in questions {
                let (Some(code), Some(expected)) = (&question.code, &question.outcome) else {
                    continue;
                };
                let name = question.name.get_ref();
                let outcome = outcome(&program(code), folder.path())?;
                if outcome != *expected {
                    wrong.push(format!(
                        "{}, {name}: not {expected}, but {outcome}",
                        file.display()
                    ));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        Ok(())
    }

    /// The code of the compiler's first error, or `error`; `panics`; or the words that the program prints.
    fn outcome(program: &str, folder: &Path) -> anyhow::Result<String> {
        let (source, built) = (folder.join("asked.rs"), folder.join("asked"));
        std::fs::write(&source, program)?;
        let compiled = Command::new("rustc")
            .args(["--edition", "2024", "--cap-lints", "allow", "-o"])
            .args([&built, &source])
            .output()
            .context("rustc does not start")?;
        if !compiled.status.success() {
            let said = String::from_utf8_lossy(&compiled.stderr).into_owned();
            let first = said.lines().find(|line| line.starts_with("error"));
            let first = first.unwrap_or("error");
            let code = first
                .strip_prefix("error[")
                .and_then(|rest| rest.split(']').next());
            return Ok(code.unwrap_or("error").to_owned());
        }
        let ran = Command::new(&built).output()?;
        if !ran.status.success() {
            return Ok("panics".to_owned());
        }
        let printed = String::from_utf8_lossy(&ran.stdout).into_owned();
        Ok(printed.split_whitespace().collect::<Vec<_>>().join(" "))
    }
}
