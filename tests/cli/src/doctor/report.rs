//! What the doctor found: lines for people to read, a block to paste, and an exit code.

use std::fmt;

use workshop_base::fix::Fix;
use workshop_base::outcome::{Outcome, Trouble};
use workshop_base::terminal::{Style, paint};

/// Whether the workshop can work with what was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It is as it should be.
    Ok,
    /// It works without; worth knowing.
    Note,
    /// It has to be fixed; the word says how it is at fault: missing, old, low.
    Fault(&'static str),
}

impl State {
    /// The word that begins the line.
    pub(super) fn word(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Note => "note",
            State::Fault(word) => word,
        }
    }
}

/// One line of the report: what was found out about one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    pub name: String,
    pub state: State,
    /// Version and place, or what is wrong.
    pub detail: String,
    /// How to fix it, where there is something to fix.
    pub fix: Option<Fix>,
}

impl Finding {
    fn new(state: State, name: &str, detail: impl Into<String>) -> Self {
        Finding {
            name: name.to_owned(),
            state,
            detail: detail.into(),
            fix: None,
        }
    }

    /// What a command would refuse to work with.
    pub(super) fn of(name: &str, trouble: &Trouble) -> Self {
        let (word, fix) = trouble.how_to_fix();
        Finding::fault(word, name, trouble.why(), fix)
    }

    /// What was found, or why it will not do.
    pub(super) fn found(name: &str, found: Result<impl fmt::Display, Trouble>) -> Self {
        match found {
            Ok(found) => Finding::ok(name, found.to_string()),
            Err(trouble) => Finding::of(name, &trouble),
        }
    }

    pub(super) fn ok(name: &str, detail: impl Into<String>) -> Self {
        Finding::new(State::Ok, name, detail)
    }

    pub(super) fn note(name: &str, detail: impl Into<String>) -> Self {
        Finding::new(State::Note, name, detail)
    }

    pub(super) fn fault(
        word: &'static str,
        name: &str,
        detail: impl Into<String>,
        fix: Fix,
    ) -> Self {
        Finding::new(State::Fault(word), name, detail).with(fix)
    }

    pub(super) fn with(mut self, fix: Fix) -> Self {
        self.fix = Some(fix);
        self
    }

    /// The same, as something that is needed by no more than this.
    pub(super) fn optional(mut self, needed: &str) -> Self {
        if let State::Fault(word) = self.state {
            self.detail = format!("{word}: {}{needed}", self.detail);
            self.state = State::Note;
        }
        self
    }
}

/// Everything the doctor found.
#[derive(Debug)]
pub struct DoctorReport {
    pub(super) parts: Vec<(&'static str, Vec<Finding>)>,
    /// Lines about the machine, for the block to paste.
    pub(super) about: Vec<String>,
}

impl DoctorReport {
    /// 0 when nothing has to be fixed, 1 when you can fix all of it yourself, 2 when something takes an administrator.
    pub fn outcome(&self) -> Outcome {
        match self.faults() {
            (0, _) => Outcome::Passed,
            (_, 0) => Outcome::Failed,
            _ => Outcome::CouldNotJudge,
        }
    }

    fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.parts.iter().flat_map(|(_, findings)| findings)
    }

    /// How many things have to be fixed, and how many of them by an administrator.
    fn faults(&self) -> (usize, usize) {
        let faults = self.findings();
        let faults = faults.filter(|finding| matches!(finding.state, State::Fault(_)));
        let fixes: Vec<Option<&Fix>> = faults.map(|finding| finding.fix.as_ref()).collect();
        let administrators = fixes.iter().flatten().filter(|fix| fix.administrator);
        (fixes.len(), administrators.count())
    }

    fn verdict(&self) -> String {
        let (faults, administrator) = self.faults();
        let who = match (faults, administrator) {
            (0, _) => return paint(Style::Good, "Ready: everything that is needed is here."),
            (_, 0) => "you can do it yourself".to_owned(),
            (1, _) => "it needs an administrator".to_owned(),
            (_, some) => format!("{some} of them by an administrator"),
        };
        let things = if faults == 1 {
            "thing has"
        } else {
            "things have"
        };
        paint(Style::Bad, format!("{faults} {things} to be fixed; {who}."))
    }

    /// Versions, system and provider in a few lines, without secrets and without the name of the home folder.
    fn block(&self) -> String {
        let mut lines = self.about.clone();
        for (part, findings) in &self.parts {
            let findings = findings.iter().map(|finding| match finding.state {
                State::Ok => format!("{} {}", finding.name, finding.detail),
                state => format!("{} [{}: {}]", finding.name, state.word(), finding.detail),
            });
            lines.push(format!(
                "{part}: {}",
                findings.collect::<Vec<_>>().join(" | ")
            ));
        }
        shorten_home(
            &lines.join("\n"),
            &std::env::var("HOME").unwrap_or_default(),
        )
    }
}

fn shorten_home(text: &str, home: &str) -> String {
    match home.trim_end_matches('/') {
        "" => text.to_owned(),
        home => text.replace(home, "~"),
    }
}

impl fmt::Display for DoctorReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths = self.findings().map(|finding| finding.name.len());
        let width = widths.max().unwrap_or_default();
        for (part, findings) in &self.parts {
            writeln!(f, "{}", paint(Style::Strong, part))?;
            for Finding {
                name,
                state,
                detail,
                fix,
            } in findings
            {
                let (style, label) = match state {
                    State::Ok => (Style::Good, "fix"),
                    State::Note => (Style::Warning, "if you want it"),
                    State::Fault(_) => (Style::Bad, "fix"),
                };
                let word = paint(style, format!("{:<8}", state.word()));
                writeln!(f, "  {word} {name:<width$}  {detail}")?;
                for (manager, command) in fix.iter().flat_map(|fix| &fix.commands) {
                    let manager = manager.map_or(String::new(), |manager| format!(" ({manager})"));
                    writeln!(f, "             {label}{manager}: {command}")?;
                }
            }
        }
        let next = match self.outcome() {
            Outcome::Passed => "just tour",
            _ => "the commands above, then just doctor",
        };
        writeln!(f, "\n{}\nnext: {next}", self.verdict())?;
        let block = self.block();
        writeln!(f, "\nWhen you ask for help, paste this:\n```\n{block}\n```")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(findings: Vec<Finding>) -> u8 {
        let parts = vec![("Part", findings)];
        let about = vec!["workshop 0".to_owned()];
        DoctorReport { parts, about }.outcome().code()
    }

    fn fault(administrator: bool) -> Finding {
        let fix = Fix {
            administrator,
            ..Fix::yourself("do it")
        };
        Finding::fault("missing", "thing", "not there", fix)
    }

    #[test]
    fn the_exit_code_says_who_has_to_act() {
        assert_eq!(
            outcome(vec![Finding::ok("thing", "1.0"), fault(true).optional("")]),
            0
        );
        assert_eq!(outcome(vec![fault(false)]), 1);
        assert_eq!(outcome(vec![fault(false), fault(true)]), 2);
    }

    #[test]
    fn the_home_folder_is_not_shown() {
        assert_eq!(
            shorten_home("JDK in /home/anna/.jdks/25", "/home/anna/"),
            "JDK in ~/.jdks/25"
        );
        assert_eq!(shorten_home("/usr/lib", "/"), "/usr/lib");
    }
}
