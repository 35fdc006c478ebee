//! The programs that are asked for their version, and the few whose check takes more than that.

use std::collections::BTreeMap;
use std::path::PathBuf;

use futures_util::future::join_all;

use crate::doctor::report::Finding;
use workshop_base::files;
use workshop_base::fix::Fix;
use workshop_base::outcome::Trouble;
use workshop_base::probe::{self, PATIENT, on_path};
use workshop_base::version::Version;
use workshop_base::workspace::Workspace;
use workshop_harness::build::{jdk, nginx, runtime, wasm};

/// The oldest compiler that builds the workshop, as in the workspace's `rust-version`.
const OLDEST_RUST: &str = env!("CARGO_PKG_RUST_VERSION");

/// The oldest Maven that builds the Kotlin service.
const OLDEST_MAVEN: &str = "3.8.0";

/// Asks a program in the checkout, where an override of rustup's would count.
async fn ask(workspace: &Workspace, name: &str, program: &str, oldest: &str) -> Finding {
    let found = runtime::find(program, oldest, workspace.root()).await;
    Finding::found(name, found.map(|found| found.version))
}

/// A search that blocks, with a limit.
async fn search<T: Send + 'static>(
    search: impl FnOnce() -> Result<T, Trouble> + Send + 'static,
) -> Result<T, Trouble> {
    let found = probe::in_time(PATIENT, search).await;
    found.unwrap_or_else(|| {
        let again = Fix::yourself("just doctor, when the machine is less busy");
        Err(Trouble::fault("silent", "the search did not end", again))
    })
}

/// The Rust side: toolchain, components, the linker it needs, git, and the compiler for modules.
pub(super) async fn rust(workspace: &Workspace) -> Vec<Finding> {
    let programs = [
        ("rustc", "rustc", OLDEST_RUST),
        ("cargo", "cargo", ""),
        ("clippy", "cargo-clippy", ""),
        ("rustfmt", "rustfmt", ""),
        ("C compiler", "cc", ""),
        ("git", "git", ""),
    ];
    let programs = programs.map(|(name, program, oldest)| ask(workspace, name, program, oldest));
    let rustup = on_path("rustup").is_some();
    let modules = search(move || Ok(wasm::compiler()?.in_words(rustup)));
    let (mut findings, modules) = tokio::join!(join_all(programs), modules);
    findings.push(Finding::found("WebAssembly", modules).optional("; exercise 18 needs one"));
    findings
}

/// The Kotlin side: a JDK, and Maven, which brings the Kotlin compiler. Maven's script ends with an error when it finds no JDK; the
/// line above says so.
pub(super) async fn kotlin(workspace: &Workspace) -> Vec<Finding> {
    let maven = ask(workspace, "Maven", "mvn", OLDEST_MAVEN);
    let (jdk, maven) = tokio::join!(jdk(), maven);
    vec![jdk, maven]
}

/// The tools that `justw` brings when something needs them, in the versions of `tests/tools.toml`; and nginx, which runs in front of
/// both services.
pub(super) async fn tools(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let path = workspace.root().join("tests/tools.toml");
    let pinned: BTreeMap<String, String> =
        toml::from_str(&files::text(&path)?).map_err(|error| {
            Trouble::new(format!("{} is malformed: {error}", path.display()))
                .expected("one line per tool: oha = \"1.16.0\"")
                .next("git restore tests/tools.toml")
        })?;
    let tools = pinned.iter().map(async |(tool, pinned)| {
        let program = probe::tool(workspace, tool).unwrap_or_else(|| PathBuf::from(tool));
        let found = runtime::find(&program.to_string_lossy(), "", workspace.root()).await;
        judge_tool(tool, found.ok().map(|found| found.version), pinned)
    });
    let (mut findings, nginx) = tokio::join!(join_all(tools), nginx::needed());
    findings.push(Finding::found("nginx", nginx).optional("; exercise 20 needs it"));
    Ok(findings)
}

/// A tool by its version and the one that the workshop is made with. A newer `just` reads the same justfile; the others are pinned,
/// because their output and protocols are read.
fn judge_tool(tool: &str, found: Option<String>, pinned: &str) -> Finding {
    let version = found.as_deref().and_then(Version::find);
    let wanted = Version::find(pinned);
    let is_newer = match (&version, &wanted) {
        (Some(has), Some(wants)) => tool == "just" && has.does_for(wants),
        _ => false,
    };
    match found {
        Some(found) if version == wanted || is_newer => Finding::ok(tool, found),
        found => {
            let found = found.unwrap_or_else(|| "not here yet".to_owned());
            let detail = format!("{found}; a command that needs {pinned} brings it");
            Finding::note(tool, detail).with(Fix::yourself(format!("./justw --bring {tool}")))
        }
    }
}

/// The JDK: a search through folders, which may run a `java`. Exercise 19 needs a newer one than the others.
async fn jdk() -> Finding {
    let found = search(|| {
        let jdk = jdk::find(jdk::OLDEST, jdk::KOTLIN)?;
        let newer = jdk::find(jdk::CALLS_NATIVE, "exercise 19");
        Ok((jdk, newer.err().map(|lack| lack.how_to_fix().1)))
    });
    match found.await {
        Ok((jdk, newer)) => judge_jdk(&jdk, newer),
        Err(lack) => Finding::of("JDK", &lack),
    }
}

/// A JDK that is new enough for most of the course, and what brings a newer one, where it isn't for exercise 19.
fn judge_jdk(jdk: &jdk::Jdk, newer: Option<Fix>) -> Finding {
    let (needed, best) = (jdk::CALLS_NATIVE, jdk::RECOMMENDED);
    match newer {
        Some(newer) => {
            let detail = format!(
                "{jdk}; exercise 19 needs {needed} or newer, and {best} runs the service best"
            );
            Finding::note("JDK", detail).with(newer)
        }
        None if jdk.feature() < best => {
            Finding::ok("JDK", format!("{jdk}; {best} runs the service best"))
        }
        None => Finding::ok("JDK", jdk.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::report::State;

    #[test]
    fn a_jdk_that_is_too_old_for_exercise_11_comes_with_what_installs_a_newer_one() {
        let judge = |version: &str, newer: Option<&str>| {
            let jdk = jdk::Jdk {
                home: "/jdk".into(),
                version: version.to_owned(),
            };
            judge_jdk(&jdk, newer.map(Fix::yourself))
        };
        let old = judge("17.0.15", Some("install it"));
        assert_eq!((old.state, old.fix.is_some()), (State::Note, true));
        assert!(
            old.detail.contains("exercise 19 needs 22 or newer"),
            "{}",
            old.detail
        );
        assert_eq!(judge("24.0.1", None).state, State::Ok);
        assert_eq!(judge("25.0.1", None).detail, "25.0.1 in /jdk");
    }

    #[test]
    fn only_the_pinned_version_will_do_and_a_newer_just() {
        let word = |tool: &str, said: &str| {
            let found = (!said.is_empty()).then(|| said.to_owned());
            judge_tool(tool, found, "1.16.0").state.word()
        };
        assert_eq!(word("oha", "1.16.0"), "ok");
        for other in ["1.4.0", "1.17.0", ""] {
            assert_eq!(word("oha", other), "note");
        }
        assert_eq!(word("just", "1.17.0"), "ok");
        assert_eq!(word("just", "2.0.0"), "note");
    }
}
