//! Who runs the embedded server: PostgreSQL refuses root, so a tool that runs as root steps down to another user.

use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use anyhow::Context;
use nix::unistd::{Gid, Uid, User};
use walkdir::WalkDir;

/// The user that PostgreSQL's programs run as, when the tool is root: the user `postgres`, else `nobody`.
fn other() -> Option<(Uid, Gid)> {
    if !Uid::effective().is_root() {
        return None;
    }
    let user = ["postgres", "nobody"]
        .into_iter()
        .find_map(|name| User::from_name(name).ok().flatten());
    let nobody = (Uid::from_raw(65_534), Gid::from_raw(65_534));
    Some(user.map_or(nobody, |user| (user.uid, user.gid)))
}

/// A command that runs as this user, with English messages and without the variables that libpq and the server
/// listen to.
pub(crate) fn command(program: impl AsRef<OsStr>, folder: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PG") {
            command.env_remove(name);
        }
    }
    command
        .env("LC_ALL", "C")
        .env("HOME", folder)
        .current_dir(folder);
    if let Some((uid, gid)) = other() {
        // The standard library drops root's supplementary groups along with the user.
        command.uid(uid.as_raw()).gid(gid.as_raw());
    }
    command
}

/// Gives a file or folder to this user.
pub(crate) fn own(path: &Path) -> anyhow::Result<()> {
    if let Some((uid, gid)) = other() {
        std::os::unix::fs::lchown(path, Some(uid.as_raw()), Some(gid.as_raw()))
            .with_context(|| format!("cannot give {} to another user", path.display()))?;
    }
    Ok(())
}

/// Gives a folder and everything in it to this user.
pub(crate) fn own_all(path: &Path) -> anyhow::Result<()> {
    for entry in WalkDir::new(path) {
        own(entry?.path())?;
    }
    Ok(())
}

/// True when this user owns the path itself (a symbolic link is not followed).
pub(crate) fn owns(path: &Path) -> bool {
    let uid = other().map_or_else(Uid::effective, |(uid, _)| uid);
    path.symlink_metadata()
        .is_ok_and(|metadata| metadata.uid() == uid.as_raw())
}

/// True when this user may pass through every folder down to the path.
pub(crate) fn can_enter(path: &Path) -> bool {
    other().is_none_or(|ids| may_enter(ids, path))
}

fn may_enter((uid, gid): (Uid, Gid), path: &Path) -> bool {
    path.ancestors().all(|folder| {
        folder.metadata().is_ok_and(|metadata| {
            let bit = if metadata.uid() == uid.as_raw() {
                0o100
            } else if metadata.gid() == gid.as_raw() {
                0o010
            } else {
                0o001
            };
            metadata.mode() & bit != 0
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn another_user_cannot_enter_a_private_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700))
            .expect("a mode");
        let stranger = (Uid::from_raw(54_321), Gid::from_raw(54_321));
        assert!(!may_enter(stranger, folder.path()));
        assert!(may_enter(stranger, Path::new("/")));
    }
}
