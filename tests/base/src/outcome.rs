//! How a command ends: three outcomes with exit codes 0, 1 and 2 (and 130 when interrupted), and errors that name the next step.

use std::fmt;
use std::process::ExitCode;

use crate::fix::Fix;

/// The outcome of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Everything asked for is as it should be. Exit code 0.
    Passed,
    /// The work was judged and found wanting: red tests, code that does not compile. Exit code 1.
    Failed,
    /// Nothing can be said about the work: the environment is broken. Exit code 2.
    CouldNotJudge,
}

impl Outcome {
    /// Whether everything is as it should be.
    pub fn of(passed: bool) -> Self {
        if passed {
            Outcome::Passed
        } else {
            Outcome::Failed
        }
    }

    /// The process exit code that stands for this outcome.
    pub fn code(self) -> u8 {
        match self {
            Outcome::Passed => 0,
            Outcome::Failed => 1,
            Outcome::CouldNotJudge => 2,
        }
    }
}

/// An error for people: what happened, what was expected, what to do next.
#[derive(Debug)]
pub struct Trouble {
    lead: String,
    what: String,
    expected: Option<String>,
    next: Option<String>,
    /// How something of this machine is at fault, and what fixes it; boxed, since few errors have it.
    fault: Option<Box<(&'static str, Fix)>>,
    outcome: Outcome,
}

impl Trouble {
    /// An error of the environment (exit code 2) until [`Trouble::failed`] says otherwise.
    pub fn new(what: impl Into<String>) -> Self {
        Trouble {
            lead: String::new(),
            what: what.into(),
            expected: None,
            next: None,
            fault: None,
            outcome: Outcome::CouldNotJudge,
        }
    }

    /// Something of this machine that will not do: how it is at fault (missing, old, silent), why, and what fixes it.
    pub fn fault(word: &'static str, why: impl Into<String>, fix: Fix) -> Self {
        Trouble {
            fault: Some(Box::new((word, fix))),
            ..Trouble::new(why)
        }
    }

    /// Begins with what cannot be done because of it.
    #[must_use]
    pub fn led_by(mut self, lead: impl fmt::Display) -> Self {
        self.lead = format!("{lead}: ");
        self
    }

    /// What should have been the case.
    #[must_use]
    pub fn expected(mut self, expected: impl Into<String>) -> Self {
        self.expected = Some(expected.into());
        self
    }

    /// What to do next, best a command to type.
    #[must_use]
    pub fn next(mut self, next: impl Into<String>) -> Self {
        self.next = Some(next.into());
        self
    }

    /// Why it happened, behind what happened.
    #[must_use]
    pub fn because(mut self, why: impl fmt::Display) -> Self {
        self.what = format!("{}: {why}", self.what);
        self
    }

    /// The person's work is at fault, not the environment: exit code 1.
    #[must_use]
    pub fn failed(mut self) -> Self {
        self.outcome = Outcome::Failed;
        self
    }

    /// Stops the command with this error.
    pub fn err<T>(self) -> anyhow::Result<T> {
        Err(self.into())
    }

    /// The one in an error, be it the error itself, a context of it, or a cause.
    pub fn of(error: &anyhow::Error) -> Option<&Trouble> {
        let in_the_chain = || {
            error
                .chain()
                .find_map(|cause| cause.downcast_ref::<Trouble>())
        };
        error.downcast_ref::<Trouble>().or_else(in_the_chain)
    }

    /// What happened, without the lead.
    pub fn why(&self) -> &str {
        &self.what
    }

    /// What to do next, after the fix where there is one.
    pub fn what_next(&self) -> Option<String> {
        let fix = self.fault.as_ref().map(|fault| fault.1.in_words());
        let parts: Vec<String> = fix.into_iter().chain(self.next.clone()).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// How something is at fault, in a word, and how to fix it.
    pub fn how_to_fix(&self) -> (&'static str, Fix) {
        let fault = self.fault.as_deref().cloned();
        fault.unwrap_or_else(|| {
            (
                "broken",
                Fix::yourself(self.next.clone().unwrap_or_default()),
            )
        })
    }

    /// True where this machine lacks something that can be installed.
    pub fn is_a_lack(&self) -> bool {
        self.fault.is_some()
    }

    /// What happened and what to do next, in one line.
    pub fn in_one_line(&self) -> String {
        let next = self.what_next().map(|next| format!("; {next}"));
        format!("{}{}{}", self.lead, self.what, next.unwrap_or_default())
    }

    /// The outcome that a command ends with when it stops on this error.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.lead, self.what)?;
        if let Some(expected) = &self.expected {
            write!(f, "\n  expected: {expected}")?;
        }
        if let Some(next) = self.what_next() {
            write!(f, "\n  next: {next}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Trouble {}

/// The end of what another program said, for an error about it: up to twelve lines, each on a line of its own behind a bar.
pub fn last_lines(said: &str) -> String {
    let lines: Vec<&str> = said.trim().lines().collect();
    let last = lines.iter().skip(lines.len().saturating_sub(12));
    last.map(|line| format!("\n  | {line}")).collect()
}

/// The exit code of a program that was ended by Ctrl-C, as shells have it.
pub const INTERRUPTED: u8 = 130;

/// Somebody pressed Ctrl-C and all was put in order.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Interrupted(String);

impl Interrupted {
    /// With the one sentence that is printed.
    pub fn new(sentence: impl Into<String>) -> Self {
        Interrupted(sentence.into())
    }
}

/// Prints the error, if there is one, and gives the exit code of the command.
pub fn exit_code(result: anyhow::Result<Outcome>) -> ExitCode {
    match result {
        Ok(outcome) => ExitCode::from(outcome.code()),
        Err(error) if error.chain().any(|cause| cause.is::<Interrupted>()) => {
            eprintln!("{error}");
            ExitCode::from(INTERRUPTED)
        }
        Err(error) => {
            let outcome = Trouble::of(&error).map_or(Outcome::CouldNotJudge, Trouble::outcome);
            eprintln!("error: {error}");
            let said = error.to_string();
            for cause in error.chain().skip(1).map(ToString::to_string) {
                if !said.contains(&cause) {
                    eprintln!("  because: {cause}");
                }
            }
            ExitCode::from(outcome.code())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_happened_what_was_expected_and_what_to_do_next() {
        let trouble = Trouble::new("the disk is full")
            .expected("2 GB free")
            .next("just clean");
        assert_eq!(
            trouble.to_string(),
            "the disk is full\n  expected: 2 GB free\n  next: just clean"
        );
        let fix = Fix::yourself("export JAVA_HOME=/jdk");
        let trouble = Trouble::fault("missing", "no JDK found", fix)
            .led_by("the Kotlin side needs a JDK")
            .next("just doctor");
        assert_eq!(
            trouble.to_string(),
            "the Kotlin side needs a JDK: no JDK found\n  next: export JAVA_HOME=/jdk; just doctor"
        );
        assert_eq!(trouble.why(), "no JDK found");
    }
}
