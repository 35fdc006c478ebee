//! The workspace without the exercises that a build is not about. Learners edit those, and one manifest among them that cargo cannot
//! read keeps it from building any member.
//!
//! It is a folder below `.workshop` with the workspace's manifest and lock file and links to its folders. Cargo names what it builds by
//! its path in the workspace, so nothing is built a second time there.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use toml::{Table, Value};
use workshop_base::files;
use workshop_base::workspace::Workspace;

use super::launch::Crate;

const MANIFEST: &str = "Cargo.toml";
/// The file that says which versions cargo builds with.
pub const LOCK_FILE: &str = "Cargo.lock";

/// The workspace's folder for a build of this member; one without the other exercises, with a note, where a file that a learner may have
/// edited cannot be read.
pub fn root_for(workspace: &Workspace, krate: &Crate) -> anyhow::Result<PathBuf> {
    let broken: Vec<PathBuf> = manifests(workspace)
        .into_iter()
        .chain([workspace.root().join(LOCK_FILE)])
        .filter(|path| !path.starts_with(&krate.folder) && !is_toml(path))
        .collect();
    if broken.is_empty() {
        return Ok(workspace.root().to_owned());
    }
    for path in &broken {
        tell(workspace, krate, path);
    }
    make(
        workspace,
        member_of(workspace, krate),
        is_locked_as_here(workspace),
    )
}

/// True where cargo can read the lock file, or makes one.
fn is_locked_as_here(workspace: &Workspace) -> bool {
    is_toml(&workspace.root().join(LOCK_FILE))
}

/// Says what is left out of this build, and how to bring it back.
fn tell(workspace: &Workspace, krate: &Crate, broken: &Path) {
    let shown = files::shown(workspace, broken);
    let package = &krate.package;
    match exercise_at(workspace, broken) {
        Some(name) => eprintln!(
            "note: cargo cannot read {shown}, so {package} is built without {name}; just reset {name} brings it back"
        ),
        None => eprintln!(
            "note: cargo cannot read {shown}, so {package} is built with the committed one; git checkout -- {shown} brings it back"
        ),
    }
}

/// The exercise whose manifest this is.
fn exercise_at(workspace: &Workspace, manifest: &Path) -> Option<String> {
    let folder = manifest
        .parent()?
        .strip_prefix(workspace.exercises())
        .ok()?;
    let number: u8 = folder.to_str()?.split('-').next()?.parse().ok()?;
    Some(format!("exercise-{number}"))
}

/// The manifests of the exercises that are members.
fn manifests(workspace: &Workspace) -> Vec<PathBuf> {
    let entries = fs::read_dir(workspace.exercises());
    let folders = entries.into_iter().flatten().flatten();
    let manifests = folders.map(|entry| entry.path().join(MANIFEST));
    let mut found: Vec<PathBuf> = manifests
        .filter(|path| exercise_at(workspace, path).is_some() && path.is_file())
        .collect();
    found.sort();
    found
}

/// True for a file that is there and is TOML, and for one that is not there.
fn is_toml(path: &Path) -> bool {
    match fs::read_to_string(path) {
        Ok(text) => text.parse::<Table>().is_ok(),
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}

/// The folder of an exercise's crate, as the workspace's manifest names it; none for another crate.
fn member_of<'a>(workspace: &Workspace, krate: &'a Crate) -> Option<&'a Path> {
    let folder = krate.folder.strip_prefix(workspace.root()).ok()?;
    folder.starts_with("exercises").then_some(folder)
}

/// Makes such a workspace: of the exercises it has none or this one. Its lock file is the one here, or that of the last commit.
pub fn make(
    workspace: &Workspace,
    member: Option<&Path>,
    locked_as_here: bool,
) -> anyhow::Result<PathBuf> {
    let name = member.and_then(Path::file_name);
    let folder = workspace.state().join("aside");
    let folder = folder.join(name.unwrap_or("without-exercises".as_ref()));
    let cannot = || format!("cannot make {}", folder.display());
    fs::create_dir_all(&folder).with_context(cannot)?;
    for link in ["tests", "solutions", "exercises", "datasets"] {
        match symlink(Path::new("../../..").join(link), folder.join(link)) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(error).with_context(cannot);
            }
            _ => {}
        }
    }
    let root = files::text(&workspace.root().join(MANIFEST))?;
    let root = with_members(&root, member)?;
    files::write_atomically(&folder.join(MANIFEST), root.as_bytes())?;
    let locked = match locked_as_here {
        true => files::read_if_there(&workspace.root().join(LOCK_FILE))?,
        false => committed_lock(workspace),
    };
    match locked {
        Some(bytes) => files::write_atomically(&folder.join(LOCK_FILE), &bytes)?,
        None => files::remove(&folder.join(LOCK_FILE))?,
    }
    Ok(folder)
}

/// The workspace's manifest, with this exercise as its only one.
fn with_members(root: &str, member: Option<&Path>) -> anyhow::Result<String> {
    let mut root: Table = root
        .parse()
        .context("the workspace's Cargo.toml is malformed")?;
    let members = root
        .get_mut("workspace")
        .and_then(|workspace| workspace.get_mut("members"));
    if let Some(Value::Array(members)) = members {
        members.retain(|member| {
            !member
                .as_str()
                .is_some_and(|text| text.starts_with("exercises/"))
        });
        members.extend(member.map(|path| Value::String(path.display().to_string())));
    }
    Ok(toml::to_string(&root)?)
}

/// The lock file as the last commit has it; none outside of git.
fn committed_lock(workspace: &Workspace) -> Option<Vec<u8>> {
    let mut git = Command::new("git");
    git.args(["show", "HEAD:Cargo.lock"])
        .current_dir(workspace.root());
    let output = git.output().ok()?;
    output.status.success().then_some(output.stdout)
}

/// A workspace without the exercise whose manifest cargo has just complained about in `said`, with a note; nothing where that is about
/// something else than another exercise.
pub fn without_the_faulty(
    workspace: &Workspace,
    krate: &Crate,
    said: &str,
) -> anyhow::Result<Option<PathBuf>> {
    let others = manifests(workspace).into_iter();
    let mut others = others.filter(|manifest| !manifest.starts_with(&krate.folder));
    let is_named = |manifest: &PathBuf| {
        manifest
            .parent()
            .is_some_and(|at| names(said, at, workspace))
    };
    let Some(faulty) = others.find(is_named).filter(|_| is_about_a_manifest(said)) else {
        return Ok(None);
    };
    tell(workspace, krate, &faulty);
    let as_here = is_locked_as_here(workspace);
    make(workspace, member_of(workspace, krate), as_here).map(Some)
}

/// Whether what cargo has said is about this exercise's own manifest.
pub fn is_its_own_fault(workspace: &Workspace, krate: &Crate, said: &str) -> bool {
    let own = krate.folder.starts_with(workspace.exercises());
    own && is_about_a_manifest(said) && names(said, &krate.folder, workspace)
}

/// Whether something that cargo has said names this folder, be it by its path in another workspace.
fn names(said: &str, folder: &Path, workspace: &Workspace) -> bool {
    let folder = folder.strip_prefix(workspace.root()).unwrap_or(folder);
    let folder = format!("/{}", folder.display());
    let mut after = said.split(&folder).skip(1);
    after.any(|rest| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '-'))
}

/// Cargo stops before it compiles anything where it cannot make sense of a manifest. That it could not bring what a manifest asks for
/// says nothing against it.
fn is_about_a_manifest(said: &str) -> bool {
    let others = [
        "could not compile `",
        "download",
        "offline",
        "network",
        "resolve host",
        "to update registry",
        "No space left",
    ];
    !others.iter().any(|word| said.contains(word))
}

/// The committed lock file, where the one here is none that cargo can read.
pub fn instead_of_a_broken_lock(workspace: &Workspace) -> Option<Vec<u8>> {
    match is_locked_as_here(workspace) {
        true => None,
        false => committed_lock(workspace),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_named_by_the_whole_of_its_name() {
        let workspace = Workspace::at("/course");
        let folder = workspace.exercises().join("05-fail");
        let named = |said: &str| names(said, &folder, &workspace);
        assert!(named(
            "required by package `exercise-5 (/course/exercises/05-fail)`"
        ));
        assert!(named(
            "at /course/.workshop/aside/05-fail/exercises/05-fail/Cargo.toml"
        ));
        assert!(!named("at /course/exercises/05-fail-again/Cargo.toml"));
    }

    #[test]
    fn of_the_exercises_only_the_one_that_is_built_is_a_member() -> anyhow::Result<()> {
        let root =
            "[workspace]\nmembers = [\"tests/base\", \"exercises/[0-9]*\", \"solutions/[0-9]*\"]\n";
        let members = |member: Option<&str>| -> anyhow::Result<String> {
            let root: Table = with_members(root, member.map(Path::new))?.parse()?;
            Ok(root["workspace"]["members"].to_string())
        };
        assert_eq!(members(None)?, r#"["tests/base", "solutions/[0-9]*"]"#);
        assert_eq!(
            members(Some("exercises/03-a"))?,
            r#"["tests/base", "solutions/[0-9]*", "exercises/03-a"]"#
        );
        Ok(())
    }
}
