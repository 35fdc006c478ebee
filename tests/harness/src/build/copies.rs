//! Copies of a crate: a reference with a planted mistake, a starter out of reach of edits.
//!
//! A copy lives below `.workshop/copies`, outside the workspace. A patch is applied first: it is made against the crate's files as
//! they are, `Cargo.toml` included. Either the copy takes the place of a member of the workspace, whose dependencies are built
//! already, or it is a workspace of its own, with the workspace's tables in its `Cargo.toml` and the lock file beside it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use toml::{Table, Value};

use super::launch::Crate;
use workshop_base::files::{self, Tree};
use workshop_base::lock::Lock;
use workshop_base::originals;
use workshop_base::outcome::Trouble;
use workshop_base::patches;
use workshop_base::workspace::Workspace;

/// A copied crate; its folder goes when this is dropped.
#[derive(Debug)]
pub struct Copy {
    krate: Crate,
    /// The folder of a copy has a name of its own, so that cargo knows it again: two commands that need it take turns.
    _turn: Lock,
}

impl Copy {
    /// Copies the crate in `source` as a workspace of its own, under a new package name.
    pub async fn of(workspace: &Workspace, source: &Path, package: &str) -> anyhow::Result<Copy> {
        Copy::changed(workspace, source, package, None, |_| Ok(())).await
    }

    /// As [`Copy::of`], with a patch: paths below the crate's folder as `a/…` and `b/…`, lines before the first file are
    /// a header.
    pub async fn patched(
        workspace: &Workspace,
        source: &Path,
        package: &str,
        patch: &str,
    ) -> anyhow::Result<Copy> {
        let applied = |tree: &mut Tree| patches::apply(tree, patch);
        Copy::changed(workspace, source, package, None, applied).await
    }

    /// Copies the crate in `source`, with a patch if there is one, to take the place of a member.
    pub async fn in_place_of(
        member: &str,
        workspace: &Workspace,
        source: &Path,
        name: &str,
        patch: Option<&str>,
    ) -> anyhow::Result<Copy> {
        let applied = |tree: &mut Tree| patch.map_or(Ok(()), |patch| patches::apply(tree, patch));
        let mut copy = Copy::changed(workspace, source, name, Some(member), applied).await?;
        copy.krate.is_planted = patch.is_some();
        Ok(copy)
    }

    async fn changed(
        workspace: &Workspace,
        source: &Path,
        package: &str,
        member: Option<&str>,
        change: impl FnOnce(&mut Tree) -> Result<(), String>,
    ) -> anyhow::Result<Copy> {
        let copies = workspace.state().join("copies");
        let does = format!("builds {package}");
        let turn = Lock::take(&copies.join(format!("{package}.lock")), &does).await?;
        let folder = copies.join(package);
        files::remove(&folder)?;
        let mut tree = files::read_tree(source)?;
        tree.retain(|path, _| !originals::is_the_authors(path));
        change(&mut tree).map_err(|misfit| {
            Trouble::new(format!("the patch {misfit}"))
                .expected("a patch made against the reference as it is now")
                .next("make the patch again with git diff")
        })?;
        if member.is_none() {
            stand_alone(workspace, &mut tree, source, package)?;
        }
        bring(&folder, &tree)?;
        Ok(Copy {
            krate: Crate {
                in_place_of: member.map(str::to_owned),
                ..Crate::new(folder, package)
            },
            _turn: turn,
        })
    }

    /// Writes another content into a file of the copy.
    pub fn replace(&self, path: &str, content: &str) -> anyhow::Result<()> {
        files::write(&self.krate.folder.join(path), content.as_bytes())
    }

    /// Brings a folder that stays to the contents of this copy, and returns the crate there. A file that has not changed is
    /// not written, so cargo builds the crate again only when something has.
    pub fn kept_in(&self, folder: PathBuf) -> anyhow::Result<Crate> {
        bring(&folder, &files::read_tree(&self.krate.folder)?)?;
        Ok(Crate {
            folder,
            ..self.krate.clone()
        })
    }

    /// Moves the copy, in one step, to a folder that is not there yet, where it stays.
    pub fn moved_to(self, folder: &Path) -> anyhow::Result<()> {
        fs::rename(&self.krate.folder, folder)
            .with_context(|| format!("cannot make {}", folder.display()))
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

/// Makes a crate a workspace of its own.
fn stand_alone(
    workspace: &Workspace,
    krate: &mut Tree,
    source: &Path,
    package: &str,
) -> anyhow::Result<()> {
    let mut root = read_table(&workspace.root().join("Cargo.toml"))?;
    let path = source.join("Cargo.toml");
    let manifest = krate.get(Path::new("Cargo.toml"));
    let manifest = manifest.with_context(|| format!("cannot read {}", path.display()))?;
    let mut manifest = table(&path, manifest)?;
    if let Some(Value::Table(table)) = manifest.get_mut("package") {
        table.insert("name".to_owned(), Value::String(package.to_owned()));
    }
    if let Some(Value::Table(mut tables)) = root.remove("workspace") {
        for only_of_the_root in ["members", "default-members", "exclude"] {
            tables.remove(only_of_the_root);
        }
        manifest.insert("workspace".to_owned(), Value::Table(tables));
    }
    if let Some(profiles) = root.remove("profile") {
        manifest.insert("profile".to_owned(), profiles);
    }
    krate.insert(
        "Cargo.toml".into(),
        toml::to_string(&manifest)?.into_bytes(),
    );
    let locked = fs::read(workspace.root().join("Cargo.lock"))?;
    krate.insert("Cargo.lock".into(), locked);
    Ok(())
}

fn read_table(path: &Path) -> anyhow::Result<Table> {
    table(path, files::text(path)?.as_bytes())
}

fn table(path: &Path, text: &[u8]) -> anyhow::Result<Table> {
    toml::from_slice(text).with_context(|| format!("{} is malformed", path.display()))
}

/// Brings a folder to these contents. A file that has them already is not written.
fn bring(folder: &Path, contents: &Tree) -> anyhow::Result<()> {
    let before = files::read_tree(folder)?;
    for path in files::differing(&before, contents) {
        let place = folder.join(&path);
        match contents.get(&path) {
            Some(bytes) => files::write(&place, bytes)?,
            None => files::remove(&place)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::SystemTime;

    use tempfile::TempDir;

    use super::*;
    use crate::build::launch::RELEASE_PROFILE;

    /// A checkout with a crate named `reference`.
    fn checkout() -> anyhow::Result<TempDir> {
        let folder = tempfile::tempdir()?;
        let source = folder.path().join("reference");
        fs::create_dir_all(source.join("src"))?;
        fs::write(source.join("src/main.rs"), "fn main() {}\n")?;
        fs::write(
            source.join("Cargo.toml"),
            "[package]\nname = \"reference\"\n",
        )?;
        fs::write(source.join(RELEASE_PROFILE), "[profile.release]\n")?;
        fs::write(folder.path().join("Cargo.lock"), "")?;
        fs::write(
            folder.path().join("Cargo.toml"),
            "[workspace]\nmembers = [\"reference\"]\n[profile.dev]\ndebug = 0\n",
        )?;
        Ok(folder)
    }

    #[tokio::test]
    async fn a_patch_may_change_how_the_release_is_built() -> anyhow::Result<()> {
        let folder = checkout()?;
        let source = folder.path().join("reference");
        let patch = "Title: lto\n\n--- a/profile.toml\n+++ b/profile.toml\n@@ -1 +1,2 @@\n [profile.release]\n+lto = true\n";
        let copy = Copy::patched(&Workspace::at(folder.path()), &source, "variant", patch).await?;
        let profile = read_table(&copy.krate().folder.join(RELEASE_PROFILE))?;
        assert_eq!(profile["profile"]["release"]["lto"].as_bool(), Some(true));
        let manifest = read_table(&copy.krate().folder.join("Cargo.toml"))?;
        assert_eq!(manifest["package"]["name"].as_str(), Some("variant"));
        assert_eq!(manifest["profile"]["dev"]["debug"].as_integer(), Some(0));
        assert!(manifest["workspace"].get("members").is_none());
        Ok(())
    }

    #[tokio::test]
    async fn a_second_command_that_needs_the_same_copy_waits() -> anyhow::Result<()> {
        let folder = checkout()?;
        let (workspace, source) = (
            Workspace::at(folder.path()),
            folder.path().join("reference"),
        );
        let first = Copy::of(&workspace, &source, "copy").await?;
        let file = first.krate().folder.join("src/main.rs");
        let mut second = std::pin::pin!(Copy::of(&workspace, &source, "copy"));
        let soon = std::time::Duration::from_millis(50);
        assert!(tokio::time::timeout(soon, &mut second).await.is_err());
        assert!(
            file.exists(),
            "the second command has removed what the first one builds"
        );
        drop(first);
        let _second = second.await?;
        assert!(file.exists());
        Ok(())
    }

    #[tokio::test]
    async fn what_has_not_changed_in_a_kept_copy_is_not_written_again() -> anyhow::Result<()> {
        let folder = checkout()?;
        let workspace = Workspace::at(folder.path());
        let source = folder.path().join("reference");
        let kept = folder.path().join("kept");
        let keep = async || {
            let copy = Copy::of(&workspace, &source, "copy").await?;
            copy.kept_in(kept.clone())
        };
        keep().await?;
        let long_ago = SystemTime::UNIX_EPOCH;
        for path in ["src/main.rs", RELEASE_PROFILE] {
            File::options()
                .write(true)
                .open(kept.join(path))?
                .set_modified(long_ago)?;
        }
        fs::write(
            source.join(RELEASE_PROFILE),
            "[profile.release]\nlto = true\n",
        )?;
        let krate = keep().await?;
        let written = |path| fs::metadata(krate.folder.join(path))?.modified();
        assert_eq!(written("src/main.rs")?, long_ago);
        assert!(written(RELEASE_PROFILE)? > long_ago);
        Ok(())
    }
}
