//! The set-ups of the Kotlin service: as shipped, with a heap of the right size, with a tuned start, with raw JDBC. Each adds
//! something to the one before it, so the last one is what a team that cares would run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::protocol::block;
use crate::protocol::session::{Session, order};
use crate::protocol::subject::Subject;
use crate::tools::oha::Load;
use workshop_base::outcome::Trouble;
use workshop_base::process;
use workshop_harness::build::Launch;
use workshop_harness::jdk;
use workshop_harness::service::Stopped;

/// How long a JVM is under load while it notes what a start needs.
const TRAINING: Duration = Duration::from_secs(2);
/// How long a JVM may take to write down what it noted.
const WRITING: Duration = Duration::from_secs(120);
/// The cores up to which a collector that stops everything wastes nothing: there is hardly one to spare for another.
const CORES_FOR_SERIAL: usize = 2;

/// The Kotlin service with a heap of this size, and with the collector for it.
pub fn right_sized(
    shipped: &Subject,
    heap_mb: Option<u32>,
    scratch: &Path,
) -> anyhow::Result<Subject> {
    let launch = with_flags(&shipped.launch, &heap_flags(heap_mb));
    Subject::named("kotlin-right-sized", "Kotlin right-sized", launch, scratch)
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

/// The same with what an earlier run noted for its start.
pub async fn start_up_tuned(
    session: &Session<'_>,
    sized: &Subject,
    scratch: &Path,
) -> anyhow::Result<Subject> {
    let label = "Kotlin start-up tuned";
    trained(session, sized, "kotlin-start-up", label, scratch).await
}

/// The same again, reading by JDBC itself, without Exposed and without a transaction around the read.
pub async fn raw_jdbc(
    session: &Session<'_>,
    sized: &Subject,
    scratch: &Path,
) -> anyhow::Result<Subject> {
    let mut raw = sized.clone();
    let variable = ("RECORD_REPOSITORY".to_owned(), "jdbc".to_owned());
    raw.launch.env.push(variable);
    trained(session, &raw, "kotlin-jdbc", "Kotlin raw JDBC", scratch).await
}

/// Lets a JVM note, under a short load, which classes a start needs, and gives the notes to a subject of this name.
async fn trained(
    session: &Session<'_>,
    subject: &Subject,
    id: &str,
    label: &str,
    scratch: &Path,
) -> anyhow::Result<Subject> {
    let notes = Notes::of(jdk::find()?.feature(), scratch.join(id));
    let mut training = subject.clone();
    training.launch = with_flags(&subject.launch, &[notes.write()]);
    training.launch.limits.stop = WRITING;
    let started = block::start(session, &training).await?;
    let order = order(&session.records(), &started.service, TRAINING, Load::Closed);
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
    let launch = with_flags(&subject.launch, &[notes.read()]);
    let tuned = Subject::named(id, label, launch, scratch)?;
    // The notes are shipped beside the jar.
    Ok(Subject {
        size: tuned.size + size,
        ..tuned
    })
}

/// What a JVM notes of one start for the next: from JDK 25 on classes, links and profiles, before that classes only.
#[derive(Debug, PartialEq, Eq)]
struct Notes {
    file: PathBuf,
    write: &'static str,
    read: &'static str,
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
        Notes { file, write, read }
    }

    fn write(&self) -> String {
        format!("{}={}", self.write, self.file.display())
    }

    fn read(&self) -> String {
        format!("{}={}", self.read, self.file.display())
    }
}

/// The launch with flags for the JVM, which stand before its jar.
pub fn with_flags(launch: &Launch, flags: &[String]) -> Launch {
    let mut launch = launch.clone();
    let jar = launch.args.iter().position(|argument| argument == "-jar");
    let place = jar.unwrap_or(launch.args.len());
    let flags = flags.iter().map(OsString::from);
    launch.args.splice(place..place, flags);
    launch
}

#[cfg(test)]
mod tests {
    use super::*;
    use workshop_base::target::Language;
    use workshop_harness::build::Limits;

    #[test]
    fn flags_stand_before_the_jar() {
        let launch = Launch {
            program: "java".into(),
            args: ["--enable-native-access=ALL-UNNAMED", "-jar", "service.jar"]
                .map(Into::into)
                .into(),
            env: Vec::new(),
            directory: "/".into(),
            label: "kotlin".to_owned(),
            limits: Limits::of(Language::Kotlin),
            language: Language::Kotlin,
            artifact: "service.jar".into(),
            parts: Vec::new(),
            calls: None,
        };
        let flags = ["-Xmx48m".to_owned(), "-Xss512k".to_owned()];
        assert_eq!(
            with_flags(&launch, &flags).args,
            [
                "--enable-native-access=ALL-UNNAMED",
                "-Xmx48m",
                "-Xss512k",
                "-jar",
                "service.jar"
            ]
        );
    }

    #[test]
    fn an_older_jdk_notes_classes_only() {
        let new = Notes::of(25, "/tmp/kotlin".into());
        assert_eq!(new.write(), "-XX:AOTCacheOutput=/tmp/kotlin.aot");
        assert_eq!(new.read(), "-XX:AOTCache=/tmp/kotlin.aot");
        let old = Notes::of(21, "/tmp/kotlin".into());
        assert_eq!(old.read(), "-XX:SharedArchiveFile=/tmp/kotlin.jsa");
    }

    #[test]
    fn a_heap_that_was_not_found_is_left_to_the_jvm() {
        assert!(heap_flags(Some(48)).contains(&"-Xmx48m".to_owned()));
        assert!(!heap_flags(None).iter().any(|flag| flag.starts_with("-Xmx")));
    }
}
