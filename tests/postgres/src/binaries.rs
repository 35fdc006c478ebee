//! PostgreSQL's programs on this machine: found where systems keep them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::connection;
use crate::settings::BinariesFrom;

/// A folder with `postgres` and `initdb` in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binaries {
    pub bin: PathBuf,
    /// The version of `postgres` in it: the part that decides which data folders fit, and all of it, `15.18`.
    pub major: u32,
    pub version: String,
    /// How they came here.
    pub from: BinariesFrom,
}

impl Binaries {
    /// The newest of the system's: the folder that `pg_config` names, Debian's, Homebrew's and Fedora's folders, PATH.
    pub(crate) fn system() -> Option<Binaries> {
        // A link on the PATH leads to the folder that the other programs and the libraries are next to.
        let real = |folder: PathBuf| {
            let postgres = folder.join("postgres").canonicalize().ok()?;
            Some(postgres.parent()?.to_path_buf())
        };
        let folders: BTreeSet<PathBuf> = system_folders().into_iter().filter_map(real).collect();
        let found = folders
            .iter()
            .filter_map(|bin| Self::at(bin, BinariesFrom::System));
        found.max_by_key(|binaries| (binaries.major, binaries.version.clone()))
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
        let (major, version) = parse_version(&String::from_utf8_lossy(&output.stdout))?;
        let bin = bin.to_path_buf();
        (major >= connection::OLDEST_MAJOR).then_some(Binaries {
            bin,
            major,
            version,
            from,
        })
    }

    /// The path of one program, such as `pgbench` or `psql`; `None` when this folder has none.
    pub fn has(&self, name: &str) -> Option<PathBuf> {
        Some(self.bin.join(name)).filter(|path| path.is_file())
    }

    /// The folder of the server's loadable libraries, as `pg_config` knows it, else beside the programs.
    fn libraries(&self) -> Option<PathBuf> {
        let beside = self.bin.parent()?.join("lib");
        let asked = self
            .has("pg_config")
            .and_then(|program| pg_config(&program, "--pkglibdir"));
        asked
            .into_iter()
            .chain([beside.join("postgresql"), beside])
            .find(|folder| library(folder, "plpgsql").is_some())
    }

    /// True when `pg_stat_statements` can be preloaded.
    pub(crate) fn can_count_statements(&self) -> bool {
        self.libraries()
            .is_some_and(|folder| library(&folder, "pg_stat_statements").is_some())
    }
}

/// What a `pg_config` answers.
fn pg_config(program: &Path, question: &str) -> Option<PathBuf> {
    let output = Command::new(program).arg(question).output().ok()?;
    let answer = String::from_utf8(output.stdout).ok()?;
    Some(PathBuf::from(answer.trim()))
}

/// A loadable library in a folder, with the platform's ending.
fn library(folder: &Path, name: &str) -> Option<PathBuf> {
    ["so", "dylib"]
        .iter()
        .map(|ending| folder.join(format!("{name}.{ending}")))
        .find(|path| path.is_file())
}

fn system_folders() -> Vec<PathBuf> {
    let mut folders = Vec::from_iter(pg_config(Path::new("pg_config"), "--bindir"));
    // One folder a version: Debian and Ubuntu, the PGDG packages for Fedora and RHEL, Homebrew on both kinds of Mac.
    for (parent, prefix) in [
        ("/usr/lib/postgresql", ""),
        ("/usr", "pgsql-"),
        ("/opt/homebrew/opt", "postgresql"),
        ("/usr/local/opt", "postgresql"),
    ] {
        let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
        let ours = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix));
        folders.extend(ours.map(|entry| entry.path().join("bin")));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    folders.extend(std::env::split_paths(&path));
    folders
}

/// Reads `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)`.
fn parse_version(line: &str) -> Option<(u32, String)> {
    let text = line.split_whitespace().nth(2)?;
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    Some((digits.parse().ok()?, text.to_owned()))
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
        let debian = parse_version("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n");
        assert_eq!(debian, Some((15, "15.18".to_owned())));
        let beta = parse_version("postgres (PostgreSQL) 19beta1");
        assert_eq!(beta, Some((19, "19beta1".to_owned())));
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
