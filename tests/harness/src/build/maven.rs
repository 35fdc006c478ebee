//! The Kotlin service, built by Maven.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::Context;
use workshop_base::files;
use workshop_base::lock::Lock;
use workshop_base::outcome::Trouble;
use workshop_base::program;
use workshop_base::target::{Language, Target};
use workshop_base::workspace::Workspace;

use super::jdk::{self, Jdk};
use super::kept::kept;
use super::launch::{Launch, Profile};
use super::sources;

/// The name of the jar.
const JAR: &str = "kotlin-service.jar";
/// OpenTelemetry's agent, as the profile of this name in the service's `pom.xml` brings it.
const AGENT: &str = "agent";
const AGENT_JAR: &str = "opentelemetry-javaagent.jar";
/// How many jars are kept; each takes some 20 MB.
const KEPT: usize = 3;

/// Builds the Kotlin service.
pub async fn kotlin(workspace: &Workspace, profile: Profile) -> anyhow::Result<Launch> {
    let jdk = jdk::find(jdk::OLDEST, jdk::KOTLIN)?;
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

/// The Kotlin service's jar, built unless there is one from the same sources. Services run from a copy, which no later build
/// replaces under them: a JVM reads its jar as long as it runs.
pub async fn kotlin_service(workspace: &Workspace, jdk: &Jdk) -> anyhow::Result<PathBuf> {
    let project = workspace.kotlin_service();
    let built = project.join("target").join(JAR);
    let from = ["pom.xml", "src/main", "src/shared"].map(|path| project.join(path));
    let key = sources::fingerprint(&from)?;
    let turn = workspace.state().join("kotlin.lock");
    let _turn = Lock::take(&turn, "builds the Kotlin service").await?;
    let folder = kept(workspace, "kotlin", &key, KEPT, async |folder| {
        package(workspace, &project, jdk).await?;
        let jar = folder.join(JAR);
        fs::copy(&built, &jar).with_context(|| format!("cannot make {}", jar.display()))?;
        files::write(&stamp(&jar), key.as_bytes())
    });
    Ok(folder.await?.join(JAR))
}

async fn package(workspace: &Workspace, project: &Path, jdk: &Jdk) -> anyhow::Result<()> {
    eprintln!(
        "building the Kotlin service with Maven (the first time it also brings its libraries) …"
    );
    remove_classes(project)?;
    let mut args = workspace.maven_options();
    args.extend(["-DskipTests".to_owned(), "package".to_owned()]);
    let output = maven(project, &jdk.home, &args).await?;
    if output.status.success() {
        return Ok(());
    }
    std::io::stderr().write_all(&[output.stdout, output.stderr].concat())?;
    Trouble::new("Maven could not build the Kotlin service; see its messages above")
        .expected("exercises/kotlin-service as it came with the course, and a network or a local repository with its libraries")
        .next("git status exercises/kotlin-service; just doctor")
        .err()
}

/// OpenTelemetry's agent, in the version that the Kotlin service's `pom.xml` names. It runs beside the service, and isn't in its jar.
pub async fn agent(workspace: &Workspace) -> anyhow::Result<PathBuf> {
    let project = workspace.kotlin_service();
    let jdk = jdk::find(jdk::OLDEST, jdk::KOTLIN)?;
    let key = sources::fingerprint(&[project.join("pom.xml")])?;
    let folder = kept(workspace, AGENT, &key, 1, async |folder| {
        let mut args = workspace.maven_options();
        args.extend([
            format!("-P{AGENT}"),
            format!("dependency:copy@{AGENT}"),
            format!("-DoutputDirectory={}", folder.display()),
        ]);
        let output = maven(&project, &jdk.home, &args).await?;
        if output.status.success() {
            return Ok(());
        }
        std::io::stderr().write_all(&[output.stdout, output.stderr].concat())?;
        Trouble::new("Maven could not bring OpenTelemetry's agent; see its messages above")
            .expected("a network, or a local repository that has it")
            .next("just doctor")
            .err()
    });
    Ok(folder.await?.join(AGENT_JAR))
}

/// The file that says from which sources a jar was built.
pub fn stamp(jar: &Path) -> PathBuf {
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
        .current_dir(project);
    use_jdk(&mut command, java_home);
    Ok(program::run(command, "").await?)
}

/// Has Maven run on a JDK. Unless `MAVEN_OPTS` says how, without the optimizing compiler: a JVM that compiles a few files ends before
/// that pays. It saves a third of the processor's time, and almost half where there is little to compile.
pub fn use_jdk(command: &mut Command, java_home: &Path) {
    command.env("JAVA_HOME", java_home);
    if std::env::var_os("MAVEN_OPTS").is_none() {
        command.env("MAVEN_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC");
    }
}
