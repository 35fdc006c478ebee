//! What can be said of a service's source beside what the service does: clippy's remarks, the facts that a parser finds, and how its own
//! unit tests end. Exercise 9 is judged by all three.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context;
use serde_json::Value;
use workshop_base::outcome::{Trouble, last_lines};
use workshop_base::source::{SourceFacts, SourceLine};
use workshop_base::workspace::Workspace;
use workshop_base::{probe, program};

use super::launch::{BuildError, Crate, Launch};
use super::{cargo, member};

/// The file beside a crate's `Cargo.toml` that holds clippy's limits. Where it is, the source is judged as well.
pub const LIMITS: &str = "clippy.toml";

/// A remark of clippy's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LintRemark {
    /// The lint's name, without `clippy::`.
    pub lint: String,
    /// Where it is, and what clippy says.
    pub at: SourceLine,
}

/// How a crate's own unit tests ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnTests {
    /// All of them passed.
    Passed,
    /// They don't compile, or one fails: what was said.
    Failed(String),
}

/// Everything that is known of a source.
#[derive(Debug)]
pub struct ReadSource {
    /// What clippy says.
    pub remarks: Vec<LintRemark>,
    /// What a parser finds.
    pub facts: SourceFacts,
    /// How its own tests ended.
    pub tests: OwnTests,
}

/// Reads the source of what was built. The lints count wherever they are found: an `allow` in the source silences none.
pub async fn read(
    workspace: &Workspace,
    launch: &Launch,
    lints: &[&str],
) -> anyhow::Result<ReadSource> {
    let krate = Crate {
        in_place_of: Some(launch.member.clone()),
        ..Crate::new(launch.directory.clone(), &launch.label)
    };
    Ok(ReadSource {
        remarks: remarks(workspace, &krate, lints).await?,
        facts: facts(workspace, &krate.folder).await?,
        tests: own_tests(workspace, &krate).await?,
    })
}

async fn remarks(
    workspace: &Workspace,
    krate: &Crate,
    lints: &[&str],
) -> anyhow::Result<Vec<LintRemark>> {
    if probe::on_path("clippy-driver").is_none() {
        return Trouble::new("clippy isn't installed, and this exercise is judged by it as well")
            .expected("clippy beside cargo, where rustup puts it")
            .next("rustup component add clippy (Debian and Ubuntu without rustup: apt install rust-clippy)")
            .err();
    }
    let (root, asked) = cargo::for_a_check(workspace, krate)?;
    let mut clippy = member::clippy(workspace, &root, krate, asked).await?;
    for lint in lints {
        clippy.args(["--force-warn", &format!("clippy::{lint}")]);
    }
    clippy.env("CLIPPY_CONF_DIR", &krate.folder);
    let output = program::run(clippy, "").await?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Trouble::new(format!("clippy did not work{}", last_lines(&said)))
            .expected("a clippy of the same version as the compiler")
            .next("rustup component add clippy; just doctor")
            .err();
    }
    let lines = said
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    Ok(lines.filter_map(|line| remark(&line)).collect())
}

/// A line of clippy's, if it is about a lint of its own.
fn remark(line: &Value) -> Option<LintRemark> {
    let lint = line["code"]["code"].as_str()?.strip_prefix("clippy::")?;
    let mut spans = line["spans"].as_array()?.iter();
    let span = spans.find(|span| span["is_primary"] == true)?;
    Some(LintRemark {
        lint: lint.to_owned(),
        at: SourceLine {
            file: span["file_name"].as_str()?.to_owned(),
            line: usize::try_from(span["line_start"].as_u64()?).ok()?,
            what: line["message"].as_str()?.to_owned(),
        },
    })
}

/// What the program `workshop-source` finds, which is compiled the first time that somebody asks.
async fn facts(workspace: &Workspace, folder: &Path) -> anyhow::Result<SourceFacts> {
    let mut command = Command::new("sh");
    command
        .arg(workspace.root().join("justw"))
        .args(["--run", "workshop-source"])
        .arg(folder)
        .stdin(Stdio::null());
    let trouble = Trouble::new("the source could not be read")
        .expected("Rust that the program workshop-source can parse")
        .next("just doctor");
    let said = program::said(command, trouble).await?;
    let json = said.lines().last().unwrap_or_default();
    serde_json::from_str(json).context("workshop-source printed no JSON that is understood")
}

async fn own_tests(workspace: &Workspace, krate: &Crate) -> anyhow::Result<OwnTests> {
    let (root, asked) = cargo::for_a_check(workspace, krate)?;
    let tests = match member::compile_tests(workspace, &root, krate, asked).await {
        Ok(tests) => tests,
        Err(BuildError::DoesNotCompile { errors, .. }) => {
            let said = errors.first().map(|error| error.said.clone());
            return Ok(OwnTests::Failed(said.unwrap_or_default()));
        }
        Err(BuildError::CouldNotBuild(error)) => return Err(error),
    };
    let mut command = Command::new(tests);
    command.current_dir(&krate.folder);
    let output = program::run(command, "").await?;
    if output.status.success() {
        return Ok(OwnTests::Passed);
    }
    let said = String::from_utf8_lossy(&output.stdout);
    Ok(OwnTests::Failed(last_lines(&said)))
}
