//! The programs that peers are built and run with: found, asked for their versions, and told in a sentence where they are missing.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use workshop_base::fix::{self, Fix, Packages, System};
use workshop_base::outcome::Trouble;
use workshop_base::peer;
use workshop_base::probe::{self, Answer, PATIENT, on_path};
use workshop_base::version::Version;

/// What makes programs tell their version; Python's tells whether it can make an environment, too.
const VERSION: &[&str] = &["--version"];
const WITH_VENV: &[&str] = &[
    "-c",
    "import ensurepip, platform; print(platform.python_version())",
];

/// The programs that are known here, how each is asked, and what brings it.
const KNOWN: [(&str, &[&str], Packages); 4] = [
    ("node", VERSION, fix::NODE),
    ("npm", VERSION, fix::NODE),
    ("python3", WITH_VENV, fix::PYTHON),
    ("mvn", VERSION, fix::MAVEN),
];

/// The programs that only peers need, each with its oldest version, and the targets that need it.
pub fn of_peers() -> Vec<(&'static str, &'static str, String)> {
    let asked_elsewhere = ["jdk", "mvn"];
    let mut needed: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for peer in peer::all() {
        for (program, oldest) in &peer.needs {
            let targets = peer.targets.keys().map(String::as_str);
            let known = needed.entry((program, oldest)).or_default();
            known.extend(targets.filter(|_| !asked_elsewhere.contains(&program.as_str())));
        }
    }
    let needed = needed
        .into_iter()
        .filter(|(_, targets)| !targets.is_empty());
    needed
        .map(|((program, oldest), targets)| (program, oldest, targets.join(", ")))
        .collect()
}

/// A program that will do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runtime {
    /// Where it is.
    pub path: PathBuf,
    /// Its version, as it says it.
    pub version: String,
}

impl fmt::Display for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", self.version, self.path.display())
    }
}

/// Why a program will not do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Lack {
    /// What is needed, and what was found.
    what: String,
    /// What brings it.
    pub fix: Fix,
}

impl Lack {
    /// The error of what needs it.
    pub fn trouble(&self, what: &str) -> Trouble {
        let fix = self.fix.in_words();
        Trouble::new(format!("{what} needs {self}")).next(format!("{fix}; just doctor"))
    }
}

/// The program of this name on the PATH, unless it is older than that.
pub fn find(program: &str, oldest: &str) -> Result<Runtime, Lack> {
    let known = KNOWN.iter().find(|(name, ..)| *name == program);
    let (ask, packages) =
        known.map_or((VERSION, None), |(_, ask, packages)| (*ask, Some(packages)));
    let lack = |found: String| Lack {
        what: format!(
            "{program} {} or newer: {found}",
            oldest.trim_end_matches(".0")
        ),
        fix: packages.map_or_else(
            || Fix::yourself(format!("put {program} on the PATH")),
            |packages| System::here().install(packages),
        ),
    };
    let path = on_path(program).ok_or_else(|| lack("there is none on the PATH".to_owned()))?;
    match probe::ask_and_wait(&path, ask, PATIENT) {
        Answer::Said(said) => {
            let found = Version::find(&said);
            let is_old = found < Version::find(oldest);
            let version = found.map_or(said, |version| version.to_string());
            match is_old {
                true => Err(lack(format!("found is {version}"))),
                false => Ok(Runtime { path, version }),
            }
        }
        Answer::Refused(said) => {
            let last = said.lines().rfind(|line| !line.trim().is_empty());
            let last = last.unwrap_or("(nothing printed)");
            Err(lack(format!("it answers with an error: {last}")))
        }
        Answer::Absent => Err(lack("it cannot be run".to_owned())),
        Answer::Silent(limit) => Err(lack(format!("no answer in {} s", limit.as_secs()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_or_old_is_told_in_a_sentence_with_what_brings_it() {
        let lack = find("no-such-program", "20.0.0").unwrap_err();
        let said = lack.trouble("node").to_string();
        let expected = "node needs no-such-program 20 or newer: there is none on the PATH";
        assert!(said.starts_with(expected), "{said}");
        let lack = find("cargo", "9999.0.0").unwrap_err().to_string();
        assert!(lack.starts_with("cargo 9999 or newer: found is "), "{lack}");
    }
}
