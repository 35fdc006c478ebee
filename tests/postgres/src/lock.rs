//! A lock between commands: two that run at once in one checkout take turns where they would disturb each other.

use std::fs::{File, OpenOptions, TryLockError};

use anyhow::Context;

use workshop_base::workspace::Workspace;

/// A held lock; let go when dropped, and by the kernel when the tool dies.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock `.workshop/<name>.lock`, waiting for another command to let go of it. Says so when it waits.
    ///
    /// # Errors
    /// When the file cannot be made or locked.
    pub async fn take(
        workspace: &Workspace,
        name: &str,
        waiting_for: &str,
    ) -> anyhow::Result<Self> {
        let folder = workspace.state();
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
        let path = folder.join(format!("{name}.lock"));
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .with_context(|| format!("cannot open {}", path.display()))?;
        match file.try_lock() {
            Ok(()) => return Ok(Lock { _file: file }),
            Err(TryLockError::WouldBlock) => {
                eprintln!("waiting for another command, which {waiting_for}")
            }
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("cannot lock {}", path.display()));
            }
        }
        let file = tokio::task::spawn_blocking(move || file.lock().map(|()| file))
            .await?
            .with_context(|| format!("cannot lock {}", path.display()))?;
        Ok(Lock { _file: file })
    }
}
