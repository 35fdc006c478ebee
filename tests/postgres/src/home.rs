//! Where the embedded server lives: a *home*, `.workshop/postgres/embedded`, or a folder outside the checkout where that
//! cannot serve. It holds one folder per kind and major version of programs (`system-15`, `maven-18`), and programs that Maven brought.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::account;
use crate::identity::checkout_id;
use crate::settings::ProviderSettings;
use workshop_base::files;
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;

/// A file of this name marks a home; a folder without it is never removed.
const MARK: &str = "made-by-kotlin-to-rust-workshop";

/// The home of this checkout, made when it is not there.
pub(crate) fn home(settings: &ProviderSettings, workspace: &Workspace) -> anyhow::Result<PathBuf> {
    let state = workspace.state();
    std::fs::create_dir_all(&state).with_context(|| format!("cannot make {}", state.display()))?;
    let home = match &settings.data_dir {
        Some(folder) => std::path::absolute(folder)?.join(name(workspace)),
        None if state
            .canonicalize()
            .is_ok_and(|state| account::can_enter(&state)) =>
        {
            inside(workspace)
        }
        None => outside(workspace),
    };
    if !home.join(MARK).is_file() || !account::owns(&home) {
        make(workspace, &home)?;
    }
    home.canonicalize()
        .with_context(|| format!("cannot enter {}", home.display()))
}

/// Makes a home: aside, and in its place when it has its mark and its owner. Only the owner can enter it.
fn make(workspace: &Workspace, home: &Path) -> anyhow::Result<()> {
    let parent = home.parent().unwrap_or(home);
    std::fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
    if !account::can_enter(parent) {
        return Trouble::new(format!(
            "the user that runs PostgreSQL cannot enter {}",
            parent.display()
        ))
        .expected(
            "a folder that every user may pass through, since PostgreSQL does not run as root",
        )
        .next("name another folder in WORKSHOP_DATA_DIR, or run the tool as a user who is not root")
        .err();
    }
    // Commands that do this take turns, so what is there was left by one that was killed.
    let aside = home.with_added_extension("new");
    files::remove(&aside)?;
    std::fs::create_dir(&aside)
        .and_then(|()| std::fs::set_permissions(&aside, Permissions::from_mode(0o700)))
        .with_context(|| format!("cannot make {}", aside.display()))?;
    std::fs::write(
        aside.join(MARK),
        format!("{}\n", workspace.root().display()),
    )?;
    account::own(&aside)?;
    record(workspace, home)?;
    // This replaces nothing but an empty folder.
    if let Err(error) = std::fs::rename(&aside, home) {
        files::remove(&aside)?;
        return Trouble::new(format!("cannot make {}: {error}", home.display()))
            .expected("a new folder, or the one that this user made before")
            .next("remove it if it is yours; run the tool as the same user as before")
            .err();
    }
    Ok(())
}

fn name(workspace: &Workspace) -> String {
    format!("kotlin-to-rust-workshop-{}", checkout_id(workspace))
}

/// The home inside the checkout.
fn inside(workspace: &Workspace) -> PathBuf {
    workspace.state().join("postgres/embedded")
}

/// The home where the user that runs the server cannot enter the checkout.
fn outside(workspace: &Workspace) -> PathBuf {
    Path::new("/var/tmp").join(name(workspace))
}

/// Where the homes are listed, one per line.
fn list(workspace: &Workspace) -> PathBuf {
    workspace.state().join("postgres/homes")
}

/// Adds a home to the list, so that `just clean` finds it when the settings are other ones by then.
fn record(workspace: &Workspace, home: &Path) -> anyhow::Result<()> {
    let path = list(workspace);
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    if known.lines().any(|line| Path::new(line) == home) {
        return Ok(());
    }
    files::write_atomically(&path, format!("{known}{}\n", home.display()).as_bytes())
}

/// The homes of this checkout that are there. Folders without the mark are not ours and left alone.
pub(crate) fn homes(workspace: &Workspace) -> Vec<PathBuf> {
    let known = std::fs::read_to_string(list(workspace)).unwrap_or_default();
    let mut homes: Vec<PathBuf> = [inside(workspace), outside(workspace)]
        .into_iter()
        .chain(known.lines().map(PathBuf::from))
        .filter(|home| home.join(MARK).is_file())
        .filter_map(|home| home.canonicalize().ok())
        .collect();
    homes.sort();
    homes.dedup();
    homes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_command_left_of_a_home_goes() -> anyhow::Result<()> {
        let checkout = tempfile::tempdir()?;
        let workspace = Workspace::at(checkout.path());
        let parent = checkout.path().join("homes");
        let home = parent.join("embedded");
        // Killed before the last step.
        make(&workspace, &home)?;
        std::fs::rename(&home, parent.join("embedded.new"))?;
        make(&workspace, &home)?;
        assert!(home.join(MARK).is_file());
        assert_eq!(std::fs::read_dir(&parent)?.count(), 1);
        Ok(())
    }

    #[test]
    fn a_folder_without_our_mark_is_never_a_home_of_ours() {
        let checkout = tempfile::tempdir().expect("a folder");
        let foreign = tempfile::tempdir().expect("a folder");
        let workspace = Workspace::at(checkout.path());
        record(&workspace, foreign.path()).expect("a list");
        assert_eq!(homes(&workspace), Vec::<PathBuf>::new());
        std::fs::write(foreign.path().join(MARK), "").expect("a file");
        assert_eq!(homes(&workspace), vec![foreign.path().to_path_buf()]);
    }
}
