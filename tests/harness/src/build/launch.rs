//! What is built, what comes out, and why nothing may come out.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use workshop_base::calls::Calls;
use workshop_base::exercise::Exercise;
use workshop_base::target::{Language, Target};
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// The program to run.
    pub program: PathBuf,
    pub args: Vec<OsString>,
    /// Environment variables besides the service's settings.
    pub env: Vec<(String, String)>,
    /// The folder to run it in.
    pub directory: PathBuf,
    pub label: String,
    /// The package that it is compiled as.
    pub member: String,
    /// What it is written in.
    pub language: Language,
    /// What is shipped: the binary, the jar, or a folder.
    pub artifact: PathBuf,
    /// What is shipped beside it: first the program, the module or the library that the Kotlin service calls, then what that needs.
    pub parts: Vec<PathBuf>,
    /// How the Kotlin service calls the crate; `None` where the crate is the service, or there is none.
    pub calls: Option<Calls>,
    /// How long it may take to start and to stop.
    pub limits: LaunchLimits,
}

impl Launch {
    /// The launch of what is a program by itself. `artifact` is that program, or what a JVM runs.
    pub fn of(language: Language, label: &str, directory: &Path, artifact: PathBuf) -> Launch {
        Launch {
            program: artifact.clone(),
            args: Vec::new(),
            env: Vec::new(),
            directory: directory.to_owned(),
            label: label.to_owned(),
            member: label.to_owned(),
            language,
            artifact,
            parts: Vec::new(),
            calls: None,
            limits: LaunchLimits::of(language),
        }
    }
}

/// How long a service is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaunchLimits {
    /// From its spawn to its first answer.
    pub start: Duration,
    /// From SIGTERM to its end; after that it is killed.
    pub stop: Duration,
}

impl LaunchLimits {
    /// The limits for services in this language. A JVM on a small computer with a slow card may need more than its own:
    /// `WORKSHOP_START_LIMIT` (seconds) says how long.
    pub fn of(language: Language) -> Self {
        let usual = match language {
            Language::Kotlin => 90,
            Language::Rust | Language::JavaScript | Language::Python => 20,
        };
        let wanted = std::env::var("WORKSHOP_START_LIMIT")
            .ok()
            .and_then(|seconds| seconds.parse().ok());
        LaunchLimits {
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
        label: String,
        /// The compiler's errors, each once, in the order they came.
        errors: Vec<CompilerError>,
    },
    /// The build could not run or is not the learner's to fix.
    #[error(transparent)]
    CouldNotBuild(#[from] anyhow::Error),
}

/// An error of the compiler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompilerError {
    /// Its code, as in `E0277`; `error` where it has none, `kotlin` where it is the Kotlin compiler's.
    pub code: String,
    /// Its message, and below it the labels and notes that came with it, its place, and the line at fault.
    pub said: String,
    /// Its file, and the function in it: `src/read.rs, fn read`. Empty where the compiler names none.
    pub place: String,
}

/// A crate to build: a member of the workspace, other sources in the place of a member, or a copy that is a workspace of its own.
#[derive(Debug, Clone)]
pub struct Crate {
    /// The folder of its `Cargo.toml`.
    pub folder: PathBuf,
    /// The package's name, which is the binary's as well.
    pub package: String,
    /// The member whose place its sources take, if they do: they are compiled as that member is.
    pub in_place_of: Option<String>,
    /// Whether it is a workspace of its own, of which nothing is known beforehand.
    pub is_alone: bool,
    /// Whether the compiler's words are only kept, not shown: a planted mistake is no news to anybody.
    pub is_planted: bool,
}

impl Crate {
    /// The package in this folder, which is the binary's name as well.
    pub fn new(folder: PathBuf, package: impl Into<String>) -> Crate {
        Crate {
            folder,
            package: package.into(),
            in_place_of: None,
            is_alone: false,
            is_planted: false,
        }
    }

    /// The learner's crate of an exercise, or the reference.
    pub fn of(workspace: &Workspace, exercise: &Exercise, target: Target) -> Crate {
        let folder = match target {
            Target::Exercise(_) => exercise.starter(workspace),
            _ => exercise.solution(workspace),
        };
        Crate::new(folder, target.to_string())
    }

    /// The package that it is compiled as.
    pub fn member(&self) -> &str {
        self.in_place_of.as_deref().unwrap_or(&self.package)
    }
}

/// The file beside a crate's `Cargo.toml` that says how its release is built.
pub const RELEASE_PROFILE: &str = "profile.toml";
