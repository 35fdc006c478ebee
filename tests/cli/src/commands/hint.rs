//! `just hint`: the next of three levels, chosen by what failed last.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::hints::{self, LEVELS, Section};
use crate::state::{self, CheckOutcome, Fault, LastCheck, LastHint};

use workshop_base::exercise::Exercise;
use workshop_base::outcome::Outcome;
use workshop_base::terminal::{Style, paint};
use workshop_base::workspace::Workspace;

/// Prints the next hint, or the one at `level`, and remembers that it was shown.
pub fn run(
    workspace: &Workspace,
    exercise: &Exercise,
    level: Option<u8>,
) -> anyhow::Result<Outcome> {
    let name = exercise.name();
    let hints = hints::of(workspace, exercise)?;
    let memory = state::recall(workspace, exercise);
    let Some(check) = memory.last_check else {
        println!("A hint fits what failed last, and {name} has not been checked yet.");
        println!("next: just check {name}");
        return Ok(Outcome::Passed);
    };
    let Some((fault, section)) = hints::choose(&hints, &check) else {
        let at = when(check.at);
        println!(
            "Everything in {name} passed at the last check ({at}); there is nothing to hint at."
        );
        let measure = exercise.task().map(|_| format!("just measure {name}, or "));
        println!(
            "next: {}just solution {name} to compare yours with the reference",
            measure.unwrap_or_default()
        );
        return Ok(Outcome::Passed);
    };

    let changed = changed_since(workspace, exercise, check.at);
    let shown = Shown {
        name: &name,
        last: memory.last_hint.as_ref(),
        changed,
        at_the_end: &format!("just solution {name}"),
    };
    let hint = shown.next(&check, (fault, section), level);
    state::record_hint(workspace, exercise, hint)?;
    Ok(Outcome::Passed)
}

/// What hints are shown of, and what was shown before.
pub(super) struct Shown<'a> {
    /// What the commands call it.
    pub name: &'a str,
    /// The hint before.
    pub last: Option<&'a LastHint>,
    /// Whether the files have changed since the check.
    pub changed: bool,
    /// The command after the last level.
    pub at_the_end: &'a str,
}

impl Shown<'_> {
    /// Prints the next hint for a fault, or the one at `level`, and gives what there is to remember.
    pub(super) fn next(
        &self,
        check: &LastCheck,
        (fault, section): (&Fault, &Section),
        level: Option<u8>,
    ) -> LastHint {
        let name = self.name;
        let failure = identity(check.outcome, fault);
        let shown = self.last.map_or(0, |last| {
            let again = last.section == section.heading && last.failure == failure;
            if again { last.level } else { 0 }
        });
        let level = level.map_or((shown + 1).min(LEVELS), usize::from);
        let title = format!(
            "{name}: hint {level} of {LEVELS} for {}",
            in_words(check.outcome, fault)
        );
        println!("{}", paint(Style::Strong, title));
        let changed = if self.changed {
            "; your files have changed since"
        } else {
            ""
        };
        let chosen = format!("chosen by the check of {}{changed}", when(check.at));
        println!("{}", paint(Style::Faint, chosen));
        if check.outcome == CheckOutcome::DoesNotCompile {
            let message = fault.said.lines().next().unwrap_or_default();
            let by = format!("it says {message}, in {}", fault.place);
            println!("{}", paint(Style::Faint, by.trim_end_matches(", in ")));
        }
        let text = section.levels[level - 1].replace("{exercise}", name);
        println!("\n{text}\n");
        if level < LEVELS {
            println!("next: just check {name}, or just hint {name} for the next level");
        } else {
            println!(
                "next: just check {name}, or {}: this was the last level (just hint {name} --level 1 shows the first again)",
                self.at_the_end
            );
        }
        LastHint {
            failure,
            section: section.heading.clone(),
            level: level.max(shown),
        }
    }
}

/// What tells a failure from the next one. A test's words change with every run, a compiler's message does not: and the same one in
/// another function is another failure.
fn identity(outcome: CheckOutcome, fault: &Fault) -> String {
    match outcome {
        CheckOutcome::DoesNotCompile => {
            let message = fault.said.lines().next().unwrap_or_default();
            format!("{}: {message}, {}", fault.name, fault.place)
        }
        _ => fault.name.clone(),
    }
}

fn in_words(outcome: CheckOutcome, fault: &Fault) -> String {
    match (outcome, fault.name.as_str()) {
        (CheckOutcome::DoesNotStart, _) => "a service that does not start".to_owned(),
        (CheckOutcome::DoesNotCompile, "error") => "code that does not compile".to_owned(),
        (CheckOutcome::DoesNotCompile, code) => format!("the error {code}"),
        (_, test) => test.to_owned(),
    }
}

fn when(at: Timestamp) -> String {
    at.to_zoned(TimeZone::system())
        .strftime("%Y-%m-%d %H:%M")
        .to_string()
}

fn changed_since(workspace: &Workspace, exercise: &Exercise, at: Timestamp) -> bool {
    let folder = exercise.starter(workspace);
    let modified = |path| folder.join(path).metadata().ok()?.modified().ok();
    let times = exercise.edit.iter().filter_map(modified);
    times
        .filter_map(|time| Timestamp::try_from(time).ok())
        // The check's time is rounded down to a second.
        .any(|time| time.as_second() > at.as_second())
}
