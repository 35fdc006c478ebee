//! The checkpoint of an endurance run: one file, replaced after each chunk. A run that is stopped, killed or loses its power loses the
//! chunk that was under way, and carries on from the last checkpoint.
//!
//! It holds the conditions as well. A run carries on under the same ones only: chunks of two programs or two machines would be judged
//! together. An error ends a run for good, and is kept beside the chunks.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use crate::endurance::chunk::Went;
use workshop_base::files;
use workshop_base::lock::Lock;
use workshop_base::outcome::Trouble;
use workshop_results::file::BlockRecord;

/// The version of the file. Raise it with every change that an older file does not follow.
const VERSION: u32 = 2;
/// The end of the name of what an older version of the course kept.
const OLDER: &str = "jsonl";

/// Under which conditions chunks are taken: a commit, a program, a data set, a machine, by what they are.
pub type Conditions = BTreeMap<String, String>;

/// A run as far as it has come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EnduranceRun {
    version: u32,
    /// When it began, in UTC.
    pub began: String,
    /// Requests in each chunk.
    pub chunk: u64,
    /// Under which conditions.
    pub conditions: Conditions,
    /// Which process of a service answers: 1 for that of the first call, one more for each call that carries on.
    pub segment: u32,
    /// What has ended it for good, if something has.
    pub failed: Option<Failed>,
    /// Its chunks, in the order of time.
    pub blocks: Vec<BlockRecord>,
}

/// What ended a run for good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// The side's id.
    pub side: String,
    /// Why.
    pub reason: String,
}

/// A run and its file. As long as this lives, no other command writes the same file.
#[derive(Debug)]
pub struct Checkpoint {
    path: PathBuf,
    /// What the file holds.
    pub run: EnduranceRun,
    _alone: Lock,
}

impl Checkpoint {
    /// Carries on with the run in this file, or begins one where there is none: at `now`, in chunks of so many requests. `anew` puts
    /// the file that is there aside. A run that was begun under other conditions, or that has failed, is refused.
    pub fn open(
        path: &Path,
        now: &str,
        chunk: u64,
        conditions: &Conditions,
        anew: bool,
    ) -> anyhow::Result<Checkpoint> {
        let alone = Lock::try_take(&path.with_extension("lock"))?.ok_or_else(|| {
            Trouble::new("another command is at this run")
                .expected("one at a time: they would share the cores")
                .next("wait for its end, or stop it with Ctrl-C; what it has measured is kept")
        })?;
        let older = path.with_extension(OLDER);
        if anew {
            put_aside(path, now)?;
            put_aside(&older, now)?;
        }
        if older.exists() {
            return refused(&older, "is from an older version of the course")
                .expected("a run that this version began")
                .err();
        }
        let run = match files::read_if_there(path)? {
            Some(bytes) => carried_on(path, &bytes, conditions)?,
            None => EnduranceRun {
                version: VERSION,
                began: now.to_owned(),
                chunk,
                conditions: conditions.clone(),
                segment: 1,
                failed: None,
                blocks: Vec::new(),
            },
        };
        let checkpoint = Checkpoint {
            path: path.to_owned(),
            run,
            _alone: alone,
        };
        checkpoint.write()?;
        Ok(checkpoint)
    }

    /// Adds how a chunk of a side went; it is on the disk when this returns.
    pub fn add(&mut self, side: &str, went: Went) -> anyhow::Result<()> {
        if let Some(observed) = went.observed {
            let (round, place) = (self.of(side).count() + 1, self.run.blocks.len() + 1);
            let block = observed.record(round, place, side);
            self.run.blocks.push(block);
        }
        self.run.failed = went.wrong.map(|reason| Failed {
            side: side.to_owned(),
            reason,
        });
        self.write()
    }

    /// The chunks of a side, in the order of time.
    pub fn of<'a>(&'a self, side: &'a str) -> impl Iterator<Item = &'a BlockRecord> {
        self.run
            .blocks
            .iter()
            .filter(move |block| block.side == side)
    }

    fn write(&self) -> anyhow::Result<()> {
        files::write_atomically(&self.path, &serde_json::to_vec_pretty(&self.run)?)
    }
}

/// The run that a file holds, with the next segment under way.
fn carried_on(path: &Path, bytes: &[u8], conditions: &Conditions) -> anyhow::Result<EnduranceRun> {
    let read = serde_json::from_slice(bytes).ok();
    let Some(mut run) = read.filter(|run: &EnduranceRun| run.version == VERSION) else {
        return refused(path, "can't be read")
            .expected("the file as this version of the course wrote it")
            .err();
    };
    let differences = differences(&run.conditions, conditions);
    if !differences.is_empty() {
        let began = format!("began under other conditions:\n{}", differences.join("\n"));
        return refused(path, &began)
            .expected("the same for all chunks of a run, since they are judged together")
            .err();
    }
    if let Some(Failed { side, reason }) = &run.failed {
        return refused(path, &format!("has ended: {side}: {reason}"))
            .expected("no error in any chunk; a run with one is no longer a run without")
            .failed()
            .err();
    }
    run.segment += 1;
    Ok(run)
}

/// No run can carry on from this file. Its name is all that people need of its path.
fn refused(path: &Path, why: &str) -> Trouble {
    let name = path.file_name().unwrap_or_default();
    Trouble::new(format!("the run in {} {why}", name.display()))
        .next("the same command with --anew begins another run, and keeps this file beside its own")
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

/// Gives the file that is there, if one is, a name with the time in it.
fn put_aside(path: &Path, now: &str) -> anyhow::Result<()> {
    if !path.exists() {
        return Ok(());
    }
    let [stem, end] = [path.file_stem(), path.extension()].map(Option::unwrap_or_default);
    let (stem, end, now) = (stem.display(), end.display(), now.replace(':', ""));
    let aside = path.with_file_name(format!("{stem}-until-{now}.{end}"));
    fs::rename(path, &aside).with_context(|| format!("cannot make {}", aside.display()))
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::endurance::chunk::SEGMENT;
    use workshop_measure::protocol::block::Observed;

    struct CheckpointFile {
        folder: TempDir,
        conditions: Conditions,
    }

    impl CheckpointFile {
        fn new() -> Self {
            let conditions = [
                ("commit", "abc"),
                ("machine", "A machine, 2 cores"),
                ("data set", "small, fingerprint 1"),
                ("program solution-3", "solution-3, sha256 1"),
            ];
            let conditions = conditions.map(|(name, value)| (name.to_owned(), value.to_owned()));
            CheckpointFile {
                folder: tempfile::tempdir().unwrap(),
                conditions: conditions.into(),
            }
        }

        fn path(&self) -> PathBuf {
            self.folder.path().join("endurance.checkpoint")
        }

        fn open(&self) -> anyhow::Result<Checkpoint> {
            let now = "2025-11-21T09:30:00Z";
            Checkpoint::open(&self.path(), now, 1000, &self.conditions, false)
        }

        fn anew(&self) -> anyhow::Result<Checkpoint> {
            let now = "2025-11-21T10:30:00Z";
            Checkpoint::open(&self.path(), now, 1000, &self.conditions, true)
        }

        fn refusal(&self) -> Trouble {
            let error = self.open().expect_err("a refusal");
            error.downcast().expect("words for people")
        }
    }

    fn chunk(segment: u32) -> Went {
        let mut observed = Observed::default();
        observed.value(SEGMENT, Some(f64::from(segment)));
        observed.value("throughput", Some(4000.5));
        Went {
            observed: Some(observed),
            wrong: None,
        }
    }

    /// The chunk of a segment that has the only service's next round.
    fn block(round: usize, segment: u32) -> BlockRecord {
        let observed = chunk(segment).observed.unwrap();
        observed.record(round, round, "solution-3")
    }

    #[test]
    fn a_run_carries_on_where_it_stopped_in_a_segment_of_its_own() {
        let place = CheckpointFile::new();
        let mut checkpoint = place.open().unwrap();
        assert_eq!(checkpoint.run.segment, 1);
        checkpoint.add("solution-3", chunk(1)).unwrap();
        drop(checkpoint);
        let mut checkpoint = place.open().unwrap();
        assert_eq!(checkpoint.run.blocks, [block(1, 1)]);
        assert_eq!(checkpoint.run.segment, 2);
        checkpoint.add("solution-3", chunk(2)).unwrap();
        drop(checkpoint);
        let checkpoint = place.open().unwrap();
        assert_eq!(checkpoint.run.blocks, [block(1, 1), block(2, 2)]);
        assert_eq!(checkpoint.of("solution-3").count(), 2);
        assert_eq!(checkpoint.of("kotlin").count(), 0);
    }

    #[test]
    fn a_size_of_chunks_stays_that_of_the_beginning() {
        let place = CheckpointFile::new();
        drop(place.open().unwrap());
        let now = "2025-11-22T09:30:00Z";
        let checkpoint = Checkpoint::open(&place.path(), now, 5, &place.conditions, false).unwrap();
        assert_eq!(checkpoint.run.chunk, 1000);
        assert_eq!(checkpoint.run.began, "2025-11-21T09:30:00Z");
    }

    #[test]
    fn what_a_kill_leaves_beside_the_file_costs_no_chunk_that_is_in_it() {
        let place = CheckpointFile::new();
        let mut checkpoint = place.open().unwrap();
        checkpoint.add("solution-3", chunk(1)).unwrap();
        drop(checkpoint);
        let whole = fs::read(place.path()).unwrap();
        let beside = "endurance.checkpoint.1-.workshop-unfinished";
        fs::write(place.folder.path().join(beside), &whole[..whole.len() / 2]).unwrap();
        let mut checkpoint = place.open().unwrap();
        assert_eq!(checkpoint.run.blocks, [block(1, 1)]);
        checkpoint.add("solution-3", chunk(2)).unwrap();
        drop(checkpoint);
        let checkpoint = place.open().unwrap();
        assert_eq!(checkpoint.run.blocks, [block(1, 1), block(2, 2)]);
    }

    #[test]
    fn a_run_of_an_older_version_is_refused_until_it_is_put_aside() {
        let place = CheckpointFile::new();
        let older = place.folder.path().join("endurance.jsonl");
        fs::write(&older, "{}\n").unwrap();
        let said = place.refusal().to_string();
        assert!(said.contains("endurance.jsonl is from an older"), "{said}");
        assert!(said.contains("--anew"), "{said}");
        assert!(older.exists() && !place.path().exists());
        place.anew().unwrap();
        let aside = older.with_file_name("endurance-until-2025-11-21T103000Z.jsonl");
        assert_eq!(fs::read_to_string(aside).unwrap(), "{}\n");
        place.open().unwrap();
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
            let mut place = CheckpointFile::new();
            let mut checkpoint = place.open().unwrap();
            checkpoint.add("solution-3", chunk(1)).unwrap();
            drop(checkpoint);
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
    fn anew_begins_another_run_and_keeps_the_checkpoint_of_the_one_before() {
        let mut place = CheckpointFile::new();
        let mut checkpoint = place.open().unwrap();
        checkpoint.add("solution-3", chunk(1)).unwrap();
        drop(checkpoint);
        let before = fs::read(place.path()).unwrap();
        place
            .conditions
            .insert("commit".to_owned(), "def".to_owned());
        let checkpoint = place.anew().unwrap();
        assert!(checkpoint.run.blocks.is_empty() && checkpoint.run.segment == 1);
        let aside = place
            .folder
            .path()
            .join("endurance-until-2025-11-21T103000Z.checkpoint");
        assert_eq!(fs::read(aside).unwrap(), before);
    }

    #[test]
    fn an_error_ends_a_run_for_good() {
        use workshop_base::outcome::Outcome;
        let place = CheckpointFile::new();
        let mut checkpoint = place.open().unwrap();
        let wrong = "12 of 1000 answers had status 503, not 200".to_owned();
        let went = Went {
            wrong: Some(wrong),
            ..chunk(1)
        };
        checkpoint.add("solution-3", went).unwrap();
        assert_eq!(checkpoint.run.blocks, [block(1, 1)]);
        drop(checkpoint);
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
    fn a_file_that_is_no_checkpoint_is_left_alone() {
        let place = CheckpointFile::new();
        for text in ["", "{}\n", "not JSON\n", "{\"version\":2}\n"] {
            fs::write(place.path(), text).unwrap();
            let said = place.refusal().to_string();
            assert!(
                said.contains("endurance.checkpoint can't be read"),
                "{said}"
            );
            assert_eq!(fs::read_to_string(place.path()).unwrap(), text);
        }
    }

    #[test]
    fn two_commands_do_not_write_one_checkpoint() {
        let place = CheckpointFile::new();
        let _first = place.open().unwrap();
        let said = place.refusal().to_string();
        assert!(said.contains("another command is at this run"), "{said}");
    }
}
