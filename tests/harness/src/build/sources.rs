//! What was built from which sources: nothing is built a second time from the same ones.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use sha2::{Digest, Sha256};
use workshop_base::files::{self, Tree};
use workshop_base::lock::Lock;

/// Has something built, unless all of it is there and was built from the same sources. `record` is a path without an extension for
/// the hash of these, and for the lock by which two commands take turns.
pub async fn build_from(
    sources: &[PathBuf],
    built: &[PathBuf],
    record: &Path,
    does: &str,
    build: impl AsyncFnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let _turn = Lock::take(&record.with_added_extension("lock"), does).await?;
    let stamp = stamp(record);
    let sources = fingerprint(sources)?;
    let is_there = built.iter().all(|path| path.exists());
    if is_there && fs::read_to_string(&stamp).ok().as_deref() == Some(&sources) {
        return Ok(());
    }
    build().await?;
    fs::write(&stamp, &sources).with_context(|| format!("cannot write {}", stamp.display()))
}

/// The file that says from which sources something was built.
fn stamp(record: &Path) -> PathBuf {
    record.with_added_extension("stamp")
}

/// A hash over the names and contents of these files and of all files below these folders. Where one ends and the next begins counts
/// as well.
pub fn fingerprint(paths: &[PathBuf]) -> anyhow::Result<String> {
    let mut hash = Sha256::new();
    let mut add = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    for path in paths {
        let tree = if path.is_dir() {
            files::read_tree(path)?
        } else {
            let bytes =
                fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
            Tree::from([(path.file_name().unwrap_or_default().into(), bytes)])
        };
        add(&tree.len().to_le_bytes());
        for (name, bytes) in tree {
            add(name.as_os_str().as_encoded_bytes());
            add(&bytes);
        }
    }
    Ok(hex::encode(hash.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_moves_from_one_file_to_the_next_is_another_source() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let paths = ["pom.xml", "kotlin"].map(|name| folder.path().join(name));
        let print = |first: &str, second: &str| {
            fs::write(&paths[0], first)?;
            fs::write(&paths[1], second)?;
            fingerprint(&paths)
        };
        assert_ne!(print("ab", "c")?, print("a", "bc")?);
        Ok(())
    }
}
