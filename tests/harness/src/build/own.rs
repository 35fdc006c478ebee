//! The crate that a learner has made in a folder that was empty: found, whatever is there, or said what is missing.

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Deserialize;
use workshop_base::exercise::Exercise;
use workshop_base::files;
use workshop_base::outcome::{Trouble, last_lines};
use workshop_base::program::{self, cargo_command};
use workshop_base::workspace::Workspace;

use super::launch::Crate;

/// What cargo says of a manifest and the workspace around it.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_root: PathBuf,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
    targets: Vec<CargoTarget>,
}

#[derive(Deserialize)]
struct CargoTarget {
    name: String,
    kind: Vec<String>,
}

/// Finds the package with the exercise's name: the crate in its folder, one in a folder of that, or a member of a workspace there.
pub(super) async fn find(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<Crate> {
    let place = OwnFolder {
        folder: exercise.starter(workspace),
        shown: files::shown(workspace, &exercise.starter(workspace)).to_string(),
        name: exercise.name(),
    };
    let manifest = place.manifest(workspace)?;
    let metadata = metadata(workspace, &manifest).await?;
    if !metadata
        .workspace_root
        .starts_with(place.folder.canonicalize()?)
    {
        return Err(place.not_alone(workspace, &metadata.workspace_root));
    }
    let package = place.package(&metadata)?;
    place.expect_program(package)?;
    let folder = package.manifest_path.parent().unwrap_or(&place.folder);
    Ok(Crate {
        is_alone: true,
        ..Crate::new(folder.to_owned(), place.name)
    })
}

/// Where a crate is looked for, and under which name.
struct OwnFolder {
    folder: PathBuf,
    shown: String,
    name: String,
}

impl OwnFolder {
    /// The one manifest that can be meant.
    fn manifest(&self, workspace: &Workspace) -> anyhow::Result<PathBuf> {
        let OwnFolder { shown, name, .. } = self;
        match &manifests(&self.folder)?[..] {
            [manifest] => Ok(manifest.clone()),
            [] => Trouble::new(format!("there is no crate in {shown} yet"))
                .expected(format!("a Cargo.toml of a package with the name {name}"))
                .next(format!(
                    "cargo init --name {name} {shown}; just check {name}"
                ))
                .failed()
                .err(),
            [one, other, ..] => {
                let [one, other] = [one, other].map(|path| files::shown(workspace, path));
                Trouble::new(format!("there are two crates: {one} and {other}"))
                    .expected(format!("one crate in {shown}, or a workspace with its Cargo.toml there"))
                    .next(format!("move one of them elsewhere, or write {shown}/Cargo.toml with [workspace] and members"))
                    .failed()
                    .err()
            }
        }
    }

    fn not_alone(&self, workspace: &Workspace, root: &Path) -> anyhow::Error {
        let OwnFolder { shown, .. } = self;
        let root = files::shown(workspace, root);
        Trouble::new(format!(
            "the crate in {shown} belongs to the workspace {root}"
        ))
        .expected("a crate that is a workspace of its own")
        .next(format!(
            "git diff -- Cargo.toml; was {shown} taken out of its exclude?"
        ))
        .failed()
        .into()
    }

    /// The package with the name that the check looks for.
    fn package<'m>(&self, metadata: &'m Metadata) -> anyhow::Result<&'m Package> {
        let OwnFolder { shown, name, .. } = self;
        let mut packages = metadata.packages.iter();
        if let Some(package) = packages.find(|found| found.name == *name) {
            return Ok(package);
        }
        let found: Vec<&str> = metadata.packages.iter().map(|found| &*found.name).collect();
        let found = found.join(", ");
        Trouble::new(format!("the crate in {shown} has the name {found}"))
            .expected(format!(
                "a package with the name {name}: that is how the check finds it"
            ))
            .next(format!(
                "write name = \"{name}\" below [package] in its Cargo.toml"
            ))
            .failed()
            .err()
    }

    /// A service is a program, and which of several is the service is told by its name.
    fn expect_program(&self, package: &Package) -> anyhow::Result<()> {
        let name = &self.name;
        let programs = package.targets.iter().filter(|target| target.is_program());
        let programs: Vec<&str> = programs.map(|target| &*target.name).collect();
        let made = match &programs[..] {
            programs if programs.contains(&&**name) => return Ok(()),
            [] => "no program".to_owned(),
            programs => format!("the programs {}", programs.join(", ")),
        };
        Trouble::new(format!("the package {name} makes {made}"))
            .expected(format!("a program with the name {name}: the service"))
            .next("give it a src/main.rs, which has the package's name by itself")
            .failed()
            .err()
    }
}

impl CargoTarget {
    fn is_program(&self) -> bool {
        self.kind.iter().any(|kind| kind == "bin")
    }
}

/// The manifest in the folder; without one, those in the folders in it.
fn manifests(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    const MANIFEST: &str = "Cargo.toml";
    let own = folder.join(MANIFEST);
    if own.is_file() {
        return Ok(vec![own]);
    }
    let mut found = Vec::new();
    if folder.is_dir() {
        for entry in std::fs::read_dir(folder)? {
            found.push(entry?.path().join(MANIFEST));
        }
    }
    found.retain(|manifest| manifest.is_file());
    found.sort();
    Ok(found)
}

/// Asks cargo, which needs no network for it.
async fn metadata(workspace: &Workspace, manifest: &Path) -> anyhow::Result<Metadata> {
    let mut command = cargo_command();
    command
        .args([
            "metadata",
            "--no-deps",
            "--format-version",
            "1",
            "--manifest-path",
        ])
        .arg(manifest);
    let output = program::run(command, "").await?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let shown = files::shown(workspace, manifest);
        return Trouble::new(format!("cargo cannot read {shown}{}", last_lines(&said)))
            .expected("a Cargo.toml that cargo understands")
            .next(format!(
                "cargo metadata --no-deps --manifest-path {shown} says it again"
            ))
            .failed()
            .err();
    }
    serde_json::from_slice(&output.stdout)
        .context("cargo metadata printed no JSON that is understood")
}
