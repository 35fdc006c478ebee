//! The doctor's report: for people to read, for a forum to paste, and as an exit code.

use std::fmt;

use crate::doctor::finding::Finding;

use crate::doctor::finding::State;
use workshop_base::mend::Mend;
use workshop_base::outcome::Outcome;
use workshop_base::terminal::Style;
use workshop_base::terminal::paint;

/// Everything the doctor found.
#[derive(Debug)]
pub struct Report {
    parts: Vec<(&'static str, Vec<Finding>)>,
    about: Vec<String>,
}

impl Report {
    pub(super) fn new(parts: Vec<(&'static str, Vec<Finding>)>, about: Vec<String>) -> Self {
        Report { parts, about }
    }

    /// 0 when nothing has to be mended, 1 when you can mend all of it yourself, 2 when something takes an
    /// administrator.
    pub fn outcome(&self) -> Outcome {
        let mut faults = self.faults().peekable();
        if faults.peek().is_none() {
            Outcome::Passed
        } else if faults.any(needs_administrator) {
            Outcome::CouldNotJudge
        } else {
            Outcome::Failed
        }
    }

    fn faults(&self) -> impl Iterator<Item = &Finding> {
        self.findings()
            .filter(|finding| matches!(finding.state, State::Fault(_)))
    }

    fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.parts.iter().flat_map(|(_, findings)| findings)
    }

    fn verdict(&self) -> String {
        let faults = self.faults().count();
        let administrator = self
            .faults()
            .filter(|fault| needs_administrator(fault))
            .count();
        let things = if faults == 1 {
            "1 thing has".to_owned()
        } else {
            format!("{faults} things have")
        };
        match (faults, administrator) {
            (0, _) => paint(Style::Good, "Ready: everything that is needed is here."),
            (_, 0) => paint(
                Style::Bad,
                format!("{things} to be mended; you can do it yourself."),
            ),
            (1, _) => paint(
                Style::Bad,
                format!("{things} to be mended; it needs an administrator."),
            ),
            (_, some) => paint(
                Style::Bad,
                format!("{things} to be mended; {some} of them by an administrator."),
            ),
        }
    }

    /// Versions, system and provider in a few lines, without secrets and without the name of the home folder.
    fn block(&self) -> String {
        let mut lines = self.about.clone();
        for (part, findings) in &self.parts {
            let findings: Vec<String> = findings
                .iter()
                .map(|finding| match finding.state {
                    State::Ok => format!("{} {}", finding.name, finding.detail),
                    state => format!("{} [{}: {}]", finding.name, state.word(), finding.detail),
                })
                .collect();
            lines.push(format!("{part}: {}", findings.join(" | ")));
        }
        shorten_home(&lines.join("\n"), std::env::var("HOME").ok().as_deref())
    }
}

fn needs_administrator(finding: &Finding) -> bool {
    finding.mend.as_ref().is_some_and(|mend| mend.administrator)
}

fn shorten_home(text: &str, home: Option<&str>) -> String {
    match home
        .map(|home| home.trim_end_matches('/'))
        .filter(|home| !home.is_empty())
    {
        Some(home) => text.replace(home, "~"),
        None => text.to_owned(),
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name_width = self
            .findings()
            .map(|finding| finding.name.chars().count())
            .max()
            .unwrap_or(0);
        for (part, findings) in &self.parts {
            writeln!(f, "{}", paint(Style::Strong, part))?;
            for finding in findings {
                let style = match finding.state {
                    State::Ok => Style::Good,
                    State::Note => Style::Warning,
                    State::Fault(_) => Style::Bad,
                };
                let word = paint(style, format!("{:<8}", finding.state.word()));
                writeln!(
                    f,
                    "  {word} {:<name_width$}  {}",
                    finding.name, finding.detail
                )?;
                if let Some(mend) = &finding.mend {
                    write_mend(f, mend, finding.state)?;
                }
            }
        }
        writeln!(f, "\n{}", self.verdict())?;
        if self.outcome() == Outcome::Passed {
            writeln!(f, "next: just tour")?;
        } else {
            writeln!(f, "next: the commands above, then just doctor")?;
        }
        writeln!(
            f,
            "\nWhen you ask somebody for help, paste this:\n```\n{}\n```",
            self.block()
        )
    }
}

fn write_mend(f: &mut fmt::Formatter<'_>, mend: &Mend, state: State) -> fmt::Result {
    let label = if matches!(state, State::Fault(_)) {
        "mend"
    } else {
        "if you want it"
    };
    for (manager, command) in &mend.commands {
        match manager {
            Some(manager) => writeln!(f, "             {label} ({manager}): {command}")?,
            None => writeln!(f, "             {label}: {command}")?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(findings: Vec<Finding>) -> Report {
        Report::new(vec![("Part", findings)], vec!["workshop 0".to_owned()])
    }

    fn fault(administrator: bool) -> Finding {
        let mend = Mend {
            commands: vec![(None, "do it".to_owned())],
            administrator,
        };
        Finding::fault(State::MISSING, "thing", "not there", mend)
    }

    #[test]
    fn the_exit_code_says_who_has_to_act() {
        assert_eq!(
            report(vec![Finding::ok("thing", "1.0"), fault(true).optional()])
                .outcome()
                .code(),
            0
        );
        assert_eq!(report(vec![fault(false)]).outcome().code(), 1);
        assert_eq!(report(vec![fault(false), fault(true)]).outcome().code(), 2);
    }

    #[test]
    fn the_home_folder_is_not_shown() {
        assert_eq!(
            shorten_home("JDK in /home/anna/.jdks/25", Some("/home/anna/")),
            "JDK in ~/.jdks/25"
        );
        assert_eq!(shorten_home("/usr/lib", Some("/")), "/usr/lib");
    }
}
