//! Finds other programs, and asks them with a time limit: a program that hangs must not hang the doctor.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::program;
use crate::workspace::Workspace;

/// Long enough for a program that only prints its version, also on a Raspberry Pi.
pub const QUICK: Duration = Duration::from_secs(5);

/// Long enough for a program that starts a JVM first.
pub const PATIENT: Duration = Duration::from_secs(15);

/// The most that is read of what a program says, in bytes.
const PAGE: u64 = 64 * 1024;

/// What came of asking a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProbeAnswer {
    /// There is no such program on the PATH.
    Absent,
    /// It did not end in time, and was stopped.
    Silent(Duration),
    /// It ended with an error; what it printed, its errors first.
    Refused(String),
    /// What it printed, its errors last.
    Said(String),
}

impl ProbeAnswer {
    /// The first line of what a program said that ended well.
    pub fn line(&self) -> Option<&str> {
        match self {
            ProbeAnswer::Said(text) => text.lines().next(),
            _ => None,
        }
    }
}

/// Runs a program, found through the PATH, in `folder`, and waits for its end no longer than `limit`.
pub async fn ask(
    program: impl AsRef<OsStr>,
    args: &[&str],
    folder: &Path,
    limit: Duration,
) -> ProbeAnswer {
    let mut command = Command::new(program);
    // What is read here is read in English.
    command.args(args).current_dir(folder).env("LC_ALL", "C");
    // Scripts start programs of their own; all of them are killed when the time is up.
    let asking = program::output(command, Signal::SIGKILL, "", PAGE);
    let output = match tokio::time::timeout(limit, asking).await {
        Ok(Ok(output)) => output,
        Ok(Err(error)) if error.kind() == ErrorKind::NotFound => return ProbeAnswer::Absent,
        Ok(Err(error)) => return ProbeAnswer::Refused(error.to_string()),
        Err(_) => return ProbeAnswer::Silent(limit),
    };
    let [stdout, stderr] =
        [&output.stdout, &output.stderr].map(|said| String::from_utf8_lossy(said));
    let both = |first: &str, second: &str| {
        format!("{}\n{}", first.trim(), second.trim())
            .trim()
            .to_owned()
    };
    if output.status.success() {
        ProbeAnswer::Said(both(&stdout, &stderr))
    } else {
        ProbeAnswer::Refused(both(&stderr, &stdout))
    }
}

/// As [`ask`] in the current folder, where an override of rustup's counts, for code that blocks: on a thread of its own, since its
/// caller may be inside of a runtime.
pub fn ask_and_wait(program: &Path, args: &[&str], limit: Duration) -> ProbeAnswer {
    let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let asking = || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build()?;
        Ok(runtime.block_on(ask(program, args, &here, limit)))
    };
    let answer = std::thread::scope(|scope| scope.spawn(asking).join());
    let failed = |error: std::io::Error| ProbeAnswer::Refused(error.to_string());
    answer.map_or(ProbeAnswer::Absent, |answer| answer.unwrap_or_else(failed))
}

/// Runs something that blocks, for `limit` at the longest. On a thread of its own: the runtime would wait for its own
/// threads at the end of the command.
pub async fn in_time<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    tokio::time::timeout(limit, on_a_thread(work)).await.ok()?
}

/// Runs something that blocks on a thread of its own, so that what waits for it can be given up: an answer that is typed, say. None
/// where it panics.
pub async fn on_a_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (sender, result) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        // The receiver is gone when it was given up.
        let _ = sender.send(work());
    });
    result.await.ok()
}

/// The tool that `justw` brought, else the one on the PATH.
pub fn tool(workspace: &Workspace, name: &str) -> Option<PathBuf> {
    let brought = which::which(workspace.tools().join("bin").join(name));
    brought.ok().or_else(|| on_path(name))
}

/// The place of a program on the PATH.
pub fn on_path(program: &str) -> Option<PathBuf> {
    which::which(program).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{process, wait};

    #[tokio::test]
    async fn nothing_is_left_of_a_program_that_was_silent() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let limit = Duration::from_millis(500);
        let script = ["-c", "sleep 60 & echo $! >left; wait"];
        let answer = ask("sh", &script, folder.path(), limit).await;
        assert_eq!(answer, ProbeAnswer::Silent(limit));
        let left: u32 = std::fs::read_to_string(folder.path().join("left"))?
            .trim()
            .parse()?;
        let gone = async || process::is_gone(left).then_some(());
        assert!(wait::within(PATIENT, gone).await.is_some());
        Ok(())
    }
}
