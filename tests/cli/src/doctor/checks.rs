//! The programs that are asked for their version, and the few whose check takes more than that.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::Context;
use futures_util::future::join_all;

use crate::doctor::report::Finding;
use workshop_base::fix::{self, Fix, Manager, System};
use workshop_base::outcome::Trouble;
use workshop_base::probe::{self, Answer, PATIENT, QUICK, on_path};
use workshop_base::version::Version;
use workshop_base::workspace::Workspace;
use workshop_harness::build::{self, cross, jdk, runtime, wasm};

/// The oldest compiler that builds the workshop, as in the workspace's `rust-version`.
const OLDEST_RUST: &str = env!("CARGO_PKG_RUST_VERSION");

/// The oldest Maven that builds the Kotlin service.
const OLDEST_MAVEN: &str = "3.8.0";

/// rustup's own installer; it needs no administrator.
const RUSTUP: &str = "curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh";

/// What the version of a program has to be.
pub(super) enum Expected<'a> {
    Any,
    AtLeast(&'a str),
    /// The version that the workshop is made with.
    Pinned(&'a str),
}
use Expected::{Any, AtLeast, Pinned};

impl Expected<'_> {
    /// What is wrong with the version that was found.
    fn fault(&self, name: &str, found: &Version) -> Option<(&'static str, String)> {
        match self {
            AtLeast(oldest) if Version::find(oldest).as_ref() > Some(found) => {
                Some(("old", format!("{found}; {oldest} or newer is needed")))
            }
            Pinned(pinned) => Version::find(pinned)
                // A newer `just` reads the same justfile; the others are pinned, because their output and protocols are read.
                .filter(|pinned| found != pinned && !(name == "just" && found.does_for(pinned)))
                .map(|pinned| {
                    let word = if *found < pinned { "old" } else { "new" };
                    let detail = format!("{found}; the workshop was made with {pinned}");
                    (word, detail)
                }),
            _ => None,
        }
    }
}

/// A program by what it answered when it was asked for its version.
pub(super) fn judge(name: &str, answer: &Answer, expected: &Expected, fix: Fix) -> Finding {
    let (word, detail) = match answer {
        Answer::Said(text) => {
            let line = text.lines().next().unwrap_or_default();
            let found = Version::find(line);
            match found.as_ref().and_then(|found| expected.fault(name, found)) {
                Some(fault) => fault,
                None => {
                    let found = found.map_or_else(|| line.to_owned(), |found| found.to_string());
                    return Finding::ok(name, found);
                }
            }
        }
        Answer::Absent => ("missing", "not on the PATH".to_owned()),
        Answer::Refused(text) => match text.lines().next().unwrap_or("(nothing printed)") {
            // rustup's stand-ins for components that are not installed say so and end with an error.
            line if line.contains("is not installed") => ("missing", line.to_owned()),
            line => ("broken", format!("answers with an error: {line}")),
        },
        Answer::Silent(limit) => ("silent", format!("no answer in {} s", limit.as_secs())),
    };
    Finding::fault(word, name, detail, fix)
}

/// Asks a program in the checkout, where an override of rustup's would count.
async fn ask(
    workspace: &Workspace,
    name: &str,
    program: impl AsRef<OsStr>,
    expected: Expected<'_>,
    fix: Fix,
) -> Finding {
    let answer = probe::ask(program, &["--version"], workspace.root(), PATIENT).await;
    judge(name, &answer, &expected, fix)
}

/// What only a part of the course needs: how it is there, or why not, and what brings it.
async fn optional(
    name: &str,
    needed: &str,
    search: impl FnOnce() -> Result<String, (String, Fix)> + Send + 'static,
) -> Finding {
    match probe::in_time(PATIENT, search).await {
        Some(Ok(found)) => Finding::ok(name, found),
        Some(Err((lack, fix))) => Finding::note(name, format!("{lack}; {needed}")).with(fix),
        None => Finding::note(name, format!("no answer in time; {needed}")),
    }
}

/// The Rust side: toolchain, components, the linker it needs, git, and compilers for other machines than this one.
pub(super) async fn rust(workspace: &Workspace) -> Vec<Finding> {
    let (system, rustup) = (System::here(), on_path("rustup").is_some());
    let toolchain = || {
        Fix::yourself(match rustup {
            true => "rustup update stable && rustup default stable",
            false => RUSTUP,
        })
    };
    let component = |name, packages| match rustup {
        true => Fix::yourself(format!("rustup component add {name}")),
        // A toolchain from the distribution brings its components the same way.
        false if on_path("rustc").is_some() => system.install(packages),
        false => toolchain(),
    };
    let (clippy, rustfmt) = (
        component("clippy", &fix::CLIPPY),
        component("rustfmt", &fix::RUSTFMT),
    );
    let programs = [
        ("rustc", "rustc", AtLeast(OLDEST_RUST), toolchain()),
        ("cargo", "cargo", Any, toolchain()),
        ("clippy", "cargo-clippy", Any, clippy),
        ("rustfmt", "rustfmt", Any, rustfmt),
        ("C compiler", "cc", Any, system.install(&fix::C_COMPILER)),
        ("git", "git", Any, system.install(&fix::GIT)),
    ];
    let programs =
        programs.map(|(name, program, expected, fix)| ask(workspace, name, program, expected, fix));
    let web_assembly = optional("WebAssembly", "exercise 10 needs one", || {
        let lack = "no compiler here can make modules";
        let lack = || (lack.to_owned(), System::here().wasm_target());
        wasm::compiler()
            .map(|found| wasm::in_words(&found))
            .ok_or_else(lack)
    });
    // On a Pi itself it is the usual compiler, and not spoken of.
    let for_a_pi =
        optional(
            "for a Pi",
            "just build --for pi needs it",
            move || match cross::compiler(cross::OF_A_PI) {
                Ok(found) => {
                    let builds = found.is_some_and(|compiler| compiler.builds_the_library);
                    Ok(way_to_a_pi(builds, rustup))
                }
                Err(lack) => Err((first_line(&lack), System::here().aarch64_target())),
            },
        );
    let (mut findings, web_assembly, for_a_pi) =
        tokio::join!(join_all(programs), web_assembly, for_a_pi);
    findings.push(web_assembly);
    findings.extend((!super::LIKE_A_PI).then_some(for_a_pi));
    findings
}

/// How programs for a Pi come about, and the shorter way where there may be one.
fn way_to_a_pi(builds_the_library: bool, rustup: bool) -> String {
    match (builds_the_library, rustup) {
        (false, _) => "the target aarch64-unknown-linux-gnu is installed".to_owned(),
        (true, false) => "/usr/bin/rustc, which builds the standard library first".to_owned(),
        (true, true) => "/usr/bin/rustc, which builds the standard library first; rustup target add aarch64-unknown-linux-gnu is shorter, where rustup can bring it".to_owned(),
    }
}

fn first_line(error: &anyhow::Error) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().to_owned()
}

/// The Kotlin side: a JDK, and Maven, which brings the Kotlin compiler. Maven's script ends with an error when it finds no JDK; the
/// line above says so.
pub(super) async fn kotlin(workspace: &Workspace) -> Vec<Finding> {
    let install = System::here().install(&fix::MAVEN);
    let maven = ask(workspace, "Maven", "mvn", AtLeast(OLDEST_MAVEN), install);
    let (jdk, maven) = tokio::join!(jdk(), maven);
    vec![jdk, maven]
}

/// The tools that the wrapper `justw` brings, in the versions of `tests/tools.toml`; and nginx, which runs in front of both
/// services.
pub(super) async fn tools(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let path = workspace.root().join("tests/tools.toml");
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}", path.display()))?;
    let pinned: BTreeMap<String, String> = toml::from_str(&text).map_err(|error| {
        Trouble::new(format!("{} is malformed: {error}", path.display()))
            .expected("one line per tool: oha = \"1.16.0\"")
            .next("git restore tests/tools.toml")
    })?;
    let tools = pinned.iter().map(|(tool, version)| {
        let program = probe::tool(workspace, tool).unwrap_or_else(|| PathBuf::from(tool));
        let fix = Fix::yourself(format!("./justw --bring {tool}"));
        ask(workspace, tool, program, Pinned(version), fix)
    });
    let nginx = optional("nginx", "exercise 12 needs it", || {
        let found = build::nginx::find().map(|program| program.to_string());
        found.map_err(|lack| (lack.to_string(), System::here().install(&fix::NGINX)))
    });
    let (mut findings, nginx) = tokio::join!(join_all(tools), nginx);
    findings.push(nginx);
    Ok(findings)
}

/// What the services beside the port need. All of it is optional.
pub(super) async fn peers() -> Vec<Finding> {
    let needed = runtime::of_peers().into_iter();
    let looking = needed.map(async |(program, oldest, targets)| {
        optional(program, &format!("only {targets} need it"), move || {
            runtime::find(program, oldest)
                .map(|found| found.version)
                .map_err(|lack| (lack.to_string(), lack.fix))
        })
        .await
    });
    join_all(looking).await
}

/// The JDK: a search through folders, which may run a `java`.
async fn jdk() -> Finding {
    let fix = async |instead: Option<PathBuf>, oldest| match instead {
        Some(home) => Fix::yourself(format!("export JAVA_HOME={}", home.display())),
        None => install_jdk(oldest).await,
    };
    let search = || (jdk::search(), jdk::elsewhere(jdk::CALLS_NATIVE));
    let (word, lack, instead) = match probe::in_time(PATIENT, search).await {
        Some((Ok(jdk), newer)) => {
            let newer = fix(newer.map(|newer| newer.home), jdk::CALLS_NATIVE).await;
            return judge_jdk(&jdk, newer);
        }
        Some((Err(lack), _)) if lack.old => ("old", lack.what, lack.instead),
        Some((Err(lack), _)) => ("missing", lack.what, lack.instead),
        None => ("silent", "the search for one did not end".to_owned(), None),
    };
    let fix = fix(instead, jdk::OLDEST).await;
    Finding::fault(word, "JDK", lack, fix)
}

fn judge_jdk(jdk: &jdk::Jdk, newer: Fix) -> Finding {
    let found = format!("{} in {}", jdk.version, jdk.home.display());
    let (needed, best) = (jdk::CALLS_NATIVE, jdk::RECOMMENDED);
    match jdk.feature() {
        old if old < needed => {
            let detail = format!(
                "{found}; exercise 11 needs {needed} or newer, and {best} runs the service best"
            );
            Finding::note("JDK", detail).with(newer)
        }
        good if good < best => Finding::ok("JDK", format!("{found}; {best} runs the service best")),
        _ => Finding::ok("JDK", found),
    }
}

/// What installs a JDK that is not older than this. Debian's and Ubuntu's releases differ in what they have; they are asked.
async fn install_jdk(oldest: u32) -> Fix {
    let system = System::here();
    let mut install = system.install(&fix::JDK);
    if system.manager != Some(Manager::Apt) {
        return install;
    }
    let args = ["search", "--names-only", "^openjdk-[0-9]+-jdk$"];
    let Answer::Said(listing) = probe::ask("apt-cache", &args, Path::new("/"), QUICK).await else {
        return install;
    };
    match best_package(&listing, oldest) {
        Some(best) => {
            for (_, command) in &mut install.commands {
                *command = command.replace(fix::JDK.apt, &best);
            }
            install
        }
        None => Fix::yourself(format!(
            "unpack a JDK {}, such as Temurin, into ~/.jdks (the packages here have none that is new enough)",
            jdk::RECOMMENDED
        )),
    }
}

/// The newest of the packages that is not newer than the recommended one.
fn best_package(listing: &str, oldest: u32) -> Option<String> {
    let feature = |line: &str| -> Option<u32> {
        let package = line.split_whitespace().next()?;
        package
            .strip_prefix("openjdk-")?
            .strip_suffix("-jdk")?
            .parse()
            .ok()
    };
    let good = |feature: &u32| (oldest..=jdk::RECOMMENDED).contains(feature);
    let best = listing.lines().filter_map(feature).filter(good).max()?;
    Some(format!("openjdk-{best}-jdk"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::report::State;

    #[test]
    fn the_newest_package_up_to_the_recommended_one_is_taken() {
        let listing =
            "openjdk-11-jdk - 11\nopenjdk-17-jdk - 17\nopenjdk-21-jdk - 21\nopenjdk-26-jdk - 26\n";
        assert_eq!(best_package(listing, 17).as_deref(), Some("openjdk-21-jdk"));
        assert_eq!(best_package(listing, 22), None);
    }

    #[test]
    fn a_jdk_that_is_too_old_for_exercise_11_comes_with_what_installs_a_newer_one() {
        let judge = |version: &str| {
            let jdk = jdk::Jdk {
                home: "/jdk".into(),
                version: version.to_owned(),
            };
            judge_jdk(&jdk, Fix::yourself("install it"))
        };
        let old = judge("17.0.15");
        assert_eq!((old.state, old.fix.is_some()), (State::Note, true));
        assert!(
            old.detail.contains("exercise 11 needs 22 or newer"),
            "{}",
            old.detail
        );
        assert_eq!(judge("24.0.1").state, State::Ok);
        assert_eq!(judge("25.0.1").detail, "25.0.1 in /jdk");
    }

    #[test]
    fn the_shorter_way_to_a_pi_is_told_where_rustup_is_and_the_target_is_not() {
        let short = "rustup target add aarch64-unknown-linux-gnu";
        assert!(way_to_a_pi(true, true).contains(short));
        assert!(!way_to_a_pi(true, false).contains(short));
        assert!(!way_to_a_pi(false, true).contains(short));
    }

    #[test]
    fn only_the_pinned_version_will_do_and_a_newer_just() {
        let word = |tool: &str, said: &str| {
            let answer = Answer::Said(said.to_owned());
            let found = judge(tool, &answer, &Pinned("1.16.0"), Fix::yourself(""));
            found.state.word()
        };
        assert_eq!(word("oha", "oha 1.16.0"), "ok");
        assert_eq!(word("oha", "oha 1.4.0"), "old");
        assert_eq!(word("oha", "oha 1.17.0"), "new");
        assert_eq!(word("just", "just 1.17.0"), "ok");
        assert_eq!(word("just", "just 2.0.0"), "new");
    }
}
