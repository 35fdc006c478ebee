//! Verdicts that are kept: what was green is green again as long as nothing has changed that is judged, or that judges.
//!
//! A verdict is an empty file in `.workshop/verdicts`, named by a hash of everything that it rests on. Red is never kept.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::Context;
use sha2::{Digest, Sha256};
use workshop::digest::{in_digits, take, take_tree};
use workshop_base::files::{self, Tree};
use workshop_base::originals;
use workshop_base::probe;
use workshop_base::workspace::Workspace;
use workshop_harness::build::jdk;
use workshop_postgres::Server;

/// A verdict that nobody has asked for in so long is forgotten.
const KEPT_FOR: Duration = Duration::from_secs(30 * 24 * 3600);

/// What judges, below the checkout's root.
const JUDGES: [&str; 22] = [
    "Cargo.lock",
    "Cargo.toml",
    "datasets",
    "tests/author/src/gate.rs",
    "tests/author/src/judge.rs",
    "tests/author/src/verdicts.rs",
    "tests/base/src",
    "tests/carddav/src",
    "tests/cli/src/commands/check.rs",
    "tests/cli/src/digest.rs",
    "tests/cli/src/hints.rs",
    "tests/cli/src/judge.rs",
    "tests/cli/src/katas.rs",
    "tests/cli/src/references.rs",
    "tests/cli/src/state.rs",
    "tests/cli/src/ways.rs",
    "tests/harness/src",
    "tests/postgres/src",
    "tests/requests/src",
    "tests/signer/src",
    "tests/source/src",
    "tests/suites",
];

/// The verdicts of a checkout.
#[derive(Debug)]
pub struct Verdicts {
    folder: PathBuf,
    count: bool,
    /// The judges and the compiler.
    rests_on: Sha256,
    /// The kind of PostgreSQL, for what may come out otherwise on another one.
    pub server: Tree,
    /// The Kotlin service and its JDK, for what is judged together with it.
    kotlin: Tree,
}

/// The name of one verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerdictKey(String);

impl Verdicts {
    /// The verdicts that rest on this checkout's tests, this compiler and this kind of server.
    /// With `anew` none of those that are kept counts.
    pub fn of(workspace: &Workspace, server: &Server, anew: bool) -> anyhow::Result<Verdicts> {
        let folder = workspace.state().join("verdicts");
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        forget_the_old(&folder);
        let mut rests_on = Sha256::new();
        for judge in JUDGES {
            take_all(&mut rests_on, judge, &workspace.root().join(judge))?;
        }
        let compiler = probe::ask_and_wait(Path::new("rustc"), &["-vV"], Duration::from_secs(20));
        take(
            &mut rests_on,
            "compiler",
            format!("{compiler:?}").as_bytes(),
        );
        let server = format!("{} {}", server.provider(), server.version());
        let mut kotlin = files::read_tree(&workspace.kotlin_service())?;
        kotlin.retain(|path, _| !path.starts_with("target"));
        let jdk = jdk::find(jdk::OLDEST, jdk::KOTLIN);
        let jdk = jdk.map_or_else(|_| String::new(), |jdk| jdk.home.display().to_string());
        kotlin.insert("jdk".into(), jdk.into_bytes());
        Ok(Verdicts {
            folder,
            count: !anew,
            rests_on,
            server: Tree::from([("server".into(), server.into_bytes())]),
            kotlin,
        })
    }

    /// The key of what is said about `what`, which is made of these files. `with_kotlin`: it runs beside the Kotlin service or in it.
    pub fn key(&self, what: &str, with_kotlin: bool, trees: &[&Tree]) -> VerdictKey {
        let mut hash = self.rests_on.clone();
        take(&mut hash, "what", what.as_bytes());
        let kotlin = with_kotlin.then_some(&self.kotlin);
        for tree in trees.iter().copied().chain(kotlin) {
            take_tree(&mut hash, tree);
        }
        VerdictKey(in_digits(hash))
    }

    /// True where it was green, and green verdicts count.
    pub fn is_kept(&self, key: &VerdictKey) -> bool {
        let file = File::open(self.folder.join(&key.0));
        // Its time says when it was asked for last.
        let touched = |file: File| file.set_modified(SystemTime::now());
        self.count && file.and_then(touched).is_ok()
    }

    /// Keeps that it is green. Best effort: without it, it is judged again.
    pub fn keep(&self, key: &VerdictKey) {
        let _ = File::create(self.folder.join(&key.0));
    }
}

/// The files in a reference's folder that a verdict rests on: without the mistakes beside it, and what only authors need.
pub fn reference_files(folder: &Path) -> anyhow::Result<Tree> {
    let mut tree = files::read_tree(folder)?;
    tree.retain(|path, _| !originals::is_the_authors(path));
    Ok(tree)
}

fn take_all(hash: &mut Sha256, name: &str, path: &Path) -> anyhow::Result<()> {
    if path.is_dir() {
        take_tree(hash, &files::read_tree(path)?);
    } else {
        let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        take(hash, name, &bytes);
    }
    Ok(())
}

/// Best effort: what cannot be removed is in the way of nothing.
fn forget_the_old(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let used = entry.metadata().and_then(|data| data.modified());
        let is_old = |used: SystemTime| used.elapsed().is_ok_and(|ago| ago > KEPT_FOR);
        if used.is_ok_and(is_old) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdicts(folder: &Path, count: bool) -> Verdicts {
        Verdicts {
            folder: folder.to_owned(),
            count,
            rests_on: Sha256::new(),
            server: Tree::new(),
            kotlin: Tree::from([("Main.kt".into(), b"fun main() {}".to_vec())]),
        }
    }

    #[test]
    fn what_was_green_is_judged_again_when_anything_in_it_has_changed() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let verdicts = verdicts(folder.path(), true);
        let tree = |text: &str| Tree::from([("src/main.rs".into(), text.as_bytes().to_vec())]);
        let key = verdicts.key("solution-3", false, &[&tree("fn main() {}")]);
        assert!(!verdicts.is_kept(&key));
        verdicts.keep(&key);
        assert!(verdicts.is_kept(&key));
        let others = [
            verdicts.key("solution-4", false, &[&tree("fn main() {}")]),
            verdicts.key("solution-3", true, &[&tree("fn main() {}")]),
            verdicts.key("solution-3", false, &[&tree("fn main() { }")]),
        ];
        assert!(!others.iter().any(|other| verdicts.is_kept(other)));
        Ok(())
    }

    /// What the judges use and what has no say in a verdict: what is told of one, and what rests on no key.
    const NO_JUDGES: [&str; 9] = [
        "tests/author/src/chain",
        "tests/cli/src/cli",
        "tests/cli/src/commands/solution",
        "tests/cli/src/documents",
        "tests/cli/src/editors",
        "tests/cli/src/hunt",
        "tests/cli/src/room",
        "tests/cli/src/subject",
        "tests/cli/src/teller",
    ];

    #[test]
    fn whatever_judges_is_in_the_key_of_a_verdict() -> anyhow::Result<()> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let judges = JUDGES.iter().filter(|path| path.ends_with(".rs"));
        let mut used = 0;
        for judge in judges {
            let own = judge.split("src/").next().unwrap_or_default();
            let text = fs::read_to_string(root.join(judge))?;
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let imports = code.lines().filter_map(|line| {
                let import = line.strip_prefix("use crate::").map(|import| (own, import));
                let of_cli = || line.strip_prefix("use workshop::");
                import.or_else(|| of_cli().map(|import| ("tests/cli/", import)))
            });
            // Several in braces are on one line each, but for two.
            let modules = imports.flat_map(|(folder, import)| {
                let list = match import.strip_prefix('{') {
                    Some(list) => list.split(", ").collect(),
                    None => vec![import],
                };
                list.into_iter().map(move |module| (folder, module))
            });
            for (folder, module) in modules {
                let mut names = module
                    .split([':', ',', ';', '}'])
                    .filter(|name| !name.is_empty());
                let module = match (names.next(), names.next()) {
                    (Some("commands"), Some(command)) => format!("commands/{command}"),
                    (Some(module), _) => module.to_owned(),
                    _ => continue,
                };
                let module = format!("{folder}src/{module}");
                let is_known =
                    JUDGES.contains(&&*format!("{module}.rs")) || NO_JUDGES.contains(&&*module);
                assert!(is_known, "{judge} uses {module}, which is in no key");
                used += 1;
            }
        }
        assert!(used > 10, "{used} are used");
        for judge in JUDGES {
            assert!(root.join(judge).exists(), "{judge}");
        }
        Ok(())
    }

    #[test]
    fn anew_is_judged_whatever_was_green() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let anew = verdicts(folder.path(), false);
        let key = anew.key("kotlin", true, &[]);
        anew.keep(&key);
        assert!(!anew.is_kept(&key));
        assert!(verdicts(folder.path(), true).is_kept(&key));
        Ok(())
    }
}
