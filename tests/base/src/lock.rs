//! Locks between commands: two that run at once in one checkout take turns where they would disturb each other.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::Path;

use anyhow::Context;

/// A held lock; released when dropped, and by the kernel when the tool dies.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock file `path`, which is made when it is missing and stays. Waits for a command that holds it, and says so:
    /// "waiting for another command, which `does` …".
    pub async fn take(path: &Path, does: &str) -> anyhow::Result<Lock> {
        let file = open(path)?;
        if try_lock(&file, path)? {
            return Ok(Lock { _file: file });
        }
        eprintln!("waiting for another command, which {does}");
        // On a thread of its own: the runtime would wait for one of its threads at the end of an interrupted command.
        let (sender, locked) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            // Nobody waits anymore when the command was interrupted.
            let _ = sender.send(file.lock().map(|()| Lock { _file: file }));
        });
        locked
            .await?
            .with_context(|| format!("cannot lock {}", path.display()))
    }

    /// [`Lock::take`] for code that isn't async.
    pub fn take_blocking(path: &Path, does: &str) -> anyhow::Result<Lock> {
        let file = open(path)?;
        if !try_lock(&file, path)? {
            eprintln!("waiting for another command, which {does}");
            file.lock()
                .with_context(|| format!("cannot lock {}", path.display()))?;
        }
        Ok(Lock { _file: file })
    }

    /// Takes the lock file; `None` when somebody else holds it.
    pub fn try_take(path: &Path) -> anyhow::Result<Option<Lock>> {
        let file = open(path)?;
        Ok(try_lock(&file, path)?.then_some(Lock { _file: file }))
    }
}

fn open(path: &Path) -> anyhow::Result<File> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
        .with_context(|| format!("cannot open {}", path.display()))
}

fn try_lock(file: &File, path: &Path) -> anyhow::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => {
            Err(error).with_context(|| format!("cannot lock {}", path.display()))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn the_second_waits_until_the_first_has_gone() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("new/work.lock");
        let first = Lock::take(&path, "works").await?;
        assert!(Lock::try_take(&path)?.is_none());
        let mut second = std::pin::pin!(Lock::take(&path, "works"));
        let early = tokio::time::timeout(Duration::from_millis(20), &mut second).await;
        assert!(early.is_err(), "the lock is held");
        drop(first);
        let second = tokio::time::timeout(Duration::from_secs(10), second).await??;
        assert!(Lock::try_take(&path)?.is_none());
        drop(second);
        assert!(Lock::try_take(&path)?.is_some());
        Ok(())
    }
}
