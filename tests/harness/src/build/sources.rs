//! What was built from which sources: nothing is built a second time from the same ones.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use sha2::{Digest, Sha256};
use workshop_base::files;
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
pub fn stamp(record: &Path) -> PathBuf {
    record.with_added_extension("stamp")
}

/// A hash over the names and contents of these files and of all files below these folders.
pub fn fingerprint(paths: &[PathBuf]) -> anyhow::Result<String> {
    let mut hash = Sha256::new();
    for path in paths {
        if path.is_dir() {
            for (name, bytes) in files::read_tree(path)? {
                hash.update(name.as_os_str().as_encoded_bytes());
                hash.update(bytes);
            }
        } else {
            let bytes =
                fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
            hash.update(bytes);
        }
    }
    Ok(hex::encode(hash.finalize()))
}
