//! The Kotlin service, built by Maven.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::Context;
use sha2::{Digest, Sha256};
use workshop_base::files;
use workshop_base::lock::Lock;
use workshop_base::outcome::Trouble;
use workshop_base::target::{Language, Target};
use workshop_base::workspace::Workspace;

use super::jdk::{self, Jdk};
use super::launch::{Launch, Profile};
use super::program;

/// Builds the Kotlin service.
pub async fn kotlin(workspace: &Workspace, profile: Profile) -> anyhow::Result<Launch> {
    let jdk = jdk::find()?;
    let jar = kotlin_service(workspace, &jdk).await?;
    let mut args = jvm_options(&jdk, profile);
    args.extend(["-jar".into(), jar.clone().into_os_string()]);
    let (label, folder) = (Target::Kotlin.to_string(), workspace.kotlin_service());
    Ok(Launch {
        program: jdk.java(),
        args,
        ..Launch::of(Language::Kotlin, &label, &folder, jar)
    })
}

/// The Kotlin service's jar, built unless the one that is there was built from the same sources.
pub async fn kotlin_service(workspace: &Workspace, jdk: &Jdk) -> anyhow::Result<PathBuf> {
    let project = workspace.kotlin_service();
    let jar = project.join("target/kotlin-service.jar");
    let lock = project.join("target/workshop.lock");
    let _turn = Lock::take(&lock, "builds the Kotlin service").await?;
    let stamp = stamp_of(&jar);
    let sources = ["pom.xml", "src/main", "src/shared"].map(|path| project.join(path));
    let sources = fingerprint(&sources)?;
    if !jar.is_file() || fs::read_to_string(&stamp).ok().as_deref() != Some(&sources) {
        package(workspace, &project, &jdk.home).await?;
        fs::write(&stamp, &sources)?;
    }
    Ok(jar)
}

/// The file beside the jar that says from which sources it was built.
pub fn stamp_of(jar: &Path) -> PathBuf {
    jar.with_file_name("workshop.stamp")
}

/// What the JVM is told besides what to run.
pub fn jvm_options(jdk: &Jdk, profile: Profile) -> Vec<OsString> {
    let mut options: Vec<OsString> = Vec::new();
    if profile == Profile::Check {
        options.extend(["-XX:TieredStopAtLevel=1".into(), "-XX:+UseSerialGC".into()]);
    }
    if jdk.feature() >= 22 {
        // Netty loads native code; from JDK 24 on the JVM warns on standard error unless this is said.
        options.push("--enable-native-access=ALL-UNNAMED".into());
    }
    options
}

async fn package(workspace: &Workspace, project: &Path, java_home: &Path) -> anyhow::Result<()> {
    eprintln!(
        "building the Kotlin service with Maven (the first time it also brings its libraries) …"
    );
    remove_classes(project)?;
    let mut args = workspace.maven_options();
    args.extend(["-DskipTests".to_owned(), "package".to_owned()]);
    let output = maven(project, java_home, &args).await?;
    if !output.status.success() {
        std::io::stderr().write_all(&[output.stdout, output.stderr].concat())?;
        let trouble = Trouble::new("Maven could not build the Kotlin service; see its messages above")
            .expected("exercises/kotlin-service as it came with the course, and a network or a local repository with its libraries")
            .next("git status exercises/kotlin-service; just doctor");
        return Err(trouble.into());
    }
    Ok(())
}

/// Removes what was compiled from earlier sources: Kotlin's compiler would take it for part of the new ones.
pub fn remove_classes(project: &Path) -> anyhow::Result<()> {
    files::remove(&project.join("target/classes"))
}

/// Runs Maven in a project and hands over what it printed.
pub async fn maven(project: &Path, java_home: &Path, args: &[String]) -> anyhow::Result<Output> {
    let mut command = Command::new("mvn");
    command
        .args(["--batch-mode", "--quiet"])
        .args(args)
        .current_dir(project)
        .env("JAVA_HOME", java_home)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let maven = program::start(command).map_err(|error| {
        Trouble::new(format!("Maven cannot be run: {error}"))
            .expected("mvn 3.8 or newer on the PATH")
            .next("just doctor")
    })?;
    Ok(maven.output().await?)
}

/// A hash over the names and contents of these files and of all files below these folders.
pub fn fingerprint(paths: &[PathBuf]) -> anyhow::Result<String> {
    let mut hash = Sha256::new();
    for path in paths {
        if path.is_dir() {
            for (name, bytes) in files::read_tree(path)? {
                hash.update(name.as_os_str().as_encoded_bytes());
                hash.update(bytes);
            }
        } else {
            let bytes =
                fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
            hash.update(bytes);
        }
    }
    Ok(hex::encode(hash.finalize()))
}
