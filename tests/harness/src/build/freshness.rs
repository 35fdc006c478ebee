//! Has cargo notice what has changed since it built a crate. Cargo goes by dates alone, and a file that comes out of an archive, a
//! backup or a stash may bring an old one: what is judged has to be what is on the disk.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use sha2::{Digest, Sha256};
use workshop_base::files;

use super::launch::{Crate, Profile};

/// A hash of each file, by its path.
type Sums = BTreeMap<PathBuf, String>;

/// The files of a crate as they are before a build, and where it is written down of which ones the last build was made.
#[derive(Debug)]
pub(super) struct Sources {
    folder: PathBuf,
    sums: Sums,
    record: PathBuf,
}

/// What the last build was made of.
#[derive(Debug, Default)]
struct Record {
    sums: Sums,
    /// When it was written; nothing where what was made then has been made again by another program.
    written: Option<SystemTime>,
}

impl Sources {
    /// Reads the files of a crate.
    pub fn of(
        cargo_target: &Path,
        krate: &Crate,
        profile: Profile,
        target: &[&str],
    ) -> anyhow::Result<Sources> {
        let tree = files::read_tree(&krate.folder)?.into_iter();
        let sums = tree.map(|(path, bytes)| (path, hex::encode(Sha256::digest(bytes))));
        let what = target.concat().replace('/', "-");
        let record = format!("{}-{profile:?}{what}", krate.package);
        Ok(Sources {
            folder: krate.folder.clone(),
            sums: sums.collect(),
            record: cargo_target.join("workshop-sources").join(record),
        })
    }

    /// Gives the files that have changed since the last build a date that cargo notices. Best effort: a file that belongs to another
    /// user keeps its date.
    pub fn make_newer(&self) {
        let last = Record::read(&self.record);
        let changed = files::differing(&last.sums, &self.sums);
        // Where a file has come or gone, the crate is another one although the rest is as it was.
        let is_regrouped = changed
            .iter()
            .any(|path| !last.sums.contains_key(path) || !self.sums.contains_key(path));
        for path in self.sums.keys() {
            let place = self.folder.join(path);
            let is_noticed = last.written.is_some() && modified(&place) > last.written;
            if !is_noticed && (is_regrouped || last.written.is_none() || changed.contains(path)) {
                // Where the clock was ahead at the last build, now is too early.
                let date = SystemTime::now().max(last.written.unwrap_or(UNIX_EPOCH));
                let file = File::options().append(true).open(&place);
                let _ = file.and_then(|file| file.set_modified(date));
            }
        }
    }

    /// Writes down that these were made of them. Best effort: without it, the next build takes a little longer.
    pub fn keep(&self, made: &[PathBuf]) {
        let made = made
            .iter()
            .map(|path| format!("{} {}\n", date_of(path), path.display()));
        let sums = self
            .sums
            .iter()
            .map(|(path, sum)| format!("{sum} {}\n", path.display()));
        let text = format!("{}\n{}", made.collect::<String>(), sums.collect::<String>());
        let _ = files::write(&self.record, text.as_bytes());
    }
}

/// Makes the first source files of a crate as new as now, so that cargo compiles it again.
pub(super) fn touch(folder: &Path) -> anyhow::Result<()> {
    for source in ["src/lib.rs", "src/main.rs"] {
        if let Ok(file) = File::options().append(true).open(folder.join(source)) {
            file.set_modified(SystemTime::now())?;
        }
    }
    Ok(())
}

impl Record {
    fn read(path: &Path) -> Record {
        let text = fs::read_to_string(path).unwrap_or_default();
        let (made, sums) = text.split_once("\n\n").unwrap_or_default();
        let lines = |text: &str| -> Vec<(String, PathBuf)> {
            let lines = text.lines().filter_map(|line| line.split_once(' '));
            lines
                .map(|(what, path)| (what.to_owned(), path.into()))
                .collect()
        };
        let is_theirs = |(date, path): &(String, PathBuf)| date_of(path) != *date;
        let is_ours = !made.is_empty() && !lines(made).iter().any(is_theirs);
        Record {
            sums: lines(sums)
                .into_iter()
                .map(|(sum, path)| (path, sum))
                .collect(),
            written: modified(path).filter(|_| is_ours),
        }
    }
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}

/// When something was made, in nanoseconds.
fn date_of(made: &Path) -> String {
    let date = modified(made).and_then(|date| date.duration_since(UNIX_EPOCH).ok());
    date.map_or_else(String::new, |since| since.as_nanos().to_string())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const LONG_AGO: Duration = Duration::from_secs(1_600_000_000);

    struct Course {
        folder: tempfile::TempDir,
        krate: Crate,
    }

    impl Course {
        fn new() -> anyhow::Result<Course> {
            let folder = tempfile::tempdir()?;
            let krate = Crate::new(folder.path().join("crate"), "exercise-2");
            let course = Course { folder, krate };
            course.write("src/main.rs", "fn main() {}")?;
            course.write("src/ready.rs", "todo!()")?;
            Ok(course)
        }

        /// Writes a file with a date of 2020.
        fn write(&self, path: &str, text: &str) -> anyhow::Result<()> {
            let path = self.krate.folder.join(path);
            files::write(&path, text.as_bytes())?;
            let file = File::options().append(true).open(path)?;
            Ok(file.set_modified(UNIX_EPOCH + LONG_AGO)?)
        }

        /// Builds as cargo does, and says which files have a new date for it.
        fn built(&self) -> anyhow::Result<Vec<&str>> {
            let target = self.folder.path().join("target");
            let sources = Sources::of(&target, &self.krate, Profile::Check, &["--bin"])?;
            sources.make_newer();
            let mut newer = Vec::new();
            for path in ["src/main.rs", "src/ready.rs"] {
                if modified(&self.krate.folder.join(path)) > Some(UNIX_EPOCH + LONG_AGO) {
                    newer.push(path);
                }
            }
            let program = target.join("program");
            files::write(&program, b"")?;
            sources.keep(&[program]);
            Ok(newer)
        }
    }

    #[test]
    fn an_edit_with_an_old_date_is_noticed() -> anyhow::Result<()> {
        let course = Course::new()?;
        // Nothing is known of who built it before.
        assert_eq!(course.built()?, ["src/main.rs", "src/ready.rs"]);
        course.write("src/main.rs", "fn main() {}")?;
        course.write("src/ready.rs", "true")?;
        assert_eq!(course.built()?, ["src/ready.rs"]);
        course.write("src/ready.rs", "true")?;
        assert!(course.built()?.is_empty());
        Ok(())
    }

    #[test]
    fn a_file_that_has_come_or_gone_is_noticed() -> anyhow::Result<()> {
        let course = Course::new()?;
        course.built()?;
        course.write("src/main.rs", "fn main() {}")?;
        course.write("migrations/1.sql", "SELECT 1")?;
        assert!(course.built()?.contains(&"src/main.rs"));
        course.write("src/main.rs", "fn main() {}")?;
        files::remove(&course.krate.folder.join("migrations/1.sql"))?;
        assert!(course.built()?.contains(&"src/main.rs"));
        Ok(())
    }

    #[test]
    fn what_another_program_has_built_meanwhile_is_built_again() -> anyhow::Result<()> {
        let course = Course::new()?;
        course.built()?;
        course.write("src/main.rs", "fn main() {}")?;
        files::write(&course.folder.path().join("target/program"), b"another")?;
        assert!(course.built()?.contains(&"src/main.rs"));
        Ok(())
    }
}
