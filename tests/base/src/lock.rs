//! Locks between commands: two that run at once in one checkout take turns where they would disturb each other.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;

use crate::outcome::Trouble;

/// A held lock; released when dropped, and by the kernel when the tool dies.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Drop for Lock {
    /// A child that another thread is just starting has the file open as well, until it becomes its program: closing it here alone
    /// would let go of the lock only then.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

impl Lock {
    /// Takes the lock file `path`, which is made when it is missing and stays. Waits for a command that holds it, and says so:
    /// "waiting for another command, which `does` …".
    pub async fn take(path: &Path, does: &str) -> anyhow::Result<Lock> {
        if let Some(lock) = Lock::try_take(path)? {
            return Ok(lock);
        }
        // On a thread of its own: the runtime would wait for one of its threads at the end of an interrupted command.
        let (path, does) = (path.to_owned(), does.to_owned());
        let (sender, locked) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            // The receiver is gone when the command was interrupted.
            let _ = sender.send(Lock::take_blocking(&path, &does));
        });
        locked.await?
    }

    /// [`Lock::take`] for code that isn't async.
    pub fn take_blocking(path: &Path, does: &str) -> anyhow::Result<Lock> {
        if let Some(lock) = Lock::try_take(path)? {
            return Ok(lock);
        }
        // This very process may be the one that holds it.
        if !is_ours(path) {
            eprintln!("waiting for another command, which {does}");
        }
        let file = open(path)?;
        let locked = file.lock();
        locked.map_err(|error| cannot_lock(path, &error))?;
        Ok(Lock::held(file))
    }

    /// Takes the lock file; `None` when somebody else holds it.
    pub fn try_take(path: &Path) -> anyhow::Result<Option<Lock>> {
        let file = open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Lock::held(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(cannot_lock(path, &error).into()),
        }
    }

    /// Takes the lock file together with others who only share it; `None` when somebody holds it alone.
    pub fn try_share(path: &Path) -> anyhow::Result<Option<Lock>> {
        let file = open(path)?;
        match file.try_lock_shared() {
            Ok(()) => Ok(Some(Lock { file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(cannot_lock(path, &error).into()),
        }
    }

    /// A lock file names its holder.
    fn held(mut file: File) -> Lock {
        // Without the name somebody who waits is told of another command, and that is all.
        let _ = file
            .set_len(0)
            .and_then(|()| write!(file, "{}", std::process::id()));
        Lock { file }
    }
}

fn cannot_lock(path: &Path, error: &io::Error) -> Trouble {
    Trouble::new(format!("cannot lock {}: {error}", path.display()))
        .expected("a file system with locks: two commands at the same time take turns by them")
        .next("move the checkout to a disk of this machine; some shares and synced folders know no locks")
}

fn is_ours(path: &Path) -> bool {
    fs::read_to_string(path).is_ok_and(|holder| holder == std::process::id().to_string())
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn who_waits_for_itself_waits_for_no_other_command() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("work.lock");
        fs::write(&path, "1")?;
        assert!(!is_ours(&path));
        let _held = Lock::take_blocking(&path, "works")?;
        assert!(is_ours(&path));
        Ok(())
    }

    #[test]
    fn a_child_that_is_being_started_does_not_keep_it() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("work.lock");
        let lock = Lock::take_blocking(&path, "works")?;
        let _in_the_child = lock.file.try_clone()?;
        drop(lock);
        assert!(Lock::try_take(&path)?.is_some());
        Ok(())
    }

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
