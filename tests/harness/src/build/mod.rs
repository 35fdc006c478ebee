//! Building a target: cargo for Rust, Maven for Kotlin; what comes out is a launch that can be started.

pub mod copies;
pub mod glue;
pub mod image;
pub mod jdk;
pub mod wasm;

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::nginx;
use jdk::Jdk;
use workshop_base::exercise::Calls;
use workshop_base::exercise::Catalogue;
use workshop_base::outcome::Trouble;
use workshop_base::target::{Language, Target};
use workshop_base::terminal;
use workshop_base::workspace::Workspace;

/// What a target is built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// Quick to build and quick to start: cargo's `dev`, a JVM that compiles little.
    Check,
    /// As it would be shipped: cargo's `release`, the JVM's own defaults.
    Measure,
}

/// A built target, ready to be started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// The program to run.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Environment variables besides the service's settings.
    pub env: Vec<(String, String)>,
    /// The folder to run it in.
    pub directory: PathBuf,
    /// The target's name.
    pub label: String,
    /// What it is written in.
    pub language: Language,
    /// The file that is shipped: the binary, or the jar.
    pub artifact: PathBuf,
    /// What is shipped beside it: first the program, the module or the library that the Kotlin service calls, then what that needs.
    pub parts: Vec<PathBuf>,
    /// How the Kotlin service calls the crate; `None` where the crate is the service, or there is none.
    pub calls: Option<Calls>,
    /// How long it may take to start and to stop.
    pub limits: Limits,
}

/// How long a service is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// From its spawn to its first answer.
    pub start: Duration,
    /// From SIGTERM to its end; after that it is killed.
    pub stop: Duration,
}

impl Limits {
    /// The limits for services in this language. A JVM on a small computer with a slow card may need more than its own:
    /// `WORKSHOP_START_LIMIT` (seconds) says how long.
    pub fn of(language: Language) -> Self {
        let usual = match language {
            Language::Kotlin => 90,
            Language::Rust => 20,
        };
        let wanted = std::env::var("WORKSHOP_START_LIMIT")
            .ok()
            .and_then(|seconds| seconds.parse().ok());
        Limits {
            start: Duration::from_secs(wanted.unwrap_or(usual)),
            stop: Duration::from_secs(10),
        }
    }
}

/// Why there is nothing to start.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The crate does not compile; the compiler's own words are already on the terminal.
    #[error("{label} does not compile")]
    DoesNotCompile {
        /// The target.
        label: String,
        /// The compiler's errors, each once, in the order they came.
        errors: Vec<CompilerError>,
    },
    /// The build could not run or is not the learner's to mend.
    #[error(transparent)]
    CouldNotBuild(#[from] anyhow::Error),
}

/// An error of the compiler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompilerError {
    /// Its code, as in `E0277`; `error` where it has none, `kotlin` where it is the Kotlin compiler's.
    pub code: String,
    /// Its message, and below it the labels and notes that came with it.
    pub said: String,
}

/// Builds a target, printing what the compiler prints.
///
/// # Errors
/// See [`BuildError`].
pub async fn build(
    workspace: &Workspace,
    target: Target,
    profile: Profile,
) -> Result<Launch, BuildError> {
    match target {
        Target::Kotlin => Ok(kotlin(workspace, profile)?),
        Target::Exercise(number) | Target::Solution(number) => {
            let catalogue = Catalogue::read(workspace)?;
            let exercise = catalogue.get(number)?;
            if !exercise.is_crate() {
                let trouble =
                    Trouble::new(format!("{target} is no service: there is nothing to build"));
                return Err(BuildError::CouldNotBuild(
                    trouble.next(format!("just check {target}")).into(),
                ));
            }
            let folder = match target {
                Target::Exercise(_) => exercise.starter(workspace),
                _ => exercise.solution(workspace),
            };
            let krate = Crate {
                folder,
                package: target.to_string(),
            };
            launch(workspace, exercise.calls(), &krate, profile)
        }
    }
}

/// Builds the service that a crate is, or the Kotlin service that calls it.
///
/// # Errors
/// See [`BuildError`].
pub fn launch(
    workspace: &Workspace,
    calls: Option<Calls>,
    krate: &Crate,
    profile: Profile,
) -> Result<Launch, BuildError> {
    match calls {
        None => {
            if krate.folder.join(nginx::FOLDER).is_dir() {
                // Found now, the lack costs nobody a build.
                nginx::Program::find().map_err(|lack| anyhow::Error::new(Trouble::from(lack)))?;
            }
            cargo(workspace, krate, profile)
        }
        Some(calls) => glue::build(workspace, calls, krate, profile),
    }
}

/// A crate to build: a member of the workspace, or a copy that is a workspace of its own.
#[derive(Debug, Clone)]
pub struct Crate {
    /// The folder of its `Cargo.toml`.
    pub folder: PathBuf,
    /// The package's name, which is the binary's as well.
    pub package: String,
}

/// The file beside a crate's `Cargo.toml` that says how its release is built.
pub const RELEASE_PROFILE: &str = "profile.toml";

/// Builds a crate into the one target directory.
///
/// # Errors
/// See [`BuildError`].
pub fn cargo(workspace: &Workspace, krate: &Crate, profile: Profile) -> Result<Launch, BuildError> {
    let program = artifact(workspace, krate, profile, &["--bin", &krate.package])?;
    Ok(Launch {
        artifact: program.clone(),
        program,
        args: Vec::new(),
        env: Vec::new(),
        directory: krate.folder.clone(),
        label: krate.package.clone(),
        language: Language::Rust,
        limits: Limits::of(Language::Rust),
        parts: Vec::new(),
        calls: None,
    })
}

/// What cargo makes of one target of a crate: a program, or a library that other languages can load.
///
/// # Errors
/// See [`BuildError`].
pub(super) fn artifact(
    workspace: &Workspace,
    krate: &Crate,
    profile: Profile,
    target: &[&str],
) -> Result<PathBuf, BuildError> {
    made_by(cargo_command(), workspace, krate, profile, target)
}

/// As [`artifact`], by a cargo of one's own.
///
/// # Errors
/// See [`BuildError`].
pub(super) fn made_by(
    mut command: Command,
    workspace: &Workspace,
    krate: &Crate,
    profile: Profile,
    target: &[&str],
) -> Result<PathBuf, BuildError> {
    let rendered = if terminal::colour() {
        "json-diagnostic-rendered-ansi"
    } else {
        "json"
    };
    command
        .args(["build", "--package", &krate.package])
        .args(target)
        .arg("--manifest-path")
        .arg(krate.folder.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(workspace.cargo_target())
        .args(["--message-format", rendered])
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    if profile == Profile::Measure {
        command.arg("--release");
        // How the crate wants to be built for shipping, on top of cargo's own profile.
        let shipped = krate.folder.join(RELEASE_PROFILE);
        if shipped.is_file() {
            command.arg("--config").arg(shipped);
        }
    }
    if krate.folder.starts_with(workspace.state()) {
        // A copy takes the workspace's profiles with it, and cargo names each package in them that it has no use for.
        command.arg("--quiet");
    }
    let mut child = command
        .spawn()
        .context("cargo cannot be run; is Rust installed? next: just doctor")?;
    let stdout = child.stdout.take().context("cargo gave no output")?;
    let mut told = CompilerOutput::default();
    for line in BufReader::new(stdout).lines() {
        told.take(&line.context("cannot read what cargo prints")?);
    }
    let status = child.wait().context("cannot wait for cargo")?;
    match told.artifact {
        Some(artifact) if status.success() => Ok(artifact),
        _ if !told.errors.is_empty() => Err(BuildError::DoesNotCompile {
            label: krate.package.clone(),
            errors: told.errors,
        }),
        _ => {
            let trouble =
                Trouble::new(format!("cargo could not build {}: {status}", krate.package))
                    .expected("a program or a library; what cargo said stands above")
                    .next("just doctor");
            Err(BuildError::CouldNotBuild(trouble.into()))
        }
    }
}

/// Cargo, the one that runs this tool if there is one.
pub fn cargo_command() -> Command {
    cargo_at(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// A cargo, without the variables that an outer `cargo run` sets for the package it runs: they are not this build's.
pub(super) fn cargo_at(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if [
            "CARGO_PKG_",
            "CARGO_MANIFEST_",
            "CARGO_BIN_",
            "CARGO_CRATE_",
        ]
        .iter()
        .any(|outer| text.starts_with(outer))
        {
            command.env_remove(&name);
        }
    }
    command
}

/// What cargo's JSON lines say: the compiler's words are passed on untouched, its errors and the binary are kept.
#[derive(Debug, Default)]
struct CompilerOutput {
    artifact: Option<PathBuf>,
    errors: Vec<CompilerError>,
}

#[derive(Deserialize)]
struct CargoLine {
    reason: String,
    message: Option<Diagnostic>,
    executable: Option<PathBuf>,
    target: Option<CargoTarget>,
    #[serde(default)]
    filenames: Vec<PathBuf>,
}

#[derive(Deserialize)]
struct CargoTarget {
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Diagnostic {
    level: String,
    message: String,
    rendered: Option<String>,
    code: Option<Code>,
    #[serde(default)]
    spans: Vec<Span>,
    #[serde(default)]
    children: Vec<Diagnostic>,
}

#[derive(Deserialize)]
struct Span {
    label: Option<String>,
}

#[derive(Deserialize)]
struct Code {
    code: String,
}

impl CompilerOutput {
    fn take(&mut self, line: &str) {
        // Build scripts may print anything; only cargo's own lines are of interest.
        let Ok(line) = serde_json::from_str::<CargoLine>(line) else {
            return;
        };
        if line.reason == "compiler-artifact" {
            // Of the crates that are built only the one that was asked for is a library for other languages.
            let of_cdylib = |target: &CargoTarget| target.kind.iter().any(|kind| kind == "cdylib");
            let library = line.target.as_ref().filter(|target| of_cdylib(target));
            let library = library.and_then(|_| line.filenames.into_iter().next());
            self.artifact = line.executable.or(library).or(self.artifact.take());
        }
        let Some(message) = line.message else { return };
        if let Some(rendered) = &message.rendered {
            eprint!("{rendered}");
        }
        // At the end it says how many there were.
        if message.level.starts_with("error") && !message.message.starts_with("aborting due to") {
            let error = CompilerError::from(message);
            if !self.errors.contains(&error) {
                self.errors.push(error);
            }
        }
    }
}

impl From<Diagnostic> for CompilerError {
    fn from(diagnostic: Diagnostic) -> Self {
        let labels = diagnostic.spans.into_iter().filter_map(|span| span.label);
        let notes = diagnostic.children.into_iter().map(|note| note.message);
        let lines: Vec<String> = std::iter::once(diagnostic.message)
            .chain(labels)
            .chain(notes)
            .collect();
        CompilerError {
            code: diagnostic
                .code
                .map_or_else(|| "error".to_owned(), |code| code.code),
            said: lines.join("\n"),
        }
    }
}

fn kotlin(workspace: &Workspace, profile: Profile) -> anyhow::Result<Launch> {
    let jdk = jdk::find()?;
    let jar = kotlin_service(workspace, &jdk)?;
    let mut args = jvm_options(&jdk, profile);
    args.extend(["-jar".into(), jar.clone().into_os_string()]);
    Ok(Launch {
        program: jdk.java(),
        args,
        env: Vec::new(),
        directory: workspace.kotlin_service(),
        label: Target::Kotlin.to_string(),
        language: Language::Kotlin,
        limits: Limits::of(Language::Kotlin),
        artifact: jar,
        parts: Vec::new(),
        calls: None,
    })
}

/// The Kotlin service's jar, built unless the one that is there was built from the same sources.
///
/// # Errors
/// When Maven cannot build it.
pub(super) fn kotlin_service(workspace: &Workspace, jdk: &Jdk) -> anyhow::Result<PathBuf> {
    let project = workspace.kotlin_service();
    let jar = project.join("target/kotlin-service.jar");
    fs::create_dir_all(project.join("target"))?;
    let lock = File::create(project.join("target/workshop.lock"))
        .context("cannot write to the Maven project")?;
    lock.lock().context("cannot lock the Maven project")?;
    let stamp = stamp_of(&jar);
    let sources = fingerprint(&[project.join("pom.xml"), project.join("src/main")])?;
    if !jar.is_file() || fs::read_to_string(&stamp).ok().as_deref() != Some(&sources) {
        maven_package(&project, &jdk.home)?;
        fs::write(&stamp, &sources)?;
    }
    Ok(jar)
}

/// The file beside the jar that says from which sources it was built.
pub(super) fn stamp_of(jar: &Path) -> PathBuf {
    jar.with_file_name("workshop.stamp")
}

/// What the JVM is told besides what to run.
pub(super) fn jvm_options(jdk: &Jdk, profile: Profile) -> Vec<OsString> {
    let mut options: Vec<OsString> = Vec::new();
    if profile == Profile::Check {
        options.extend(["-XX:TieredStopAtLevel=1".into(), "-XX:+UseSerialGC".into()]);
    }
    if jdk.feature() >= 22 {
        // Netty loads native code; from JDK 24 on the JVM warns on standard error unless this is said.
        options.push("--enable-native-access=ALL-UNNAMED".into());
    }
    options
}

fn maven_package(project: &Path, java_home: &Path) -> anyhow::Result<()> {
    eprintln!(
        "building the Kotlin service with Maven (the first time it also brings its libraries) …"
    );
    let output = maven(project, java_home, &["-DskipTests", "package"])?;
    if !output.status.success() {
        std::io::stderr().write_all(&output.stdout)?;
        std::io::stderr().write_all(&output.stderr)?;
        let trouble = Trouble::new("Maven could not build the Kotlin service; its words stand above")
            .expected("exercises/kotlin-service as it came with the course, and libraries that can be brought")
            .next("git status exercises/kotlin-service; just doctor");
        return Err(trouble.into());
    }
    Ok(())
}

/// Runs Maven in a project and hands over what it printed.
pub(super) fn maven(
    project: &Path,
    java_home: &Path,
    args: &[&str],
) -> Result<std::process::Output, Trouble> {
    Command::new("mvn")
        .args(["--batch-mode", "--quiet"])
        .args(args)
        .current_dir(project)
        .env("JAVA_HOME", java_home)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| {
            Trouble::new(format!("Maven cannot be run: {error}"))
                .expected("mvn 3.8 or newer on PATH")
                .next("just doctor")
        })
}

/// A hash over the names and contents of all files below these paths.
fn fingerprint(paths: &[PathBuf]) -> anyhow::Result<String> {
    let mut files = Vec::new();
    for path in paths {
        collect_files(path, &mut files)?;
    }
    files.sort();
    let mut hash = Sha256::new();
    for file in files {
        hash.update(file.as_os_str().as_encoded_bytes());
        hash.update(fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?);
    }
    Ok(hexadecimal(hash))
}

/// The hash in the usual writing.
pub(super) fn hexadecimal(hash: Sha256) -> String {
    hash.finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn collect_files(path: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    if path.is_dir() {
        for entry in
            fs::read_dir(path).with_context(|| format!("cannot list {}", path.display()))?
        {
            collect_files(&entry?.path(), files)?;
        }
    } else {
        files.push(path.to_path_buf());
    }
    Ok(())
}
