//! A program that builds something: it ends with the command that has started it, and so do the programs that it has started.

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Output, Stdio};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Child;

/// A running program. Dropping it ends the program and those below it.
pub struct Program {
    pub child: Child,
}

/// Starts a program as the head of a process group. Ctrl-C in a terminal reaches the tool alone then, which ends the group.
pub fn start(mut command: Command) -> std::io::Result<Program> {
    command.process_group(0);
    let child = tokio::process::Command::from(command).spawn()?;
    Ok(Program { child })
}

/// Runs a program to its end, with this on its input, and hands over what it printed.
pub async fn run(mut command: Command, input: &str) -> std::io::Result<Output> {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut program = start(command)?;
    let child = &mut program.child;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let writing = async move {
        if let Some(mut stdin) = stdin {
            // A program that ends before it has read all of it says why.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
    };
    let ((), stdout, stderr, status) =
        tokio::join!(writing, read(stdout), read(stderr), child.wait());
    Ok(Output {
        status: status?,
        stdout: stdout?,
        stderr: stderr?,
    })
}

async fn read(pipe: Option<impl AsyncRead + Unpin>) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        pipe.read_to_end(&mut bytes).await?;
    }
    Ok(bytes)
}

impl Program {
    /// Waits for its end.
    pub async fn ended(mut self) -> std::io::Result<ExitStatus> {
        self.child.wait().await
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Without an id it has ended, and somebody else may have it now.
        if let Some(id) = self.child.id() {
            let _ = killpg(Pid::from_raw(id.cast_signed()), Signal::SIGTERM);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use anyhow::Context;
    use tokio::io::{AsyncBufReadExt, BufReader};
    use workshop_base::{process, wait};

    use super::*;

    #[tokio::test]
    async fn a_build_that_is_given_up_leaves_no_program() -> anyhow::Result<()> {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 60 & echo $!; wait"]);
        command.stdout(Stdio::piped());
        let mut shell = start(command)?;
        let pipe = shell.child.stdout.take().context("a pipe")?;
        let mut line = String::new();
        BufReader::new(pipe).read_line(&mut line).await?;
        let below: u32 = line.trim().parse()?;
        drop(shell);
        let gone = async || process::is_gone(below).then_some(());
        assert!(wait::within(Duration::from_secs(5), gone).await.is_some());
        Ok(())
    }
}
