//! The programs that the workshop and its peers are built and run with: found, asked for their versions, and told in a sentence
//! where they are missing.

use std::fmt;
use std::path::{Path, PathBuf};

use workshop_base::fix::{self, Fix, System};
use workshop_base::outcome::Trouble;
use workshop_base::probe::{self, PATIENT, ProbeAnswer, on_path};
use workshop_base::version::Version;

/// A program that is known here.
struct Known {
    name: &'static str,
    /// What makes it tell its version.
    asks: &'static [&'static str],
    /// Where packages put it; not every user has these folders on the PATH.
    folders: &'static [&'static str],
    fix: fn(&System) -> Fix,
}

const VERSION: &[&str] = &["--version"];
/// Whether Python can make an environment, too; an error of it without what led there.
const WITH_VENV: &[&str] = &[
    "-c",
    "import sys; sys.tracebacklimit = 0; import ensurepip, platform; print(platform.python_version())",
];
const FOR_NGINX: &[&str] = &[
    "/usr/sbin",
    "/usr/local/sbin",
    "/usr/local/bin",
    "/opt/homebrew/bin",
];

const fn known(name: &'static str, fix: fn(&System) -> Fix) -> Known {
    Known {
        name,
        asks: VERSION,
        folders: &[],
        fix,
    }
}

const KNOWN: [Known; 11] = [
    known("node", |system| system.install(&fix::NODE)),
    known("npm", |system| system.install(&fix::NODE)),
    Known {
        asks: WITH_VENV,
        ..known("python3", |system| system.install(&fix::PYTHON))
    },
    known("mvn", |system| system.install(&fix::MAVEN)),
    Known {
        asks: &["-v"],
        folders: FOR_NGINX,
        ..known("nginx", |system| system.install(&fix::NGINX))
    },
    known("rustc", System::toolchain),
    known("cargo", System::toolchain),
    known("cargo-clippy", |system| {
        system.component("clippy", &fix::CLIPPY)
    }),
    known("rustfmt", |system| {
        system.component("rustfmt", &fix::RUSTFMT)
    }),
    known("cc", |system| system.install(&fix::C_COMPILER)),
    known("git", |system| system.install(&fix::GIT)),
];

/// A program that will do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runtime {
    pub path: PathBuf,
    /// Its version, as it says it.
    pub version: String,
}

impl fmt::Display for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", self.version, self.path.display())
    }
}

/// The program of this name on the PATH or in its usual folders, unless it is older than that; every version will do where
/// `oldest` is empty. It is asked in `folder`, where an override of rustup's would count.
pub async fn find(program: &str, oldest: &str, folder: &Path) -> Result<Runtime, Trouble> {
    let known = KNOWN.iter().find(|known| known.name == program);
    let (asks, folders) = known.map_or((VERSION, &[][..]), |known| (known.asks, known.folders));
    let lack = |word, mut why: String| {
        if !oldest.is_empty() {
            why += &format!("; {} or newer is needed", oldest.trim_end_matches(".0"));
        }
        let by_hand = || Fix::yourself(format!("put {program} on the PATH"));
        let fix = known.map_or_else(by_hand, |known| (known.fix)(&System::here()));
        Err(Trouble::fault(word, why, fix))
    };
    let usual = folders.iter().map(|folder| Path::new(folder).join(program));
    let mut found = on_path(program)
        .into_iter()
        .chain(usual.filter(|path| path.is_file()));
    let Some(path) = found.next() else {
        let nor = match folders {
            [] => String::new(),
            folders => format!(", and not in {}", folders.join(", ")),
        };
        return lack("missing", format!("not on the PATH{nor}"));
    };
    match probe::ask(&path, asks, folder, PATIENT).await {
        ProbeAnswer::Said(said) => {
            let found = Version::find(&said);
            let is_old = found < Version::find(oldest);
            let line = said.lines().next().unwrap_or_default();
            let version = found.map_or_else(|| line.to_owned(), |found| found.to_string());
            match is_old {
                true => lack("old", version),
                false => Ok(Runtime { path, version }),
            }
        }
        ProbeAnswer::Refused(said) => match said.lines().next().unwrap_or("(nothing printed)") {
            // rustup's stand-ins for components that are not installed say so and end with an error.
            line if line.contains("is not installed") => lack("missing", line.to_owned()),
            line => lack("broken", format!("answers with an error: {line}")),
        },
        ProbeAnswer::Absent => lack("broken", "cannot be run".to_owned()),
        ProbeAnswer::Silent(limit) => lack("silent", format!("no answer in {} s", limit.as_secs())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_missing_or_old_is_told_in_a_sentence_with_what_brings_it() {
        let find = async |program, oldest| find(program, oldest, Path::new("/")).await.unwrap_err();
        let lack = find("no-such-program", "20.0.0").await;
        assert_eq!(lack.why(), "not on the PATH; 20 or newer is needed");
        let fix = Fix::yourself("put no-such-program on the PATH");
        assert_eq!(lack.how_to_fix(), ("missing", fix));
        let lack = find("cargo", "9999.0.0").await;
        assert_eq!(lack.how_to_fix().0, "old");
        assert!(lack.why().ends_with("; 9999 or newer is needed"), "{lack}");
    }
}
