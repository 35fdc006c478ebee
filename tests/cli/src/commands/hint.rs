//! `just hint`: the next of three levels, chosen by what failed last.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::hints;
use crate::hints::Hints;
use crate::hints::LEVELS;
use crate::hints::Section;
use crate::state;
use crate::state::CheckOutcome;
use crate::state::LastCheck;
use crate::state::LastHint;
use workshop_base::exercise::Exercise;
use workshop_base::outcome::Outcome;
use workshop_base::terminal::Style;
use workshop_base::terminal::paint;
use workshop_base::workspace::Workspace;

/// Prints the next hint and remembers that it was shown.
///
/// # Errors
/// When the hints cannot be read, or the memory cannot be written.
pub fn run(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<Outcome> {
    let name = exercise.name();
    let hints = hints::read(&exercise.starter(workspace).join("hints.md"))?;
    let mut memory = state::recall(workspace, exercise);
    let Some(check) = memory.last_check.clone() else {
        println!("A hint fits what failed last, and {name} has not been checked yet.");
        next(&format!("just check {name}"));
        return Ok(Outcome::Passed);
    };
    let Some((failure, section)) = failure(&hints, &check) else {
        println!(
            "Everything in {name} passed at the last check ({}); there is nothing to hint at.",
            when(check.at)
        );
        next(&format!(
            "just measure {name}, or just solution {name} to compare yours with the reference"
        ));
        return Ok(Outcome::Passed);
    };

    let level = match &memory.last_hint {
        Some(last) if last.section == section.heading => (last.level + 1).clamp(1, LEVELS),
        _ => 1,
    };
    println!(
        "{}",
        paint(
            Style::Strong,
            format!("{name}: hint {level} of {LEVELS} for {failure}")
        )
    );
    let changed = if changed_since(workspace, exercise, check.at) {
        "; your files have changed since"
    } else {
        ""
    };
    println!(
        "{}",
        paint(
            Style::Faint,
            format!("chosen by the check of {}{changed}", when(check.at))
        )
    );
    println!("\n{}\n", section.levels[level - 1]);
    if level < LEVELS {
        next(&format!(
            "just check {name}, or just hint {name} for the next level"
        ));
    } else {
        next(&format!(
            "just check {name}, or just solution {name}: this was the last level"
        ));
    }

    memory.last_hint = Some(LastHint {
        section: section.heading.clone(),
        level,
    });
    state::remember(workspace, exercise, &memory)?;
    Ok(Outcome::Passed)
}

/// What went wrong first, in words, and the section for it. Of several compiler codes the first that has a section
/// of its own counts: one mistake often draws others behind it.
fn failure<'a>(hints: &'a Hints, check: &LastCheck) -> Option<(String, &'a Section)> {
    match check.outcome {
        CheckOutcome::Passed => None,
        CheckOutcome::Failed => {
            let test = check
                .failed
                .first()
                .map_or("the failed check", String::as_str);
            Some((test.to_owned(), hints.for_key(test)))
        }
        CheckOutcome::DoesNotCompile => {
            let section = hints.for_keys(check.compiler_codes.iter().map(String::as_str));
            let code = section
                .keys()
                .find(|key| check.compiler_codes.iter().any(|code| code == key))
                .or_else(|| check.compiler_codes.first().map(String::as_str));
            let what = code.map_or_else(
                || "code that does not compile".into(),
                |code| format!("the error {code}"),
            );
            Some((what, section))
        }
    }
}

fn next(what: &str) {
    println!("next: {what}");
}

fn when(at: Timestamp) -> String {
    at.to_zoned(TimeZone::system())
        .strftime("%Y-%m-%d %H:%M")
        .to_string()
}

fn changed_since(workspace: &Workspace, exercise: &Exercise, at: Timestamp) -> bool {
    exercise
        .edit
        .iter()
        .filter_map(|path| {
            exercise
                .starter(workspace)
                .join(path)
                .metadata()
                .ok()?
                .modified()
                .ok()
        })
        .filter_map(|time| Timestamp::try_from(time).ok())
        // The check's time is rounded down to a second.
        .any(|time| time.as_second() > at.as_second())
}
