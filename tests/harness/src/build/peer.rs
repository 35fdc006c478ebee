//! The peers, built by the tools of their own ecosystems: what each one needs and runs is in its `peer.toml`.

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Context;
use workshop_base::files;
use workshop_base::outcome::Trouble;
use workshop_base::peer::{self, Peer, SetUp};
use workshop_base::probe::on_path;
use workshop_base::program;
use workshop_base::workspace::Workspace;

use super::jdk::{self, Jdk};
use super::launch::{BuildError, Crate, Launch, Profile};
use super::{cargo, maven, part, runtime, sources};

/// The need that is a whole JDK.
const JDK: &str = "jdk";

/// Builds the peer that a target is a set-up of.
pub async fn build(workspace: &Workspace, name: &str, profile: Profile) -> anyhow::Result<Launch> {
    let (name, peer, set_up) = peer::named(name).context("there is no such peer")?;
    let (folder, jdk) = (
        peer.path(workspace),
        needs(workspace, name, peer, set_up).await?,
    );
    if let Some(package) = &peer.package {
        let krate = Crate::new(folder, package);
        return Ok(cargo::cargo(workspace, &krate, profile).await?);
    }
    let place = PeerFolder {
        workspace,
        folder,
        jdk,
        part: part_of(workspace, set_up).await?,
    };
    place.make(peer).await?;
    let called = place.make_part(set_up).await?;
    let mut command = peer.start.iter().map(|word| place.filled(word));
    let program = command.next().context("peer.toml has no start")?;
    let mut ships = peer.ships.iter().map(|path| place.path(path));
    let shipped = ships.next().context("peer.toml ships nothing")?;
    let options = place
        .jdk
        .iter()
        .flat_map(|jdk| maven::jvm_options(jdk, profile));
    let env = peer.env.iter().chain(&set_up.env);
    let env = env.map(|(name, value)| (name.clone(), place.filled(value)));
    let env = env.chain(called.clone());
    let parts = called.iter().map(|(_, file)| PathBuf::from(file));
    Ok(Launch {
        program: on_path(&program).unwrap_or_else(|| program.into()),
        args: options.chain(command.map(Into::into)).collect(),
        env: env.collect(),
        parts: ships.chain(parts).collect(),
        ..Launch::of(peer.language, name, &place.folder, shipped)
    })
}

/// Sees to it that everything is there that a peer needs; hands over the JDK, if it needs one.
async fn needs(
    workspace: &Workspace,
    name: &str,
    peer: &Peer,
    set_up: &SetUp,
) -> Result<Option<Jdk>, Trouble> {
    let mut needed = peer.needs.clone();
    needed.extend(set_up.needs.clone());
    let mut jdk = None;
    for (program, oldest) in &needed {
        if program == JDK {
            jdk = Some(jdk::find(oldest.parse().unwrap_or(jdk::OLDEST), name)?);
        } else {
            let found = runtime::find(program, oldest, workspace.root()).await;
            let needs = || format!("{name} needs {program}");
            found.map_err(|lack| lack.led_by(needs()).next("just doctor"))?;
        }
    }
    Ok(jdk)
}

/// Builds the crate that a set-up calls, as it would be shipped: what a peer is compared with is a release as well.
async fn part_of(workspace: &Workspace, set_up: &SetUp) -> Result<Option<PathBuf>, BuildError> {
    let Some(part) = &set_up.part else {
        return Ok(None);
    };
    let krate = Crate::new(workspace.root().join(&part.folder), &part.package);
    let built = part::build(workspace, part.calls, &krate, Profile::Measure).await?;
    Ok(Some(built))
}

/// Where a peer is built, with which JDK, and what was built for it.
struct PeerFolder<'a> {
    workspace: &'a Workspace,
    folder: PathBuf,
    jdk: Option<Jdk>,
    part: Option<PathBuf>,
}

impl PeerFolder<'_> {
    fn filled(&self, word: &str) -> String {
        let state = self.workspace.state();
        let java = self.jdk.as_ref().map(|jdk| jdk.java());
        let part = self.part.clone().unwrap_or_default();
        word.replace("{state}", &state.to_string_lossy())
            .replace("{java}", &java.unwrap_or_default().to_string_lossy())
            .replace("{part}", &part.to_string_lossy())
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.join(self.filled(path))
    }

    /// Builds it, unless what is there was built from the same sources.
    async fn make(&self, peer: &Peer) -> anyhow::Result<()> {
        let mut from = vec![self.folder.join("peer.toml")];
        from.extend(peer.from.iter().map(|path| self.folder.join(path)));
        let ships: Vec<PathBuf> = peer.ships.iter().map(|path| self.path(path)).collect();
        let record = self.workspace.state().join("peers").join(peer.folder);
        let does = format!("builds tests/peers/{}", peer.folder);
        sources::build_from(&from, &ships, &record, &does, async || {
            eprintln!(
                "building tests/peers/{} (the first time it also brings its libraries) …",
                peer.folder
            );
            maven::remove_classes(&self.folder)?;
            for command in &peer.build {
                self.run(command).await?;
            }
            Ok(())
        })
        .await
    }

    /// Makes what a set-up calls out of the part that was built; hands over the variable that says where it is.
    async fn make_part(&self, set_up: &SetUp) -> anyhow::Result<Option<(String, String)>> {
        let Some(part) = &set_up.part else {
            return Ok(None);
        };
        self.run(&part.make).await?;
        Ok(Some((part.variable.clone(), self.filled(&part.file))))
    }

    async fn run(&self, words: &[String]) -> anyhow::Result<()> {
        let words: Vec<String> = words.iter().map(|word| self.filled(word)).collect();
        let [name, args @ ..] = words.as_slice() else {
            return Ok(());
        };
        let mut command = Command::new(name);
        command.current_dir(&self.folder);
        if let Some(jdk) = &self.jdk {
            maven::use_jdk(&mut command, &jdk.home);
            command.args(self.workspace.maven_options());
        }
        command.args(args);
        let output = program::run(command, "").await?;
        if output.status.success() {
            return Ok(());
        }
        std::io::stderr().write_all(&[output.stdout, output.stderr].concat())?;
        let (typed, status) = (words.join(" "), output.status);
        Trouble::new(format!(
            "`{typed}` ended with {status}; its words are above"
        ))
        .expected("a build of its own ecosystem; what it brings must be reachable the first time")
        .next(format!(
            "git status {}; just doctor",
            files::shown(self.workspace, &self.folder)
        ))
        .err()
    }
}
