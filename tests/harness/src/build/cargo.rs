//! Crates built by cargo: what the compiler says is passed on, its errors and what was built are kept.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::Context;
use tokio::io::{AsyncBufReadExt, BufReader};
use workshop_base::outcome::Trouble;
use workshop_base::program::{self, cargo_command};
use workshop_base::target::Language;
use workshop_base::terminal;
use workshop_base::workspace::Workspace;

use super::diagnostics::CompilerOutput;
use super::launch::{BuildError, Crate, Launch, Profile, RELEASE_PROFILE};
use super::member;

/// Builds a crate that is a service into the one target directory.
pub async fn cargo(
    workspace: &Workspace,
    krate: &Crate,
    profile: Profile,
) -> Result<Launch, BuildError> {
    let what = ["--bin", &krate.package];
    let program = made_by(cargo_command(), workspace, krate, profile, &what).await?;
    Ok(service(krate, program))
}

/// The launch of a crate that was built into this program.
pub fn service(krate: &Crate, program: PathBuf) -> Launch {
    Launch {
        member: krate.member().to_owned(),
        ..Launch::of(Language::Rust, &krate.package, &krate.folder, program)
    }
}

/// What a cargo makes of one target of a crate: a program, or a library that other languages can load.
pub async fn made_by(
    command: Command,
    workspace: &Workspace,
    krate: &Crate,
    profile: Profile,
    target: &[&str],
) -> Result<PathBuf, BuildError> {
    let made = all_made_by(command, workspace, krate, profile, target).await?;
    Ok(made.into_iter().next_back().unwrap_or_default())
}

/// The programs of these files in a crate's `tests`.
pub async fn tests(
    workspace: &Workspace,
    krate: &Crate,
    names: &[&str],
) -> Result<Vec<PathBuf>, BuildError> {
    let targets: Vec<&str> = names.iter().flat_map(|name| ["--test", name]).collect();
    all_made_by(cargo_command(), workspace, krate, Profile::Check, &targets).await
}

/// Builds the programs of these members for checks, all in one call.
pub async fn members(workspace: &Workspace, programs: &[String]) -> anyhow::Result<()> {
    if programs.is_empty() {
        return Ok(());
    }
    let mut command = cargo_command();
    command.args(["build", "--keep-going", "--workspace"]);
    command.args(programs.iter().flat_map(|program| ["--bin", program]));
    command
        .arg("--target-dir")
        .arg(workspace.cargo_target())
        .current_dir(workspace.root())
        .stdin(Stdio::null());
    program::start(command)?.ended().await?;
    Ok(())
}

/// Everything that cargo makes of these targets, at least one thing.
async fn all_made_by(
    command: Command,
    workspace: &Workspace,
    krate: &Crate,
    profile: Profile,
    target: &[&str],
) -> Result<Vec<PathBuf>, BuildError> {
    let mut command = self::command(command, workspace, krate, profile, target);
    if let Some(member) = &krate.in_place_of {
        return member::compile(workspace, krate, member, command).await;
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    if krate.folder.starts_with(workspace.state()) {
        // A copy takes the workspace's profiles with it, and cargo names each package in them that it has no use for.
        command.arg("--quiet");
    }
    let mut cargo = program::start(command).map_err(anyhow::Error::from)?;
    let stdout = cargo.child.stdout.take().context("cargo gave no output")?;
    let mut lines = BufReader::new(stdout).lines();
    let folder = match krate.is_alone {
        true => krate.folder.clone(),
        false => workspace.root().to_path_buf(),
    };
    let mut told = CompilerOutput {
        folder,
        ..CompilerOutput::default()
    };
    while let Some(line) = lines
        .next_line()
        .await
        .context("cannot read what cargo prints")?
    {
        told.take(&line);
    }
    let status = cargo.ended().await.context("cannot wait for cargo")?;
    if !told.errors.is_empty() || (status.success() && !told.made.is_empty()) {
        return told.into_made(&krate.package);
    }
    let what = format!("cargo could not build {}: {status}", krate.package);
    let trouble = Trouble::new(what)
        .expected("a program or a library; see cargo's messages above")
        .next("just doctor");
    Err(BuildError::CouldNotBuild(trouble.into()))
}

/// What cargo is told to build. A program that is checked is built with the features that all members of the workspace ask for
/// together, so that each dependency is compiled once; one that is measured has its own.
fn command(
    mut command: Command,
    workspace: &Workspace,
    krate: &Crate,
    profile: Profile,
    target: &[&str],
) -> Command {
    let rendered = if terminal::color() {
        "json-diagnostic-rendered-ansi"
    } else {
        "json"
    };
    command.arg("build");
    let is_elsewhere = krate.is_alone || krate.folder.starts_with(workspace.state());
    let is_member = krate.in_place_of.is_some() || !is_elsewhere;
    if is_member && profile == Profile::Check && target.first() == Some(&"--bin") {
        command.args(["--workspace", "--bin", krate.member()]);
    } else {
        command.args(["--package", krate.member()]).args(target);
    }
    let folder = match &krate.in_place_of {
        Some(_) => workspace.root(),
        None => &krate.folder,
    };
    command
        .arg("--manifest-path")
        .arg(folder.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(workspace.cargo_target())
        .args(["--message-format", rendered]);
    if profile == Profile::Measure {
        command.arg("--release");
        // How the crate wants to be built for shipping, on top of cargo's own profile.
        let shipped = krate.folder.join(RELEASE_PROFILE);
        if shipped.is_file() {
            command.arg("--config").arg(shipped);
        }
    }
    command
}
