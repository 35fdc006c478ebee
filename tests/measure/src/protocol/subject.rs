//! What is measured: a built service, and how it is named in the results.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use anyhow::Context;

use crate::protocol::front::FrontLaunch;
use crate::protocol::machine;
use crate::protocol::plan::POOL_SIZE;
use crate::protocol::rows::Row;
use workshop_base::files;
use workshop_base::peer;
use workshop_base::target::Language;
use workshop_harness::build::Launch;
use workshop_results::file::Side;
use workshop_results::key::{At, Key, ROUND_TRIPS};

/// A service under measurement.
#[derive(Debug, Clone)]
pub struct Subject {
    /// How it is named in the results.
    pub side: Side,
    /// The language of its process. That of the side is another where a service in Kotlin calls Rust.
    pub runs_as: Language,
    /// How it is started.
    pub launch: Launch,
    /// What is shipped, in bytes: the binary without its symbols, or the jar with what it calls.
    pub size: u64,
    /// `DATABASE_POOL_SIZE`.
    pub pool_size: u16,
    /// A database of its own; none for the one that all sides read from.
    pub database_url: Option<String>,
    /// The path whose first 200 ends its start; none for that of a record.
    pub first_path: Option<String>,
    /// What it is measured at: the size of its pool, where sizes are compared.
    pub at: Option<At>,
    /// What distinguishes it from others of its id, for the progress: ` with a pool of 4`.
    pub detail: String,
    /// Values that are the same in each of its blocks.
    pub constants: BTreeMap<Key, f64>,
    /// What clients reach it through; none where they ask it directly.
    pub front: Option<FrontLaunch>,
    /// False for a state of the port that checks no keys yet.
    pub checks_keys: bool,
    /// The ids of those that it is compared with.
    pub against: Vec<String>,
    /// Its row in `rows.toml`.
    pub row: Row,
}

impl Subject {
    /// A built service under a name of its own.
    pub fn named(id: &str, label: &str, launch: Launch, scratch: &Path) -> anyhow::Result<Self> {
        let runs_as = launch.language;
        let language = launch.calls.map_or(runs_as, |_| Language::Rust);
        let runtime = match language {
            Language::Kotlin => machine::said(&launch.program.to_string_lossy(), &["-version"]),
            Language::Rust => machine::said("rustc", &["--version"]),
            Language::JavaScript | Language::Python => {
                machine::said(&launch.program.to_string_lossy(), &["--version"])
            }
        };
        let size = shipped_size(&launch, scratch)?;
        let side = Side {
            id: id.to_owned(),
            label: label.to_owned(),
            language,
            command: command_line(&launch),
            runtime: runtime.unwrap_or_else(|| "unknown".to_owned()),
            peer: peer::named(&launch.label).is_some(),
        };
        Ok(Subject {
            side,
            runs_as,
            launch,
            size,
            pool_size: POOL_SIZE,
            database_url: None,
            first_path: None,
            at: None,
            detail: String::new(),
            constants: BTreeMap::new(),
            front: None,
            checks_keys: true,
            against: Vec::new(),
            row: Row::default(),
        })
    }

    /// The same service with more flags for the JVM; its size is looked at again.
    pub fn with_flags(&self, flags: &[String], scratch: &Path) -> anyhow::Result<Self> {
        let launch = with_flags(&self.launch, flags);
        Ok(Subject {
            size: shipped_size(&launch, scratch)?,
            side: Side {
                command: command_line(&launch),
                ..self.side.clone()
            },
            launch,
            ..self.clone()
        })
    }

    /// True when the JVM is told how large its heap may be.
    pub fn has_a_set_heap(&self) -> bool {
        let mut arguments = self.launch.args.iter();
        arguments.any(|argument| argument.as_encoded_bytes().starts_with(b"-Xmx"))
    }

    /// The side's id.
    pub fn id(&self) -> &str {
        &self.side.id
    }
}

/// The side above the fraction bar, and the one below it.
pub type Pair = (String, String);

/// The ids of subjects.
pub fn ids(subjects: &[Subject]) -> Vec<String> {
    subjects
        .iter()
        .map(|subject| subject.id().to_owned())
        .collect()
}

/// Who is compared with whom, of these.
pub fn pairs(subjects: &[Subject]) -> Vec<Pair> {
    let pairs = subjects.iter().flat_map(|subject| {
        let against = subject.against.iter();
        against.map(|against| (subject.id().to_owned(), against.clone()))
    });
    pairs.collect()
}

/// Database round trips per read, by side, where they were counted.
pub fn round_trips(subjects: &[Subject]) -> BTreeMap<String, f64> {
    let counted = |subject: &Subject| {
        let count = subject.constants.get(&ROUND_TRIPS).copied();
        Some((subject.id().to_owned(), count?))
    };
    subjects.iter().filter_map(counted).collect()
}

/// A launch with flags for the JVM, which come before its jar.
pub fn with_flags(launch: &Launch, flags: &[String]) -> Launch {
    let mut launch = launch.clone();
    let jar = launch.args.iter().position(|argument| argument == "-jar");
    let place = jar.unwrap_or(launch.args.len());
    let flags = flags.iter().map(OsString::from);
    launch.args.splice(place..place, flags);
    launch
}

/// The command line, variables first, with every path reduced to its last part: what matters is the flags.
fn command_line(launch: &Launch) -> String {
    let last = |text: &str| {
        const AGENT: &str = "-javaagent:";
        let (option, value) = match (text.strip_prefix(AGENT), text.split_once('=')) {
            (Some(jar), _) => (AGENT.to_owned(), jar),
            (None, Some((option, value))) => (format!("{option}="), value),
            (None, None) => (String::new(), text),
        };
        match value.rsplit_once('/') {
            Some((folder, file)) if folder.is_empty() || folder.starts_with('/') => {
                format!("{option}{file}")
            }
            _ => text.to_owned(),
        }
    };
    let variables = launch
        .env
        .iter()
        .map(|(name, value)| last(&format!("{name}={value}")));
    let arguments = launch
        .args
        .iter()
        .map(|argument| last(&argument.to_string_lossy()));
    variables
        .chain([last(&launch.program.to_string_lossy())])
        .chain(arguments)
        .collect::<Vec<_>>()
        .join(" ")
}

/// The size of what is shipped: the binary, or the jar with the parts that it calls.
fn shipped_size(launch: &Launch, scratch: &Path) -> anyhow::Result<u64> {
    let mut shipped = match launch.language {
        Language::Rust => stripped_size(&launch.artifact, scratch)?,
        _ => size(&launch.artifact)?,
    };
    for part in &launch.parts {
        shipped += stripped_size(part, scratch)?;
    }
    Ok(shipped)
}

/// The size of a binary without its symbols, as a release would be; where there is no `strip`, it counts as it is.
fn stripped_size(binary: &Path, scratch: &Path) -> anyhow::Result<u64> {
    if binary.is_dir() {
        return size(binary);
    }
    let stripped = scratch.join("stripped");
    let done = Command::new("strip")
        .arg("-o")
        .arg(&stripped)
        .arg(binary)
        .output();
    let stripped_size = match done {
        Ok(output) if output.status.success() => size(&stripped).ok(),
        _ => None,
    };
    let _ = std::fs::remove_file(&stripped);
    stripped_size.map_or_else(|| size(binary), Ok)
}

/// The size of a file, or of all files of a folder.
fn size(path: &Path) -> anyhow::Result<u64> {
    if path.is_dir() {
        return files::bytes_below(path);
    }
    let metadata =
        std::fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(metadata.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch() -> Launch {
        Launch {
            program: "/opt/jdk/bin/java".into(),
            args: [
                "-Xmx96m",
                "-XX:HeapDumpPath=a/b",
                "-XX:AOTCache=/home/somebody/kotlin.aot",
                "-jar",
                "/home/somebody/kotlin-service.jar",
            ]
            .map(Into::into)
            .into(),
            env: vec![("RECORD_REPOSITORY".to_owned(), "jdbc".to_owned())],
            directory: "/".into(),
            label: "kotlin".to_owned(),
            member: "kotlin".to_owned(),
            limits: workshop_harness::build::LaunchLimits::of(Language::Kotlin),
            language: Language::Kotlin,
            artifact: "/home/somebody/kotlin-service.jar".into(),
            parts: Vec::new(),
            calls: None,
        }
    }

    #[test]
    fn flags_come_before_the_jar() {
        let args = with_flags(&launch(), &["-Xss512k".to_owned()]).args;
        let place = |word: &str| args.iter().position(|argument| argument == word);
        assert_eq!(place("-Xss512k"), Some(3));
        assert_eq!(place("-jar"), Some(4));
    }

    #[test]
    fn the_command_line_shows_flags_but_no_folders() {
        assert_eq!(
            command_line(&launch()),
            "RECORD_REPOSITORY=jdbc java -Xmx96m -XX:HeapDumpPath=a/b -XX:AOTCache=kotlin.aot -jar kotlin-service.jar"
        );
    }
}
