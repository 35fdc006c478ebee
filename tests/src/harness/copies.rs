//! Copies of a crate that are built by themselves: a reference with a planted mistake, a starter out of reach of edits.
//!
//! A copy lives below `.workshop/copies`, outside the workspace, with the workspace's own tables in its `Cargo.toml` and
//! the workspace's lock file beside it. So every dependency is the one that is already built.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use toml::{Table, Value};

use super::build::Crate;
use crate::files;
use crate::outcome::Trouble;
use crate::patches;
use crate::workspace::Workspace;

/// A copied crate; its folder goes when this is dropped.
#[derive(Debug)]
pub struct Copy {
    krate: Crate,
}

impl Copy {
    /// Copies the crate in `source` under a new package name.
    ///
    /// # Errors
    /// When a file cannot be read or written, or a manifest is malformed.
    pub fn of(workspace: &Workspace, source: &Path, package: &str) -> anyhow::Result<Copy> {
        let folder = workspace.state().join("copies").join(package);
        if folder.exists() {
            fs::remove_dir_all(&folder)
                .with_context(|| format!("cannot remove {}", folder.display()))?;
        }
        for part in ["src", "migrations"] {
            let part_of_source = source.join(part);
            if part_of_source.is_dir() {
                copy_folder(&part_of_source, &folder.join(part))?;
            }
        }
        let manifest = standalone_manifest(workspace, source, package)?;
        fs::write(folder.join("Cargo.toml"), manifest)?;
        fs::copy(
            workspace.root().join("Cargo.lock"),
            folder.join("Cargo.lock"),
        )?;
        Ok(Copy {
            krate: Crate {
                folder,
                package: package.to_owned(),
            },
        })
    }

    /// Applies a patch to the copy's files.
    ///
    /// # Errors
    /// When the patch does not fit; the error names the file.
    pub fn patch(&self, patch: &str) -> anyhow::Result<()> {
        let before = files::read_tree(&self.krate.folder)?;
        let mut after = before.clone();
        patches::apply(&mut after, patch).map_err(|misfit| {
            Trouble::new(format!("the patch {misfit}"))
                .expected("a patch made against the reference as it is now")
                .next("make the patch again with git diff")
        })?;
        for path in files::differing(&before, &after) {
            files::replace(
                &self.krate.folder.join(&path),
                before.get(&path),
                after.get(&path),
            )?;
        }
        Ok(())
    }

    /// The crate to build.
    pub fn krate(&self) -> &Crate {
        &self.krate
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.krate.folder);
    }
}

fn standalone_manifest(
    workspace: &Workspace,
    source: &Path,
    package: &str,
) -> anyhow::Result<String> {
    let mut root = read_table(&workspace.root().join("Cargo.toml"))?;
    let mut manifest = read_table(&source.join("Cargo.toml"))?;
    if let Some(Value::Table(table)) = manifest.get_mut("package") {
        table.insert("name".to_owned(), Value::String(package.to_owned()));
    }
    if let Some(Value::Table(mut tables)) = root.remove("workspace") {
        for only_of_the_root in ["members", "default-members", "exclude"] {
            tables.remove(only_of_the_root);
        }
        manifest.insert("workspace".to_owned(), Value::Table(tables));
    }
    if let Some(profile) = root.remove("profile") {
        manifest.insert("profile".to_owned(), profile);
    }
    Ok(toml::to_string(&manifest)?)
}

fn read_table(path: &Path) -> anyhow::Result<Table> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    toml::from_str(&text).with_context(|| format!("{} is malformed", path.display()))
}

fn copy_folder(from: &Path, to: &PathBuf) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot list {}", from.display()))? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}
