//! The journal of an endurance run: one line of JSON per chunk, on the disk before the next chunk begins. A run that is stopped,
//! killed or loses its power loses the chunk that was under way, and carries on from the last line.
//!
//! The first line holds the conditions. A run carries on under the same ones only: chunks of two programs or two machines would be
//! judged together. An error ends a run for good, and is a line as well.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use workshop_base::files;
use workshop_base::lock::Lock;
use workshop_base::outcome::Trouble;

/// The version of the lines below. Raise it with every change that an older journal does not follow.
const VERSION: u32 = 1;

/// Under which conditions chunks are taken: a commit, a program, a data set, a machine, by what they are.
pub type Conditions = BTreeMap<String, String>;

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Line {
    /// The first one.
    Began(Began),
    /// A chunk.
    Chunk(Chunk),
    /// The last one of a run that has failed.
    Failed(Failed),
}

/// The beginning of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Began {
    /// The version of the journal's lines.
    version: u32,
    /// When, in UTC.
    pub at: String,
    /// Requests in each chunk.
    pub chunk: u64,
    /// Under which conditions.
    pub conditions: Conditions,
}

/// What was seen in one chunk, or right after it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Chunk {
    /// The side's id.
    pub side: String,
    /// Which process answered: 1 for that of the first call, one more for each call that carried on with it.
    pub segment: u32,
    /// When it ended, in UTC.
    pub at: String,
    /// What its process had answered by then, the warm-up included.
    pub served: u64,
    /// Requests that were answered with 200.
    pub requests: u64,
    /// Requests that were not.
    pub errors: u64,
    /// Answers per second.
    pub rate: f64,
    /// The median latency.
    pub p50_ms: Option<f64>,
    /// The 99th percentile.
    pub p99_ms: Option<f64>,
    /// The slowest.
    pub slowest_ms: Option<f64>,
    /// The proportional set size of the process and its children after the chunk; none where the system does not tell.
    pub pss_kb: Option<u64>,
    /// The most open files and sockets that were seen.
    pub descriptors: Option<usize>,
    /// The most threads that were seen.
    pub threads: Option<usize>,
    /// CPU time per request, in microseconds, user and system.
    pub cpu_us: Option<f64>,
    /// The generator's share of all cores.
    pub generator: Option<f64>,
}

/// What ended a run for good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// The side's id.
    pub side: String,
    /// Why.
    pub reason: String,
}

/// A run as far as it has come. As long as this lives, no other command writes the same journal.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    /// How it began.
    pub began: Began,
    /// Its chunks, in the order of time.
    pub chunks: Vec<Chunk>,
    /// What has ended it, if something has.
    pub failed: Option<Failed>,
    /// The segment of the chunks that are still to come.
    pub segment: u32,
    _alone: Lock,
}

impl Journal {
    /// Carries on with the run in this file, or begins one where there is none: at `now`, in chunks of so many requests. `anew` puts
    /// the file that is there aside. A run that was begun under other conditions, or that has failed, is refused.
    pub fn open(
        path: &Path,
        now: &str,
        chunk: u64,
        conditions: &Conditions,
        anew: bool,
    ) -> anyhow::Result<Journal> {
        let alone = Lock::try_take(&path.with_extension("lock"))?.ok_or_else(|| {
            Trouble::new("another command is at this run")
                .expected("one at a time: they would share the cores")
                .next("wait for its end, or stop it with Ctrl-C; what it has measured is kept")
        })?;
        if anew {
            put_aside(path, now)?;
        }
        let mut journal = Journal {
            path: path.to_owned(),
            began: Began {
                version: VERSION,
                at: now.to_owned(),
                chunk,
                conditions: conditions.clone(),
            },
            chunks: Vec::new(),
            failed: None,
            segment: 1,
            _alone: alone,
        };
        let lines = whole_lines(path)?;
        if lines.is_empty() {
            journal.add(Line::Began(journal.began.clone()))?;
            return Ok(journal);
        }
        for (number, line) in (1..).zip(&lines) {
            let read = serde_json::from_str(line).ok().filter(|read| match read {
                Line::Began(began) => number == 1 && began.version == VERSION,
                Line::Chunk(_) | Line::Failed(_) => number > 1,
            });
            let Some(read) = read else {
                return journal
                    .refused(&format!("line {number} of"), "isn't one of a journal")
                    .expected("the lines of this version of the course, unchanged")
                    .err();
            };
            journal.take(read);
        }
        let differences = differences(&journal.began.conditions, conditions);
        if !differences.is_empty() {
            let began = format!("began under other conditions:\n{}", differences.join("\n"));
            return journal
                .refused("the run in", &began)
                .expected("the same for all chunks of a run, since they are judged together")
                .err();
        }
        if let Some(Failed { side, reason }) = &journal.failed {
            return journal
                .refused("the run in", &format!("has ended: {side}: {reason}"))
                .expected("no error in any chunk; a run with one is no longer a run without")
                .failed()
                .err();
        }
        let last = journal.chunks.iter().map(|chunk| chunk.segment).max();
        journal.segment = last.unwrap_or(0) + 1;
        Ok(journal)
    }

    /// Adds a line; it is on the disk when this returns.
    pub fn add(&mut self, line: Line) -> anyhow::Result<()> {
        let mut text = serde_json::to_string(&line)?;
        text.push('\n');
        let write = || {
            let mut options = OpenOptions::new();
            let mut file = options.create(true).append(true).open(&self.path)?;
            // In one piece: what a kill leaves is at most the beginning of the last line.
            file.write_all(text.as_bytes())?;
            file.sync_data()
        };
        write().with_context(|| format!("cannot write {}", self.path.display()))?;
        self.take(line);
        Ok(())
    }

    /// The chunks of a side, in the order of time.
    pub fn of<'a>(&'a self, side: &'a str) -> impl Iterator<Item = &'a Chunk> {
        self.chunks.iter().filter(move |chunk| chunk.side == side)
    }

    fn take(&mut self, line: Line) {
        match line {
            Line::Began(began) => self.began = began,
            Line::Chunk(chunk) => self.chunks.push(chunk),
            Line::Failed(failed) => self.failed = Some(failed),
        }
    }

    /// No run can carry on this journal. Its name is all that people need of its path.
    fn refused(&self, what: &str, why: &str) -> Trouble {
        let name = self.path.file_name().unwrap_or_default();
        Trouble::new(format!("{what} {} {why}", name.display())).next(
            "the same command with --anew begins another run, and keeps this one's journal beside it",
        )
    }
}

/// What differs, in a line for each condition.
fn differences(before: &Conditions, now: &Conditions) -> Vec<String> {
    let names: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let said = |of: Option<&String>| of.map_or("none", String::as_str).to_owned();
    names
        .into_iter()
        .map(|name| (name, said(before.get(name)), said(now.get(name))))
        .filter(|(_, before, now)| before != now)
        .map(|(name, before, now)| format!("    {name}: {before}, and is now {now}"))
        .collect()
}

/// The lines of the file that end; the beginning of one that a kill has cut off is removed from it.
fn whole_lines(path: &Path) -> anyhow::Result<Vec<String>> {
    let Some(bytes) = files::read_if_there(path)? else {
        return Ok(Vec::new());
    };
    let end = bytes.iter().rposition(|byte| *byte == b'\n');
    let end = end.map_or(0, |place| place + 1);
    if end < bytes.len() {
        let cut = || File::options().write(true).open(path)?.set_len(end as u64);
        cut().with_context(|| format!("cannot write {}", path.display()))?;
    }
    let text = String::from_utf8_lossy(&bytes[..end]);
    Ok(text.lines().map(str::to_owned).collect())
}

/// Gives the file that is there, if one is, a name with the time in it.
fn put_aside(path: &Path, now: &str) -> anyhow::Result<()> {
    if !path.exists() {
        return Ok(());
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let aside = path.with_file_name(format!("{stem}-until-{}.jsonl", now.replace(':', "")));
    fs::rename(path, &aside).with_context(|| format!("cannot make {}", aside.display()))
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    struct Place {
        folder: TempDir,
        conditions: Conditions,
    }

    impl Place {
        fn new() -> Self {
            let conditions = [
                ("commit", "abc"),
                ("machine", "A machine, 2 cores"),
                ("data set", "small, fingerprint 1"),
                ("program solution-3", "solution-3, sha256 1"),
            ];
            let conditions = conditions.map(|(name, value)| (name.to_owned(), value.to_owned()));
            Place {
                folder: tempfile::tempdir().unwrap(),
                conditions: conditions.into(),
            }
        }

        fn path(&self) -> PathBuf {
            self.folder.path().join("endurance.jsonl")
        }

        fn open(&self) -> anyhow::Result<Journal> {
            let now = "2025-11-21T09:30:00Z";
            Journal::open(&self.path(), now, 1000, &self.conditions, false)
        }

        fn anew(&self) -> anyhow::Result<Journal> {
            let now = "2025-11-21T10:30:00Z";
            Journal::open(&self.path(), now, 1000, &self.conditions, true)
        }

        fn refusal(&self) -> Trouble {
            let error = self.open().expect_err("a refusal");
            error.downcast().expect("words for people")
        }
    }

    fn chunk(segment: u32) -> Chunk {
        Chunk {
            side: "solution-3".to_owned(),
            segment,
            requests: 1000,
            rate: 4000.5,
            ..Chunk::default()
        }
    }

    #[test]
    fn a_run_carries_on_where_it_stopped_in_a_segment_of_its_own() {
        let place = Place::new();
        let mut journal = place.open().unwrap();
        assert_eq!(journal.segment, 1);
        journal.add(Line::Chunk(chunk(1))).unwrap();
        drop(journal);
        let mut journal = place.open().unwrap();
        assert_eq!((&journal.chunks[..], journal.segment), (&[chunk(1)][..], 2));
        journal.add(Line::Chunk(chunk(2))).unwrap();
        drop(journal);
        let journal = place.open().unwrap();
        assert_eq!(journal.chunks, [chunk(1), chunk(2)]);
        assert_eq!(journal.of("solution-3").count(), 2);
        assert_eq!(journal.of("kotlin").count(), 0);
    }

    #[test]
    fn a_size_of_chunks_stays_that_of_the_beginning() {
        let place = Place::new();
        drop(place.open().unwrap());
        let now = "2025-11-22T09:30:00Z";
        let journal = Journal::open(&place.path(), now, 5, &place.conditions, false).unwrap();
        assert_eq!(journal.began.chunk, 1000);
        assert_eq!(journal.began.at, "2025-11-21T09:30:00Z");
    }

    #[test]
    fn half_a_line_is_what_a_kill_leaves_and_costs_one_chunk() {
        let place = Place::new();
        let mut journal = place.open().unwrap();
        journal.add(Line::Chunk(chunk(1))).unwrap();
        journal.add(Line::Chunk(chunk(1))).unwrap();
        drop(journal);
        let whole = fs::read(place.path()).unwrap();
        // Wherever the file ends, what was whole is there, and the run carries on.
        for end in (0..whole.len()).step_by(7) {
            fs::write(place.path(), &whole[..end]).unwrap();
            let lines = whole[..end].iter().filter(|byte| **byte == b'\n').count();
            let mut journal = place.open().unwrap();
            assert_eq!(journal.chunks.len(), lines.saturating_sub(1), "{end}");
            journal.add(Line::Chunk(chunk(7))).unwrap();
            drop(journal);
            let journal = place.open().unwrap();
            assert_eq!(journal.chunks.last(), Some(&chunk(7)), "{end}");
        }
    }

    #[test]
    fn other_conditions_are_refused_each_by_its_name_and_nothing_is_lost() {
        for (name, value) in [
            ("commit", "def"),
            ("machine", "Another machine, 4 cores"),
            ("data set", "full, fingerprint 2"),
            ("program solution-3", "solution-3, sha256 2"),
            ("program kotlin", "java -jar kotlin-service.jar"),
        ] {
            let mut place = Place::new();
            let mut journal = place.open().unwrap();
            journal.add(Line::Chunk(chunk(1))).unwrap();
            drop(journal);
            let before = fs::read(place.path()).unwrap();
            let was = place.conditions.insert(name.to_owned(), value.to_owned());
            let said = place.refusal().to_string();
            let was = was.unwrap_or_else(|| "none".to_owned());
            let line = format!("\n    {name}: {was}, and is now {value}\n");
            assert!(said.contains(&line), "{said}");
            assert_eq!(said.matches("and is now").count(), 1, "{said}");
            assert!(
                said.contains("next: the same command with --anew"),
                "{said}"
            );
            assert_eq!(fs::read(place.path()).unwrap(), before);
        }
    }

    #[test]
    fn anew_begins_another_run_and_keeps_the_journal_of_the_one_before() {
        let mut place = Place::new();
        let mut journal = place.open().unwrap();
        journal.add(Line::Chunk(chunk(1))).unwrap();
        drop(journal);
        let before = fs::read(place.path()).unwrap();
        place
            .conditions
            .insert("commit".to_owned(), "def".to_owned());
        let journal = place.anew().unwrap();
        assert!(journal.chunks.is_empty() && journal.segment == 1);
        let aside = place
            .folder
            .path()
            .join("endurance-until-2025-11-21T103000Z.jsonl");
        assert_eq!(fs::read(aside).unwrap(), before);
    }

    #[test]
    fn an_error_ends_a_run_for_good() {
        use workshop_base::outcome::Outcome;
        let place = Place::new();
        let mut journal = place.open().unwrap();
        let failed = Failed {
            side: "solution-3".to_owned(),
            reason: "12 of 1000 answers had status 503, not 200".to_owned(),
        };
        journal.add(Line::Chunk(chunk(1))).unwrap();
        journal.add(Line::Failed(failed)).unwrap();
        drop(journal);
        let refusal = place.refusal();
        assert_eq!(refusal.outcome(), Outcome::Failed);
        let said = refusal.to_string();
        assert!(
            said.contains("solution-3: 12 of 1000 answers had status 503"),
            "{said}"
        );
        assert!(said.contains("--anew"), "{said}");
        place.anew().unwrap();
    }

    #[test]
    fn a_file_that_is_no_journal_is_left_alone() {
        let place = Place::new();
        for text in ["{}\n", "not JSON\n", "{\"chunk\":{}}\n"] {
            fs::write(place.path(), text).unwrap();
            let said = place.refusal().to_string();
            assert!(said.contains("line 1 of endurance.jsonl"), "{said}");
            assert_eq!(fs::read_to_string(place.path()).unwrap(), text);
        }
    }

    #[test]
    fn two_commands_do_not_write_one_journal() {
        let place = Place::new();
        let _first = place.open().unwrap();
        let said = place.refusal().to_string();
        assert!(said.contains("another command is at this run"), "{said}");
    }
}
