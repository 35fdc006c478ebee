//! Calls of git: contents by their ids, and its three-way merge of one file.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context;
use sha1::{Digest, Sha1};

use workshop_base::outcome::Trouble;

/// The id under which git keeps this content.
pub fn id(content: &[u8]) -> String {
    let mut hash = Sha1::new();
    hash.update(format!("blob {}\0", content.len()));
    hash.update(content);
    hash.finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// The content that git keeps under this id; none when the repository does not have it, or there is no repository.
pub fn content(root: &Path, id: &str) -> anyhow::Result<Option<Vec<u8>>> {
    let output = git()
        .current_dir(root)
        .args(["cat-file", "blob", id])
        .output()
        .map_err(no_git)?;
    Ok(output.status.success().then_some(output.stdout))
}

/// Has git keep a content, so that it is found by its id also before it is committed. Outside a repository there is
/// nowhere to keep it, and nothing happens.
pub fn keep(root: &Path, content: &[u8]) -> anyhow::Result<()> {
    let mut child = git()
        .current_dir(root)
        .args(["hash-object", "-w", "--stdin"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(no_git)?;
    if let Some(mut stdin) = child.stdin.take() {
        // Where git refuses to listen, there is no repository.
        let _ = stdin.write_all(content);
    }
    child.wait().context("git did not end")?;
    Ok(())
}

/// What came of merging one file.
#[derive(Debug, PartialEq, Eq)]
pub enum Merged {
    /// The two changes go together.
    Clean(Vec<u8>),
    /// They do not; the text with both sides between markers.
    Conflict(Vec<u8>),
}

/// One side of a merge: its content, and the name that the markers give it.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// The file's content; empty where there is no file.
    pub content: &'a [u8],
    /// The name in the markers.
    pub name: &'a str,
}

/// Merges the change that leads from `base` to `theirs` into `ours`.
pub fn merge_file(ours: Side, base: Side, theirs: Side) -> anyhow::Result<Merged> {
    merge_with(&["--diff3"], ours, base, theirs)
}

/// The same, but where both sides have changed the same lines, those of `ours` stay.
pub fn merge_file_keeping_ours(ours: Side, base: Side, theirs: Side) -> anyhow::Result<Vec<u8>> {
    match merge_with(&["--ours"], ours, base, theirs)? {
        Merged::Clean(content) | Merged::Conflict(content) => Ok(content),
    }
}

fn merge_with(options: &[&str], ours: Side, base: Side, theirs: Side) -> anyhow::Result<Merged> {
    let folder = tempfile::tempdir().context("no temporary folder")?;
    let mut command = git();
    command
        .current_dir(folder.path())
        .args(["merge-file", "--stdout"])
        .args(options);
    for side in [ours, base, theirs] {
        command.args(["-L", side.name]);
    }
    for (name, side) in [("ours", ours), ("base", base), ("theirs", theirs)] {
        std::fs::write(folder.path().join(name), side.content)
            .context("cannot write to a temporary folder")?;
        command.arg(name);
    }
    let output = command.output().map_err(no_git)?;
    // The exit code is the number of conflicts, cut off at 127.
    match output.status.code() {
        Some(0) => Ok(Merged::Clean(output.stdout)),
        Some(1..=127) => Ok(Merged::Conflict(output.stdout)),
        _ => anyhow::bail!(
            "git could not merge: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        ),
    }
}

fn git() -> Command {
    let mut command = Command::new("git");
    command.stdin(Stdio::null()).env("LC_ALL", "C");
    command
}

fn no_git(error: std::io::Error) -> Trouble {
    Trouble::new(format!("git cannot be run ({error})"))
        .expected("git on the PATH")
        .next("just doctor")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_the_one_that_git_gives() {
        // From `printf 'fn main() {}\n' | git hash-object --stdin`.
        assert_eq!(
            id(b"fn main() {}\n"),
            "f328e4d9d04c31d0d70d16d21a07d1613be9d577"
        );
    }
}
