//! What was built and is kept by a hash of all that went in: nothing is built twice, and nothing goes that somebody uses.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use anyhow::Context;
use workshop_base::files;
use workshop_base::scratch;
use workshop_base::workspace::Workspace;

/// What this process uses: a JVM that it has started loads classes whenever it needs them. The kernel lets go of the locks when the
/// process ends, and what it has started ends with it.
static IN_USE: Mutex<BTreeMap<PathBuf, File>> = Mutex::new(BTreeMap::new());

/// The folder below `.workshop` that is kept by this name and key, filled by `make` unless it is there. Of those that nobody uses, no
/// more than `most` are kept.
pub async fn kept<E: From<anyhow::Error>>(
    workspace: &Workspace,
    name: &str,
    key: &str,
    most: usize,
    make: impl AsyncFnOnce(&Path) -> Result<(), E>,
) -> Result<PathBuf, E> {
    let store = workspace.state().join(name);
    let folder = store.join(key);
    if !is_there(&folder) {
        let unfinished = scratch::folder_in_checkout(workspace, name)?;
        make(unfinished.path()).await?;
        let moved = fs::create_dir_all(&store).and_then(|()| unfinished.moved_to(&folder));
        // Another command may have been faster.
        if !is_there(&folder) {
            moved.with_context(|| format!("cannot make {}", folder.display()))?;
        }
        remove_the_oldest(&store, most);
    }
    Ok(folder)
}

/// Whether a folder is there; from now on it is in use.
fn is_there(folder: &Path) -> bool {
    let Ok(file) = File::open(folder) else {
        return false;
    };
    // Waits for a command that is just removing it. Where there are no locks, its age protects it.
    let _ = file.lock_shared();
    // Its time says when it was used last.
    let _ = file.set_modified(SystemTime::now());
    let is_there = folder.is_dir();
    let mut in_use = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
    in_use.insert(folder.to_owned(), file);
    is_there
}

/// Best effort: what cannot be removed is in the way of nothing.
fn remove_the_oldest(store: &Path, most: usize) {
    let mut folders: Vec<(SystemTime, PathBuf)> = fs::read_dir(store)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    folders.sort();
    let too_many = folders.len().saturating_sub(most);
    for (_, folder) in folders.into_iter().take(too_many) {
        if let Ok(file) = File::open(&folder)
            && file.try_lock().is_ok()
        {
            let _ = files::remove(&folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_a_running_service_may_still_load_is_not_removed() -> anyhow::Result<()> {
        let checkout = tempfile::tempdir()?;
        let workspace = Workspace::at(checkout.path());
        let store = workspace.state().join("glue");
        for key in ["in-use", "not-in-use"] {
            fs::create_dir_all(store.join(key))?;
        }
        // As another command holds what its JVM runs from.
        let running = File::open(store.join("in-use"))?;
        running.lock_shared()?;
        let make = async |folder: &Path| {
            fs::write(folder.join("classes"), "")?;
            anyhow::Ok(())
        };
        let folder = kept(&workspace, "glue", "new", 1, make).await?;
        assert!(folder.join("classes").is_file());
        assert!(store.join("in-use").exists());
        assert!(!store.join("not-in-use").exists());
        Ok(())
    }
}
