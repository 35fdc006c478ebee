//! The measuring tools: where they are, and how to get them when they are nowhere.

pub mod crowd;
pub mod curl;
pub mod database;
pub mod first_answer;
pub mod hyperfine;
pub mod oha;
pub mod recording;

use std::path::PathBuf;
use std::process::{Output, Stdio};

use anyhow::Context;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::process::Command;

use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;

/// Finds a tool on `PATH`, else among the tools that `justw` brings.
pub fn find(workspace: &Workspace, tool: &str) -> anyhow::Result<PathBuf> {
    look(workspace, tool).ok_or_else(|| {
        Trouble::new(format!(
            "{tool} is neither on the PATH nor among the course's tools"
        ))
        .expected(format!(
            "{tool} in a folder of PATH, or in {}",
            workspace.tools().join("bin").display()
        ))
        .next("./justw --bring oha hyperfine; other tools are packages of your system")
        .into()
    })
}

/// Finds a tool that is nice to have.
pub fn look(workspace: &Workspace, tool: &str) -> Option<PathBuf> {
    workshop_base::probe::tool(workspace, tool)
}

/// Runs a program to its end. It has a process group of its own: Ctrl-C reaches the tool alone, which then ends the program in
/// order. Whatever way this ends, also when the future is dropped, nothing that the program started is left in the group.
pub async fn run(command: &mut Command) -> anyhow::Result<Output> {
    let program = command.as_std().get_program().display().to_string();
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("{program} cannot be run"))?;
    let _group = Group(child.id());
    let output = child.wait_with_output().await;
    output.with_context(|| format!("cannot wait for {program}"))
}

/// What a program prints that ends well; `typed` is the command as somebody would type it.
pub async fn printed(command: &mut Command, typed: &str) -> anyhow::Result<String> {
    let output = run(command).await?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let program = typed.split(' ').next().unwrap_or_default();
    Err(Trouble::new(format!(
        "{program} ended with {}: {}",
        output.status,
        said.trim()
    ))
    .expected("a run to its end")
    .next(format!("run it by hand: {typed}"))
    .into())
}

/// Ends a process group when dropped.
struct Group(Option<u32>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            let _ = killpg(Pid::from_raw(group.cast_signed()), Signal::SIGKILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_that_is_nowhere_is_told_with_the_command_that_brings_it() {
        let folder = tempfile::tempdir().unwrap();
        let error = find(&Workspace::at(folder.path()), "no-such-tool")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("no-such-tool") && error.contains("./justw --bring oha hyperfine"),
            "{error}"
        );
    }

    #[test]
    fn a_tool_that_was_brought_is_found() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::at(folder.path());
        let bin = workspace.tools().join("bin");
        std::fs::create_dir_all(&bin).unwrap();
        let tool = bin.join("brought-tool");
        std::fs::write(&tool, "").unwrap();
        assert_eq!(
            look(&workspace, "brought-tool"),
            None,
            "a file that cannot be run is no tool"
        );
        std::fs::set_permissions(&tool, PermissionsExt::from_mode(0o755)).unwrap();
        assert_eq!(look(&workspace, "brought-tool"), Some(tool));
    }
}
