//! Finds other programs, and asks them with a time limit: a program that hangs must not hang the doctor.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;

use crate::workspace::Workspace;

/// Long enough for a program that only prints its version, also on a Raspberry Pi.
pub const QUICK: Duration = Duration::from_secs(5);

/// Long enough for a program that starts a JVM first.
pub const PATIENT: Duration = Duration::from_secs(15);

/// What came of asking a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// There is no such program on the PATH.
    Absent,
    /// It did not end in time, and was stopped.
    Silent(Duration),
    /// It ended with an error; what it printed, its errors first.
    Refused(String),
    /// What it printed, its errors last.
    Said(String),
}

impl Answer {
    /// The first line of what a program said that ended well.
    pub fn line(&self) -> Option<&str> {
        match self {
            Answer::Said(text) => text.lines().next(),
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
) -> Answer {
    let mut command = Command::new(program);
    command
        .args(args)
        .current_dir(folder)
        // What is read here is read in English.
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Scripts start programs of their own; all of them are stopped when the time is up.
        .process_group(0)
        .kill_on_drop(true);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) if error.kind() == ErrorKind::NotFound => return Answer::Absent,
        Err(error) => return Answer::Refused(error.to_string()),
    };
    let group = child.id();
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let finished = async {
        let (stdout, stderr, status) = tokio::join!(read(stdout), read(stderr), child.wait());
        (stdout, stderr, status.is_ok_and(|status| status.success()))
    };
    let both = |first: String, second: String| format!("{}\n{}", first.trim(), second.trim());
    match tokio::time::timeout(limit, finished).await {
        Ok((stdout, stderr, true)) => Answer::Said(both(stdout, stderr).trim().to_owned()),
        Ok((stdout, stderr, false)) => Answer::Refused(both(stderr, stdout).trim().to_owned()),
        Err(_) => {
            if let Some(group) = group.and_then(|id| i32::try_from(id).ok()) {
                let group = nix::unistd::Pid::from_raw(group);
                // It may have ended this very moment.
                let _ = nix::sys::signal::killpg(group, nix::sys::signal::Signal::SIGKILL);
            }
            Answer::Silent(limit)
        }
    }
}

async fn read(pipe: Option<impl AsyncRead + Unpin>) -> String {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        // A page of it is enough; what was read before an error counts.
        let _ = pipe.take(64 * 1024).read_to_end(&mut bytes).await;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// As [`ask`], for code that blocks: on a thread of its own, since its caller may be inside of a runtime.
pub fn ask_and_wait(program: &Path, args: &[&str], limit: Duration) -> Answer {
    let asking = || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build()?;
        Ok(runtime.block_on(ask(program, args, Path::new("/"), limit)))
    };
    let answer = std::thread::scope(|scope| scope.spawn(asking).join());
    let failed = |error: std::io::Error| Answer::Refused(error.to_string());
    answer.map_or(Answer::Absent, |answer| answer.unwrap_or_else(failed))
}

/// Runs something that blocks, for `limit` at the longest. On a thread of its own: the runtime would wait for its own
/// threads at the end of the command.
pub async fn in_time<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (sender, result) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        // The receiver is gone when the time is up.
        let _ = sender.send(work());
    });
    tokio::time::timeout(limit, result).await.ok()?.ok()
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
