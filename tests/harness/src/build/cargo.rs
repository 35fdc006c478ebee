//! Crates built by cargo: what the compiler says is passed on, its errors and what was built are kept.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use anyhow::Context;
use tokio::io::{AsyncBufReadExt, BufReader};
use workshop_base::files;
use workshop_base::outcome::Trouble;
use workshop_base::program::{self, cargo_command};
use workshop_base::target::Language;
use workshop_base::terminal;
use workshop_base::workspace::Workspace;

use super::diagnostics::CompilerOutput;
use super::freshness::Sources;
use super::launch::{BuildError, CompilerError, Crate, Launch, Profile, RELEASE_PROFILE};
use super::{aside, member};

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

/// The command that builds the program of a member for a check, and the workspace's folder that it is built in.
pub(super) fn for_a_check(
    workspace: &Workspace,
    krate: &Crate,
) -> anyhow::Result<(PathBuf, Command)> {
    let root = aside::root_for(workspace, krate)?;
    let what = ["--bin", krate.member()];
    let asked = command(
        cargo_command(),
        workspace,
        &root,
        krate,
        Profile::Check,
        &what,
    );
    Ok((root, asked))
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

/// Builds the programs of these members for checks, all in one call. Where it succeeds, none of them is built again when its turn comes.
pub async fn members(workspace: &Workspace, members: &[Crate]) -> anyhow::Result<()> {
    if members.is_empty() {
        return Ok(());
    }
    let target = workspace.cargo_target();
    let mut sources = Vec::new();
    for krate in members {
        let what = ["--bin", &krate.package];
        let of_krate = Sources::of(&target, krate, Profile::Check, &what)?;
        of_krate.make_newer();
        sources.push((of_krate, target.join("debug").join(&krate.package)));
    }
    let mut command = cargo_command();
    command.args(["build", "--keep-going", "--workspace"]);
    command.args(members.iter().flat_map(|krate| ["--bin", &krate.package]));
    command
        .arg("--target-dir")
        .arg(&target)
        .current_dir(workspace.root())
        .stdin(Stdio::null());
    if program::start(command)?.ended().await?.success() {
        for (of_krate, program) in sources {
            of_krate.keep(&[program]);
        }
    }
    Ok(())
}

/// Everything that cargo makes of these targets, at least one thing.
async fn all_made_by(
    cargo: Command,
    workspace: &Workspace,
    krate: &Crate,
    profile: Profile,
    target: &[&str],
) -> Result<Vec<PathBuf>, BuildError> {
    let asked = |root: &Path| {
        command(
            program::again(&cargo),
            workspace,
            root,
            krate,
            profile,
            target,
        )
    };
    let root = match is_a_member(workspace, krate) {
        true => aside::root_for(workspace, krate)?,
        false => workspace.root().to_owned(),
    };
    if let Some(member) = &krate.in_place_of {
        return member::compile(workspace, &root, krate, member, asked(&root)).await;
    }
    let sources = Sources::of(&workspace.cargo_target(), krate, profile, target)?;
    sources.make_newer();
    let (mut told, mut status) = run(workspace, krate, asked(&root)).await?;
    let mut said = String::new();
    if is_a_member(workspace, krate) && told.is_nothing() {
        said = said_by(asked(&root)).await?;
        if let Some(other) = aside::without_the_faulty(workspace, krate, &said)? {
            (told, status) = run(workspace, krate, asked(&other)).await?;
            if told.is_nothing() {
                said = said_by(asked(&other)).await?;
            }
        }
    }
    if !told.errors.is_empty() || (status.success() && !told.made.is_empty()) {
        let made = told.into_made(&krate.package)?;
        sources.keep(&made);
        return Ok(made);
    }
    if let Some(full) = full_disk(workspace, krate) {
        return Err(BuildError::CouldNotBuild(full.into()));
    }
    if aside::is_its_own_fault(workspace, krate, &said) {
        return Err(BuildError::DoesNotCompile {
            label: krate.package.clone(),
            errors: vec![CompilerError {
                code: "error".to_owned(),
                said,
                place: "Cargo.toml".to_owned(),
            }],
        });
    }
    let what = format!("cargo could not build {}: {status}", krate.package);
    let trouble = Trouble::new(what)
        .expected("a program or a library; see cargo's messages above")
        .next("just doctor; if cargo says signal: 9, memory ran out: CARGO_BUILD_JOBS=1 and the same command again");
    Err(BuildError::CouldNotBuild(trouble.into()))
}

/// With less room than this (bytes), it is the disk's fault that nothing was built: a program and its parts take some 100 MB.
const FULL: u64 = 50_000_000;

fn full_disk(workspace: &Workspace, krate: &Crate) -> Option<Trouble> {
    let target = workspace.cargo_target();
    let free = files::free_bytes(&target).ok()?;
    let full = || {
        let what = format!("the disk is full, so {} was not built", krate.package);
        let room = format!("df -h {}; just clean", target.display());
        Trouble::new(what)
            .expected("room for what cargo makes: some gigabytes for the whole course")
            .next(format!(
                "{room}; CARGO_TARGET_DIR names a folder on another disk"
            ))
    };
    (free < FULL).then(full)
}

/// What cargo says for people, where it fails before it compiles anything.
async fn said_by(command: Command) -> Result<String, BuildError> {
    let output = program::run(command, "")
        .await
        .map_err(anyhow::Error::from)?;
    let said = String::from_utf8_lossy(&output.stderr);
    Ok(said.trim().to_owned())
}

/// Runs cargo, and passes on what the compiler says.
async fn run(
    workspace: &Workspace,
    krate: &Crate,
    mut command: Command,
) -> Result<(CompilerOutput, ExitStatus), BuildError> {
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
        workspace: Some(workspace.clone()),
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
    Ok((told, status))
}

/// Whether a crate is built as a member of the workspace.
fn is_a_member(workspace: &Workspace, krate: &Crate) -> bool {
    let is_elsewhere = krate.is_alone || krate.folder.starts_with(workspace.state());
    krate.in_place_of.is_some() || !is_elsewhere
}

/// What cargo is told to build. A program that is checked is built with the features that all members of the workspace ask for
/// together, so that each dependency is compiled once; one that is measured has its own.
fn command(
    mut command: Command,
    workspace: &Workspace,
    root: &Path,
    krate: &Crate,
    profile: Profile,
    target: &[&str],
) -> Command {
    let rendered = if terminal::color_of_errors() {
        "json-diagnostic-rendered-ansi"
    } else {
        "json"
    };
    command.arg("build");
    let is_member = is_a_member(workspace, krate);
    if is_member && profile == Profile::Check && target.first() == Some(&"--bin") {
        command.args(["--workspace", "--bin", krate.member()]);
    } else {
        command.args(["--package", krate.member()]).args(target);
    }
    // Cargo finds the workspace by the manifest that it is given.
    let folder = match is_member {
        true => root,
        false => &krate.folder,
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
