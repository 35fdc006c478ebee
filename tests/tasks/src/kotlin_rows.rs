//! What the set-ups of the Kotlin service need that is found out first: a heap of the right size, and what an earlier run noted
//! for the start.

use std::path::{Path, PathBuf};
use std::time::Duration;

use workshop_base::outcome::Trouble;
use workshop_base::process;
use workshop_harness::jdk;
use workshop_harness::service::Stopped;
use workshop_measure::protocol::block;
use workshop_measure::protocol::session::Session;
use workshop_measure::protocol::subject::{Subject, with_flags};
use workshop_measure::tools::oha::Load;

/// How long a JVM is under load while it notes what a start needs.
const TRAINING: Duration = Duration::from_secs(2);
/// How long a JVM may take to write down what it noted.
const WRITING: Duration = Duration::from_secs(120);
/// The cores up to which a collector that stops everything wastes nothing: there is hardly one to spare for another.
const CORES_FOR_SERIAL: usize = 2;

/// Completes the rows whose start depends on what was found: a heap of the right size, and what an earlier run noted.
pub async fn set_up(
    session: &Session<'_>,
    subjects: &mut [Subject],
    heap_mb: Option<u32>,
    scratch: &Path,
) -> anyhow::Result<()> {
    for subject in subjects {
        if subject.row.heap {
            let flags = heap_flags(heap_mb);
            *subject = subject.with_flags(&flags, scratch)?;
        }
        if subject.row.trained {
            *subject = trained(session, subject, scratch).await?;
        }
    }
    Ok(())
}

/// The flags of a heap of this size.
pub fn heap_flags(heap_mb: Option<u32>) -> Vec<String> {
    let serial = (process::cores() <= CORES_FOR_SERIAL).then(|| "-XX:+UseSerialGC".to_owned());
    let size = heap_mb.map(|heap_mb| format!("-Xmx{heap_mb}m"));
    serial
        .into_iter()
        .chain(size)
        .chain(["-XX:+ExitOnOutOfMemoryError".to_owned()])
        .collect()
}

/// Lets a JVM note, under a short load, which classes a start needs, and starts the subject with the notes.
async fn trained(
    session: &Session<'_>,
    subject: &Subject,
    scratch: &Path,
) -> anyhow::Result<Subject> {
    let part = format!("{} notes what a start needs", subject.id());
    session.progress.part(&part);
    let notes = Notes::of(
        jdk::find(jdk::OLDEST, jdk::KOTLIN)?.feature(),
        scratch.join(subject.id()),
    );
    let mut training = subject.clone();
    training.launch = with_flags(&subject.launch, &[notes.write]);
    training.launch.limits.stop = WRITING;
    let started = block::start(session, &training).await?;
    let order = session.order(&session.records(), &started.service, TRAINING, Load::Closed);
    session.oha.run(&order).await?;
    let stopped = started.stop().await?;
    let size = std::fs::metadata(&notes.file).map(|file| file.len());
    let (Stopped::Gracefully, Ok(size)) = (stopped, size) else {
        return Err(Trouble::new(format!(
            "the JVM left no notes of its start in {}",
            notes.file.display()
        ))
        .expected("a JDK 25 with its AOT cache, or an older one with class data sharing")
        .next("just doctor")
        .into());
    };
    let mut tuned = subject.with_flags(&[notes.read], scratch)?;
    // The notes are shipped beside the jar.
    tuned.size += size;
    Ok(tuned)
}

/// What a JVM notes of one start for the next: from JDK 25 on classes, links and profiles, before that classes only.
#[derive(Debug, PartialEq, Eq)]
struct Notes {
    file: PathBuf,
    /// The flags with which it writes them, and reads them.
    write: String,
    read: String,
}

impl Notes {
    /// The first JDK that writes its AOT cache in one step.
    const AOT_CACHE: u32 = 25;

    fn of(jdk: u32, file: PathBuf) -> Notes {
        let (ending, write, read) = if jdk >= Notes::AOT_CACHE {
            ("aot", "-XX:AOTCacheOutput", "-XX:AOTCache")
        } else {
            ("jsa", "-XX:ArchiveClassesAtExit", "-XX:SharedArchiveFile")
        };
        let file = file.with_extension(ending);
        let flag = |name: &str| format!("{name}={}", file.display());
        Notes {
            write: flag(write),
            read: flag(read),
            file,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_jdk_notes_classes_only() {
        let new = Notes::of(25, "/tmp/kotlin".into());
        assert_eq!(new.write, "-XX:AOTCacheOutput=/tmp/kotlin.aot");
        assert_eq!(new.read, "-XX:AOTCache=/tmp/kotlin.aot");
        let old = Notes::of(21, "/tmp/kotlin".into());
        assert_eq!(old.read, "-XX:SharedArchiveFile=/tmp/kotlin.jsa");
    }

    #[test]
    fn a_heap_that_was_not_found_is_left_to_the_jvm() {
        assert!(heap_flags(Some(48)).contains(&"-Xmx48m".to_owned()));
        assert!(!heap_flags(None).iter().any(|flag| flag.starts_with("-Xmx")));
    }
}
