//! The peers: services in other languages that keep a part of the contract and are measured beside the port. Each is a folder
//! below `tests/peers`, and its `peer.toml` says how it is built and started.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::calls::Calls;
use crate::language::Language;
use crate::workspace::Workspace;

/// A folder below `tests/peers`, and its `peer.toml`.
macro_rules! files {
    ($($folder:literal),* $(,)?) => {
        [$(($folder, include_str!(concat!("../../peers/", $folder, "/peer.toml")))),*]
    };
}

const FILES: [(&str, &str); 11] = files![
    "axum",
    "contacts-kotlin",
    "contacts-python",
    "kotlin-release-2",
    "node",
    "python",
    "radicale",
    "rocket-reports",
    "spring",
    "spring-reactive",
    "vertx",
];

static PEERS: LazyLock<Vec<Peer>> = LazyLock::new(|| FILES.iter().filter_map(read).collect());

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peer {
    #[serde(skip)]
    pub folder: &'static str,
    /// What it is written in.
    pub language: Language,
    /// The programs that build it and run it, each with its oldest version. `jdk` is a whole JDK.
    pub needs: BTreeMap<String, String>,
    /// The member of this workspace that it is, if it is one: it is built as the references are, and has none of the commands below.
    #[serde(default)]
    pub package: Option<String>,
    /// The commands that build it, in its folder. In commands and paths, `{state}` is the checkout's `.workshop`, and `{java}` the
    /// JDK's `java`.
    #[serde(default)]
    pub build: Vec<Vec<String>>,
    /// What is built again when it changes.
    #[serde(default)]
    pub from: Vec<PathBuf>,
    /// The command that starts it, in its folder.
    #[serde(default)]
    pub start: Vec<String>,
    /// Environment variables besides the service's settings.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// What would be shipped of it; the runtime comes on top.
    #[serde(default)]
    pub ships: Vec<String>,
    /// The suites that judge it.
    pub suites: Vec<String>,
    /// The tests of these suites that judge it, where it keeps a part of them only. Empty: all.
    #[serde(default)]
    pub tests: Vec<String>,
    /// How it can be set up, each under the name of a target.
    pub targets: BTreeMap<String, SetUp>,
}

/// One way of setting a peer up.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetUp {
    /// What it is called in tables.
    pub label: String,
    /// Environment variables besides the peer's.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// What it needs in a newer version than the peer does otherwise.
    #[serde(default)]
    pub needs: BTreeMap<String, String>,
    /// The suites that judge it instead of the peer's.
    #[serde(default)]
    pub suites: Option<Vec<String>>,
    /// The crate in Rust that it calls.
    #[serde(default)]
    pub part: Option<Part>,
}

/// A crate in Rust that a peer calls, built before the peer is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// The crate's folder in the checkout.
    #[serde(rename = "crate")]
    pub folder: PathBuf,
    /// The name of its package.
    pub package: String,
    /// What it is to the peer.
    pub calls: Calls,
    /// The environment variable that says where it is.
    pub variable: String,
    /// The command that makes out of it what the peer calls, in the peer's folder; `{part}` is what was built.
    #[serde(default)]
    pub make: Vec<String>,
    /// What the peer calls.
    #[serde(default = "what_was_built")]
    pub file: String,
}

fn what_was_built() -> String {
    "{part}".to_owned()
}

impl Peer {
    /// The suites that judge a set-up of it.
    pub fn suites<'a>(&'a self, set_up: &'a SetUp) -> &'a [String] {
        set_up.suites.as_ref().unwrap_or(&self.suites)
    }

    /// Where its sources are.
    pub fn path(&self, workspace: &Workspace) -> PathBuf {
        workspace.root().join("tests/peers").join(self.folder)
    }
}

pub fn all() -> &'static [Peer] {
    &PEERS
}

/// The members of this workspace that are judged by all of these suites: other references of the same exercise.
pub fn members(suites: &[String]) -> impl Iterator<Item = (&'static Peer, &'static str)> {
    let judged = PEERS.iter().filter(move |peer| peer.suites == suites);
    judged.filter_map(|peer| Some((peer, peer.package.as_deref()?)))
}

/// The peer and the set-up with this target's name, which is handed over as well.
pub fn named(name: &str) -> Option<(&'static str, &'static Peer, &'static SetUp)> {
    PEERS.iter().find_map(|peer| {
        let (name, set_up) = peer.targets.get_key_value(name)?;
        Some((name.as_str(), peer, set_up))
    })
}

fn read((folder, text): &(&'static str, &str)) -> Option<Peer> {
    let peer: Peer = toml::from_str(text).ok()?;
    Some(Peer { folder, ..peer })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_peer_can_be_read_and_has_its_folder_here() {
        let folders = concat!(env!("CARGO_MANIFEST_DIR"), "/../peers");
        let mut there: Vec<String> = std::fs::read_dir(folders)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        there.sort();
        let known: Vec<&str> = all().iter().map(|peer| peer.folder).collect();
        assert_eq!(known, there);
    }
}
