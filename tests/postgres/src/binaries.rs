//! PostgreSQL's programs on this machine: found where systems keep them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::connection;
use crate::settings::BinariesFrom;

/// A version as `postgres --version` says it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// The part that decides which data folders fit.
    pub major: u32,
    /// All of it: `15.18`.
    pub text: String,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A folder with `postgres` and `initdb` in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binaries {
    /// The folder.
    pub bin: PathBuf,
    /// The version of `postgres` in it.
    pub version: Version,
    /// How they came here.
    pub from: BinariesFrom,
}

impl Binaries {
    /// The newest of the system's: the folder that `pg_config` names, Debian's, Homebrew's and Fedora's folders, PATH.
    pub(crate) fn system() -> Option<Binaries> {
        let mut found: Vec<Binaries> = Vec::new();
        for folder in system_folders() {
            // A link on the PATH leads to the folder that the other programs and the libraries are next to.
            let Ok(postgres) = folder.join("postgres").canonicalize() else {
                continue;
            };
            let Some(bin) = postgres.parent() else {
                continue;
            };
            if found.iter().any(|binaries| binaries.bin == bin) {
                continue;
            }
            if let Some(binaries) = Self::at(bin, BinariesFrom::System) {
                found.push(binaries);
            }
        }
        found
            .into_iter()
            .max_by(|one, other| one.version.cmp(&other.version))
    }

    /// The programs in this folder, when `postgres`, `initdb` and `pg_ctl` are there and not too old: a package of
    /// client programs has a `pg_config` and no server.
    pub(crate) fn at(bin: &Path, from: BinariesFrom) -> Option<Binaries> {
        if !["postgres", "initdb", "pg_ctl"]
            .iter()
            .all(|name| bin.join(name).is_file())
        {
            return None;
        }
        let output = Command::new(bin.join("postgres"))
            .arg("--version")
            .output()
            .ok()?;
        let version = parse_version(&String::from_utf8_lossy(&output.stdout))?;
        (version.major >= connection::OLDEST_MAJOR).then(|| Binaries {
            bin: bin.to_path_buf(),
            version,
            from,
        })
    }

    /// The path of one program, such as `pgbench` or `psql`; `None` when this folder has none.
    pub fn has(&self, name: &str) -> Option<PathBuf> {
        Some(self.bin.join(name)).filter(|path| path.is_file())
    }

    /// The folder of the server's loadable libraries.
    pub(crate) fn libraries(&self) -> Option<PathBuf> {
        let beside = self.bin.parent()?.join("lib");
        let asked = self.pg_config("--pkglibdir");
        asked
            .into_iter()
            .chain([beside.join("postgresql"), beside])
            .find(|folder| library(folder, "plpgsql").is_some())
    }

    /// The folder of the server's shared files.
    pub(crate) fn share(&self) -> Option<PathBuf> {
        let beside = self.bin.parent()?.join("share");
        let asked = self.pg_config("--sharedir");
        asked
            .into_iter()
            .chain([beside.join("postgresql"), beside])
            .find(|folder| folder.join("postgres.bki").is_file())
    }

    /// True when `pg_stat_statements` can be preloaded.
    pub(crate) fn can_count_statements(&self) -> bool {
        self.libraries()
            .is_some_and(|folder| library(&folder, "pg_stat_statements").is_some())
    }

    /// What this folder's own `pg_config` answers.
    fn pg_config(&self, question: &str) -> Option<PathBuf> {
        let output = Command::new(self.has("pg_config")?)
            .arg(question)
            .output()
            .ok()?;
        let answer = String::from_utf8(output.stdout).ok()?;
        Some(PathBuf::from(answer.trim())).filter(|path| path.is_dir())
    }
}

/// A loadable library in a folder, with the platform's ending.
fn library(folder: &Path, name: &str) -> Option<PathBuf> {
    ["so", "dylib"]
        .iter()
        .map(|ending| folder.join(format!("{name}.{ending}")))
        .find(|path| path.is_file())
}

fn system_folders() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    if let Ok(output) = Command::new("pg_config").arg("--bindir").output() {
        folders.push(PathBuf::from(
            String::from_utf8_lossy(&output.stdout).trim(),
        ));
    }
    // One folder a version: Debian and Ubuntu, the PGDG packages for Fedora and RHEL, Homebrew on both kinds of Mac.
    for (parent, prefix) in [
        ("/usr/lib/postgresql", ""),
        ("/usr", "pgsql-"),
        ("/opt/homebrew/opt", "postgresql"),
        ("/usr/local/opt", "postgresql"),
    ] {
        let Ok(entries) = std::fs::read_dir(parent) else {
            continue;
        };
        folders.extend(
            entries
                .flatten()
                .filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
                .map(|entry| entry.path().join("bin"))
                .filter(|bin| bin.join("postgres").is_file()),
        );
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    folders.extend(std::env::split_paths(&path).filter(|folder| folder.join("postgres").is_file()));
    folders
}

/// Reads `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)`.
fn parse_version(line: &str) -> Option<Version> {
    let text = line.split_whitespace().nth(2)?;
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    Some(Version {
        major: digits.parse().ok()?,
        text: text.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn program(folder: &Path, name: &str, says: &str) {
        let path = folder.join(name);
        std::fs::write(&path, format!("#!/bin/sh\necho '{says}'\n")).expect("a file");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    }

    #[test]
    fn a_version_line_is_read_with_and_without_the_packagers_words() {
        let debian = parse_version("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n")
            .expect("a version");
        assert_eq!((debian.major, debian.text.as_str()), (15, "15.18"));
        assert_eq!(
            parse_version("postgres (PostgreSQL) 19beta1")
                .expect("a version")
                .major,
            19
        );
        assert_eq!(parse_version("bash: postgres: command not found"), None);
    }

    #[test]
    fn a_folder_without_the_server_itself_does_not_count() {
        let folder = tempfile::tempdir().expect("a folder");
        program(folder.path(), "initdb", "initdb (PostgreSQL) 15.18");
        program(folder.path(), "pg_config", "/nowhere");
        assert_eq!(Binaries::at(folder.path(), BinariesFrom::System), None);
    }

    #[test]
    fn a_server_that_is_too_old_does_not_count() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["initdb", "pg_ctl"] {
            program(folder.path(), name, "");
        }
        program(folder.path(), "postgres", "postgres (PostgreSQL) 13.9");
        assert_eq!(Binaries::at(folder.path(), BinariesFrom::System), None);
        program(folder.path(), "postgres", "postgres (PostgreSQL) 14.2");
        assert!(Binaries::at(folder.path(), BinariesFrom::System).is_some());
    }
}
