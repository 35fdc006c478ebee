//! The measuring tools: where they are, and how to get them when they are nowhere.

pub mod crowd;
pub mod curl;
pub mod database;
pub mod first_answer;
pub mod hyperfine;
pub mod oha;
pub mod recording;

use std::path::PathBuf;
use std::process::{Command, Output};

use workshop_base::outcome::Trouble;
use workshop_base::program;
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

/// What a program prints that ends well; `typed` is the command as somebody would type it.
pub async fn printed(command: Command, typed: &str) -> anyhow::Result<String> {
    ended_well(&program::run_tool(command).await?, typed)
}

/// What a program's output is that ended well.
pub(crate) fn ended_well(output: &Output, typed: &str) -> anyhow::Result<String> {
    let program = typed.split(' ').next().unwrap_or_default();
    let trouble = Trouble::new(format!("{program} failed"))
        .expected("a run to its end")
        .next(format!("run it by hand: {typed}"));
    Ok(program::printed(output, trouble)?)
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
