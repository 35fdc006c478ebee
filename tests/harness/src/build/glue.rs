//! The Kotlin of an exercise of the ladder: compiled against the finished Kotlin service, started in its place.
//!
//! What the compiler makes of it is kept by a hash of all that went in, so that starters, references and copies of them
//! with the same Kotlin are compiled once.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::ffi::OsString;
use std::fs;
use std::iter;
use std::path::{Path, PathBuf};

use anyhow::Context;
use workshop_base::calls::Calls;
use workshop_base::outcome::Trouble;
use workshop_base::target::Language;
use workshop_base::workspace::Workspace;

use super::jdk::{self, Jdk};
use super::kept::kept;
use super::launch::{BuildError, CompilerError, Crate, Launch, Profile};
use super::{maven, part, sources};

/// The class whose `main` starts the service.
const MAIN: &str = "workshop.qrcode.MainKt";
/// How many compiled states are kept.
const KEPT: usize = 24;
/// The code that hints know a compiler error in Kotlin by.
const KOTLIN: &str = "kotlin";

/// Builds the crate and the Kotlin that calls it.
pub async fn build(
    workspace: &Workspace,
    calls: Calls,
    krate: &Crate,
    profile: Profile,
) -> Result<Launch, BuildError> {
    let (oldest, what) = match calls {
        Calls::Library => (jdk::CALLS_NATIVE, "calling a native library"),
        Calls::Program | Calls::Module => (jdk::OLDEST, jdk::KOTLIN),
    };
    let jdk = jdk::find(oldest, what).map_err(anyhow::Error::from)?;
    let part = part::build(workspace, calls, krate, profile).await?;
    let module = (calls == Calls::Module).then_some(part.as_path());
    let jar = maven::kotlin_service(workspace, &jdk).await?;
    let compiled = compiled(workspace, krate, &jdk, &jar, module).await?;

    let mut class_path = OsString::new();
    for entry in [compiled.join("classes"), compiled.join("lib/*")] {
        class_path.push(entry);
        class_path.push(":");
    }
    class_path.push(&jar);
    let mut args = maven::jvm_options(&jdk, profile);
    args.extend(["-cp".into(), class_path, MAIN.into()]);
    let env = match calls {
        Calls::Program => vec![("QRCODE_PROGRAM".to_owned(), part.display().to_string())],
        Calls::Library => vec![("QRCODE_LIBRARY".to_owned(), plain_name(&part)?)],
        Calls::Module => Vec::new(),
    };
    Ok(Launch {
        program: jdk.java(),
        args,
        env,
        parts: iter::once(part).chain(libraries(&compiled)).collect(),
        calls: Some(calls),
        member: krate.member().to_owned(),
        ..Launch::of(Language::Kotlin, &krate.package, &krate.folder, jar)
    })
}

/// The path of a library without what this platform adds to its name, as `System.mapLibraryName` expects it.
pub fn plain_name(library: &Path) -> anyhow::Result<String> {
    let name = library.file_name().and_then(|name| name.to_str());
    let name = name.and_then(|name| name.strip_prefix(DLL_PREFIX)?.strip_suffix(DLL_SUFFIX));
    let name = name.with_context(|| format!("{} isn't a library", library.display()))?;
    Ok(library.with_file_name(name).display().to_string())
}

/// The folder with the compiled Kotlin, and with the classes of the module that it calls, if it calls one. Made by Maven unless it
/// is there.
async fn compiled(
    workspace: &Workspace,
    krate: &Crate,
    jdk: &Jdk,
    jar: &Path,
    module: Option<&Path>,
) -> Result<PathBuf, BuildError> {
    // All that goes in: the Kotlin, what it is built with, the service that it is compiled against, and the module that it calls.
    let mut from = vec![
        krate.folder.join("kotlin"),
        krate.folder.join("pom.xml"),
        maven::stamp(jar),
    ];
    from.extend(module.map(Path::to_path_buf));
    let key = sources::fingerprint(&from)?;
    kept(workspace, "glue", &key, KEPT, async |unfinished| {
        eprintln!("compiling the Kotlin of {} with Maven …", krate.package);
        let mut args = workspace.maven_options();
        args.extend([
            format!("-Dkotlin.service.jar={}", jar.display()),
            format!("-Doutput.directory={}", unfinished.display()),
        ]);
        args.extend(module.map(|module| format!("-Dqrcode.module={}", module.display())));
        args.push("compile".to_owned());
        let output = maven::maven(&krate.folder, &jdk.home, &args).await?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stdout);
            return Err(not_compiled(krate, &said));
        }
        Ok(())
    })
    .await
}

/// The libraries that Maven has put beside the classes, where the exercise needs any.
fn libraries(compiled: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(compiled.join("lib"));
    let entries = entries.into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// The compiler's complaints are the learner's to fix, everything else that Maven says is not.
fn not_compiled(krate: &Crate, said: &str) -> BuildError {
    let complaints = complaints(said);
    if complaints.is_empty() {
        eprintln!("{said}");
        let trouble = Trouble::new(format!(
            "Maven could not compile the Kotlin of {}; see its messages above",
            krate.package
        ))
        .expected("pom.xml as it came with the course, and a network or a local repository with the Kotlin compiler")
        .next("git status; just doctor");
        return BuildError::CouldNotBuild(trouble.into());
    }
    for complaint in &complaints {
        eprintln!("error: {complaint}");
    }
    let error = |complaint: &&str| CompilerError {
        code: KOTLIN.to_owned(),
        // Without the place, which moves with every edit.
        said: complaint
            .split_once(' ')
            .map_or(*complaint, |(_, message)| message)
            .to_owned(),
        place: String::new(),
    };
    BuildError::DoesNotCompile {
        label: krate.package.clone(),
        errors: complaints.iter().map(error).collect(),
    }
}

/// What the compiler complains about, with the file, the line and the column.
fn complaints(said: &str) -> Vec<&str> {
    // Maven says everything twice: as the compiler says it, and as the reason why its own goal failed. The compiler sets the
    // terminal's colours back before its first line, even where there is no terminal.
    said.lines()
        .take_while(|line| !line.contains("Failed to execute goal"))
        .filter_map(|line| line.split_once("[ERROR] "))
        .map(|(_, complaint)| complaint.trim_start_matches("file://"))
        .filter(|complaint| complaint.contains(".kt:"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compilers_complaints_are_told_from_mavens() {
        let said = "\u{1b}[0m[ERROR] file:///a/kotlin/Glue.kt:17:26 Unresolved reference 'Semaphore'.\n\
                    [ERROR] Failed to execute goal org.jetbrains.kotlin:kotlin-maven-plugin: Compilation failure\n\
                    [ERROR] file:///a/kotlin/Glue.kt:17:26 Unresolved reference 'Semaphore'.\n";
        assert_eq!(
            complaints(said),
            ["/a/kotlin/Glue.kt:17:26 Unresolved reference 'Semaphore'."]
        );
        assert!(complaints("[ERROR] Could not resolve dependencies\n").is_empty());
    }
}
