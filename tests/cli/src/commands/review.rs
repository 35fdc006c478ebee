//! `just review`: after green, what a reviewer would look at. Clippy with lints that find Kotlin in Rust, questions, and other ways.

use std::process::Stdio;

use anyhow::Context;
use serde::Deserialize;
use serde_json::Value;

use crate::state::{self, CheckOutcome};
use crate::ways::OtherWay;

use workshop_base::exercise::Exercise;
use workshop_base::outcome::{Outcome, Trouble};
use workshop_base::program::{self, cargo_command};
use workshop_base::target::Target;
use workshop_base::terminal::{self, Style, paint};
use workshop_base::workspace::Workspace;
use workshop_harness::build::{Crate, aside};

#[derive(Debug, Deserialize)]
struct Review {
    /// The lints besides clippy's own choice.
    lints: Vec<String>,
    exercise: Vec<Questions>,
}

/// What is asked about one exercise.
#[derive(Debug, Deserialize)]
struct Questions {
    number: u8,
    questions: Vec<String>,
    /// What is worth knowing in a month.
    remember: Vec<String>,
}

/// Reviews an exercise whose last check was green.
pub async fn run(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<Outcome> {
    let name = exercise.name();
    let last = state::recall(workspace, exercise).last_check;
    if !last.is_some_and(|check| check.outcome == CheckOutcome::Passed) {
        return Trouble::new(format!(
            "{name} is not green yet, and a review comes after that"
        ))
        .expected("a last check in which everything passed")
        .next(format!("just check {name}"))
        .err();
    }
    let review = read(workspace)?;
    println!("{}", paint(Style::Strong, format!("{name}, reviewed")));
    match exercise.is_rust() {
        true => tell_findings(&findings(workspace, exercise, &review.lints).await?),
        false => println!("\nIt has no Rust of its own, so clippy has nothing to say."),
    }
    let asked = review
        .exercise
        .iter()
        .find(|asked| asked.number == exercise.number);
    if let Some(asked) = asked {
        tell_list("Questions that a reviewer asks", &asked.questions);
        tell_list("Worth knowing in a month", &asked.remember);
    }
    let ways = OtherWay::all(&exercise.solution(workspace))?.len();
    let next = match ways {
        0 => format!("just solution {name}"),
        _ => format!("just solution {name}, or --ways for {ways} other good answers"),
    };
    println!("\nnext: {}", paint(Style::Strong, next));
    Ok(Outcome::Passed)
}

fn read(workspace: &Workspace) -> anyhow::Result<Review> {
    let path = workspace.exercises().join("review.toml");
    let text = std::fs::read_to_string(&path);
    let text = text.with_context(|| format!("cannot read {}", path.display()))?;
    toml::from_str(&text).with_context(|| path.display().to_string())
}

/// What clippy says about the files of this crate, each once, as it would print it.
async fn findings(
    workspace: &Workspace,
    exercise: &Exercise,
    lints: &[String],
) -> anyhow::Result<Vec<String>> {
    let format = match terminal::color() {
        true => "--message-format=json-diagnostic-rendered-ansi",
        false => "--message-format=json",
    };
    let folder = match exercise.is_own() {
        true => exercise.starter(workspace),
        false => {
            let krate = Crate::of(workspace, exercise, Target::Exercise(exercise.number));
            aside::root_for(workspace, &krate)?
        }
    };
    let mut clippy = cargo_command();
    clippy
        .args([
            "clippy",
            "--quiet",
            "--all-targets",
            format,
            "--manifest-path",
        ])
        .arg(folder.join("Cargo.toml"))
        .args((!exercise.is_own()).then(|| format!("--package={}", exercise.name())))
        .arg("--")
        .args(lints.iter().map(|lint| format!("-Wclippy::{lint}")))
        .env("CARGO_TARGET_DIR", workspace.cargo_target())
        .current_dir(workspace.root())
        .stdin(Stdio::null());
    let output = program::run(clippy, "").await?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    let mut found: Vec<String> = Vec::new();
    let mut is_broken = false;
    for line in stdout
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
    {
        let code = line["message"]["code"]["code"].as_str();
        let rendered = line["message"]["rendered"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        // What the check doesn't compile is the tests of one's own.
        is_broken |= line["message"]["level"] == "error" && code.is_some_and(is_of_rustc);
        if code.is_some() && !found.contains(&rendered) {
            found.push(rendered);
        }
    }
    if is_broken {
        found.iter().for_each(|rendered| eprint!("{rendered}"));
        return Trouble::new("your own tests don't compile; see the compiler's messages above")
            .expected("a crate that compiles with its tests, which the check leaves out")
            .next(format!("cargo test --package {}", exercise.name()))
            .err();
    }
    if !output.status.success() && found.is_empty() {
        let words = String::from_utf8_lossy(&output.stderr);
        return Trouble::new(format!("clippy did not work:\n{}", words.trim()))
            .expected("clippy beside cargo")
            .next("rustup component add clippy; just doctor")
            .err();
    }
    Ok(found)
}

/// True for `E0308`, and not for the name of a lint.
fn is_of_rustc(code: &str) -> bool {
    code.strip_prefix('E')
        .is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
}

fn tell_findings(found: &[String]) {
    println!();
    for rendered in found {
        print!("{rendered}");
    }
    match found.len() {
        0 => println!(
            "Clippy has nothing to say, also when it looks for what people from Kotlin write."
        ),
        1 => println!("Clippy says one thing. It may be wrong: decide, and be able to say why."),
        many => println!(
            "Clippy says {many} things. Some may be wrong: decide, and be able to say why."
        ),
    }
}

fn tell_list(title: &str, items: &[String]) {
    println!("\n{}", paint(Style::Strong, title));
    for item in items {
        println!("- {item}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_exercise_with_rust_of_its_own_has_questions_and_three_things_to_remember()
    -> Result<(), toml::de::Error> {
        let review: Review = toml::from_str(include_str!("../../../../exercises/review.toml"))?;
        let numbers: Vec<u8> = review.exercise.iter().map(|asked| asked.number).collect();
        assert_eq!(
            numbers,
            [
                0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 24
            ]
        );
        for Questions {
            number,
            questions,
            remember,
        } in review.exercise
        {
            assert!(questions.len() >= 2, "exercise {number}");
            assert_eq!(remember.len(), 3, "exercise {number}");
        }
        Ok(())
    }
}
