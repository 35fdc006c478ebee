//! Finding the nginx of this machine, which exercise 12 puts in front of both services.

use std::fmt;
use std::path::{Path, PathBuf};

use workshop_base::fix::{self, System};
use workshop_base::outcome::Trouble;
use workshop_base::probe::{self, Answer, QUICK, on_path};

/// The folder of an exercise that holds the configuration.
pub const FOLDER: &str = "nginx";
/// The oldest nginx that can be told to write nowhere but in its folder.
const OLDEST: (u32, u32) = (1, 20);
/// Where packages put the program; not every user has these folders on the PATH.
const USUAL_FOLDERS: [&str; 4] = [
    "/usr/sbin",
    "/usr/local/sbin",
    "/usr/local/bin",
    "/opt/homebrew/bin",
];

/// The nginx of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    pub(crate) path: PathBuf,
    version: String,
}

/// Why there is no nginx to use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Lack {
    /// There is none.
    #[error("not on the PATH, and not in {}", USUAL_FOLDERS.join(", "))]
    Missing,
    /// It is too old.
    #[error("{0}; {major}.{minor} or newer is needed", major = OLDEST.0, minor = OLDEST.1)]
    Old(String),
}

impl From<Lack> for Trouble {
    fn from(lack: Lack) -> Trouble {
        let fix = System::here().install(&fix::NGINX);
        Trouble::new(format!("no usable nginx was found: {lack}"))
            .expected("nginx, which runs in front of both services in exercise 12")
            .next(format!("{}; just doctor", fix.in_words()))
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", self.version, self.path.display())
    }
}

impl Program {
    /// The nginx on the PATH, else in the usual folders.
    pub fn find() -> Result<Program, Lack> {
        let usual = USUAL_FOLDERS.map(|folder| Path::new(folder).join("nginx"));
        let mut found = on_path("nginx")
            .into_iter()
            .chain(usual)
            .filter_map(Program::at);
        let program = found.next().ok_or(Lack::Missing)?;
        if is_old(&program.version) {
            return Err(Lack::Old(program.version));
        }
        Ok(program)
    }

    /// The program at this path, if it is nginx.
    fn at(path: PathBuf) -> Option<Program> {
        let Answer::Said(said) = probe::ask_and_wait(&path, &["-v"], QUICK) else {
            return None;
        };
        let (_, version) = said.split_once("nginx/")?;
        let version = version.split_whitespace().next()?.to_owned();
        Some(Program { path, version })
    }
}

fn is_old(version: &str) -> bool {
    let mut numbers = version.split('.').map_while(|number| number.parse().ok());
    numbers
        .next()
        .zip(numbers.next())
        .is_some_and(|version| version < OLDEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_nginx_from_before_1_20_is_old() {
        assert!(is_old("1.18.0"));
        assert!(!is_old("1.20.0"));
        assert!(!is_old("1.29.3"));
        assert!(!is_old("2.0"));
    }
}
