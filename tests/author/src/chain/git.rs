//! What git knows of the chain: what a folder held in a commit, and which commit a change is compared with.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use workshop_base::files::Tree;
use workshop_base::outcome::Trouble;

/// Where git keeps what everything was like after the last carry: of each worktree by itself.
pub const CARRIED: &str = "refs/worktree/workshop/carried";

/// The files that a folder held in a commit, of which `now` has those that have not changed since.
pub fn at(commit: &str, folder: &Path, now: &Tree) -> anyhow::Result<Tree> {
    let mut tree = now.clone();
    let commands: [&[&str]; 2] = [
        &[
            "diff",
            "--name-only",
            "--no-renames",
            "--relative",
            "-z",
            commit,
            "--",
            ".",
        ],
        &["ls-files", "--others", "-z"],
    ];
    let mut changed = BTreeSet::new();
    for command in commands {
        let listed = git(folder, command)?;
        if !listed.status.success() {
            let said = String::from_utf8_lossy(&listed.stderr);
            return Trouble::new(format!("git cannot compare with the commit {commit}"))
                .because(said.trim())
                .expected("a clone with the commit before the change")
                .next("git log; git fetch --unshallow where the clone is shallow")
                .err();
        }
        let names = listed.stdout.split(|byte| *byte == 0);
        let names = names.filter(|name| !name.is_empty());
        changed.extend(names.map(|name| String::from_utf8_lossy(name).into_owned()));
    }
    for path in changed {
        let content = git(folder, ["show", &format!("{commit}:./{path}")])?;
        let content = content.status.success().then_some(content.stdout);
        set(&mut tree, Path::new(&path), content);
    }
    Ok(tree)
}

/// Puts a file into the tree, or takes it out.
pub fn set(tree: &mut Tree, path: &Path, content: Option<Vec<u8>>) {
    match content {
        Some(content) => tree.insert(path.to_path_buf(), content),
        None => tree.remove(path),
    };
}

/// The commit that a change in this folder is compared with: everything as the last carry left it; or the newest commit, where there
/// was one since, or where nothing else has changed and so what was carried is thrown away.
pub fn last_carried(root: &Path, folder: &Path) -> anyhow::Result<String> {
    let commit = |name: &str| git(root, ["rev-parse", "--verify", "--quiet", name]);
    let carried_on = commit(&format!("{CARRIED}^1"))?;
    let is_the_newest = carried_on.status.success() && carried_on.stdout == commit("HEAD")?.stdout;
    let folder = folder.strip_prefix(root)?.display();
    let others = ["diff", "--quiet", "HEAD", "--", ".", &format!(":!{folder}")];
    let is_thrown_away = git(root, others)?.status.success();
    let carried = is_the_newest && !is_thrown_away;
    Ok(if carried { CARRIED } else { "HEAD" }.to_owned())
}

/// Has git keep everything as it is now, as a commit that no branch has. So a change can be carried, and the next one after it,
/// without a commit between them. Best effort: without it, the newest commit counts.
pub fn keep_carried(root: &Path) -> anyhow::Result<()> {
    // Nobody sees this commit, so it needs nobody's name; without any, git makes none.
    let name = [
        "-c",
        "user.name=workshop",
        "-c",
        "user.email=workshop@localhost",
    ];
    let now = git(root, name.iter().chain(&["stash", "create"]))?.stdout;
    let now = String::from_utf8_lossy(&now);
    if !now.trim().is_empty() {
        git(root, ["update-ref", CARRIED, now.trim()])?;
    }
    Ok(())
}

/// Runs git in this folder to its end, however that is.
pub fn git(
    folder: &Path,
    args: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> anyhow::Result<Output> {
    let mut command = Command::new("git");
    command.args(args).env("LC_ALL", "C").current_dir(folder);
    command.stdin(Stdio::null()).output().map_err(|error| {
        Trouble::new(format!("git cannot be run ({error})"))
            .expected("git on the PATH")
            .next("just doctor")
            .into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_worktree_has_not_carried_what_this_one_has() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let (one, other) = (folder.path().join("one"), folder.path().join("other"));
        std::fs::create_dir(&one)?;
        let succeeds = |args: &[&str]| -> anyhow::Result<()> {
            let output = git(&one, args)?;
            anyhow::ensure!(output.status.success(), "git {args:?}: {output:?}");
            Ok(())
        };
        succeeds(&["init", "--quiet"])?;
        for path in ["a", "b"] {
            std::fs::create_dir(one.join(path))?;
            std::fs::write(one.join(path).join("file"), "before")?;
        }
        succeeds(&["add", "--all"])?;
        let name = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
        let commit = [
            "-c",
            "commit.gpgsign=false",
            "commit",
            "--quiet",
            "--message",
            "One",
        ];
        succeeds(&[&name[..], &commit].concat())?;
        succeeds(&["worktree", "add", "--quiet", &other.display().to_string()])?;
        for worktree in [&one, &other] {
            for path in ["a", "b"] {
                std::fs::write(worktree.join(path).join("file"), "now")?;
            }
        }
        keep_carried(&one)?;
        assert_eq!(last_carried(&one, &one.join("a"))?, CARRIED);
        assert_eq!(last_carried(&other, &other.join("a"))?, "HEAD");
        Ok(())
    }
}
