//! The table of programs that are asked for their version, and the few whose check takes more than that.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use futures_util::future::join_all;

use crate::doctor::report::Finding;
use workshop_base::fix::{self, Fix, Manager, Packages, System};
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

/// A program that is asked for its version.
pub(super) struct Check {
    name: String,
    program: PathBuf,
    limit: Duration,
    expected: Expected,
    fix: Fix,
}

/// What the version has to be.
enum Expected {
    Any,
    AtLeast(&'static str),
    /// The version that the workshop is made with.
    Pinned(String),
}

impl Check {
    fn new(name: &str, program: impl Into<PathBuf>, expected: Expected, fix: Fix) -> Self {
        Check {
            name: name.to_owned(),
            program: program.into(),
            limit: QUICK,
            expected,
            fix,
        }
    }

    fn judge(self, answer: &Answer) -> Finding {
        let name = self.name.as_str();
        let found = answer.line().and_then(Version::find);
        let fault = match (&self.expected, found) {
            (Expected::AtLeast(oldest), Some(found))
                if Version::find(oldest) > Some(found.clone()) =>
            {
                Some(("old", format!("{found}; {oldest} or newer is needed")))
            }
            (Expected::Pinned(pinned), Some(found)) => Version::find(pinned)
                // A newer `just` reads the same justfile; the others are pinned, because their output and protocols are read.
                .filter(|pinned| found != *pinned && !(name == "just" && found.does_for(pinned)))
                .map(|pinned| {
                    let word = if found < pinned { "old" } else { "new" };
                    (
                        word,
                        format!("{found}; the workshop was made with {pinned}"),
                    )
                }),
            _ => None,
        };
        match fault {
            Some((word, detail)) => Finding::fault(word, name, detail, self.fix),
            None => present(name, answer, self.fix),
        }
    }
}

/// A program that only has to be there and answer.
pub(super) fn present(name: &str, answer: &Answer, fix: Fix) -> Finding {
    let (word, detail) = match answer {
        Answer::Said(text) => {
            let line = text.lines().next().unwrap_or_default();
            let version = Version::find(line).map(|version| version.to_string());
            return Finding::ok(name, version.unwrap_or_else(|| line.to_owned()));
        }
        Answer::Absent => ("missing", "not on the PATH".to_owned()),
        Answer::Refused(text) => match text.lines().next().unwrap_or("(nothing printed)") {
            // rustup's stand-ins for components that are not installed say so and end with an error.
            line if line.contains("is not installed") => ("missing", line.to_owned()),
            "" => (
                "broken",
                "answers with an error: (nothing printed)".to_owned(),
            ),
            line => ("broken", format!("answers with an error: {line}")),
        },
        Answer::Silent(limit) => ("silent", format!("no answer in {} s", limit.as_secs())),
    };
    Finding::fault(word, name, detail, fix)
}

/// Asks all of them at the same time, in the checkout, where an override of rustup's would count.
pub(super) async fn ask_all(workspace: &Workspace, checks: Vec<Check>) -> Vec<Finding> {
    let asking = checks.into_iter().map(async |check| {
        let answer = probe::ask(
            &check.program,
            &["--version"],
            workspace.root(),
            check.limit,
        )
        .await;
        check.judge(&answer)
    });
    join_all(asking).await
}

/// The Rust side: toolchain, components, the linker it needs, and git.
pub(super) fn rust(system: &System) -> Vec<Check> {
    use Expected::{Any, AtLeast};
    let toolchain = || {
        Fix::yourself(match on_path("rustup") {
            Some(_) => "rustup update stable && rustup default stable",
            None => RUSTUP,
        })
    };
    let component = |name: &str, packages: &Packages| match (on_path("rustup"), on_path("rustc")) {
        (Some(_), _) => Fix::yourself(format!("rustup component add {name}")),
        // A toolchain from the distribution brings its components the same way.
        (None, Some(_)) => system.install(packages),
        (None, None) => toolchain(),
    };
    let (clippy, rustfmt) = (
        component("clippy", &fix::CLIPPY),
        component("rustfmt", &fix::RUSTFMT),
    );
    vec![
        Check::new("rustc", "rustc", AtLeast(OLDEST_RUST), toolchain()),
        Check::new("cargo", "cargo", Any, toolchain()),
        Check::new("clippy", "cargo-clippy", Any, clippy),
        Check::new("rustfmt", "rustfmt", Any, rustfmt),
        Check::new("C compiler", "cc", Any, system.install(&fix::C_COMPILER)),
        Check::new("git", "git", Any, system.install(&fix::GIT)),
    ]
}

/// Maven, which brings the Kotlin compiler. Its script ends with an error when it finds no JDK; the line above says so.
pub(super) fn maven(system: &System) -> Check {
    let fix = system.install(&fix::MAVEN);
    let check = Check::new("Maven", "mvn", Expected::AtLeast(OLDEST_MAVEN), fix);
    Check {
        limit: PATIENT,
        ..check
    }
}

/// The tools that the wrapper `justw` brings, in the versions of `tests/tools.toml`.
pub(super) fn tools(workspace: &Workspace) -> anyhow::Result<Vec<Check>> {
    let path = workspace.root().join("tests/tools.toml");
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}", path.display()))?;
    let pinned: BTreeMap<String, String> = toml::from_str(&text).map_err(|error| {
        Trouble::new(format!("{} is malformed: {error}", path.display()))
            .expected("one line per tool: oha = \"1.16.0\"")
            .next("git restore tests/tools.toml")
    })?;
    let checks = pinned.into_iter().map(|(tool, version)| {
        let program = probe::tool(workspace, &tool).unwrap_or_else(|| PathBuf::from(&tool));
        let fix = Fix::yourself(format!("./justw --bring {tool}"));
        Check::new(&tool, program, Expected::Pinned(version), fix)
    });
    Ok(checks.collect())
}

/// Only exercise 10 needs it.
pub(super) async fn web_assembly(system: &System) -> Finding {
    let name = "WebAssembly";
    match probe::in_time(PATIENT, wasm::compiler).await.flatten() {
        Some(compiler) => Finding::ok(name, wasm::in_words(&compiler)),
        None => Finding::note(
            name,
            "no compiler here can make modules; exercise 10 needs one",
        )
        .with(system.wasm_target()),
    }
}

/// A compiler for a Raspberry Pi. Only `just build --for pi` needs it; on a Pi itself it is the usual one, and not spoken of.
pub(super) async fn for_a_pi(system: &System) -> Option<Finding> {
    let name = "for a Pi";
    let finding = match probe::in_time(PATIENT, || cross::compiler(cross::OF_A_PI)).await {
        Some(Ok(None)) => return None,
        Some(Ok(Some(compiler))) => {
            let rustup = on_path("rustup").is_some();
            Finding::ok(name, way_to_a_pi(compiler.builds_the_library, rustup))
        }
        Some(Err(lack)) => {
            let detail = format!("{}; just build --for pi needs it", first_line(&lack));
            Finding::note(name, detail).with(system.aarch64_target())
        }
        None => Finding::note(name, "the compiler did not say in time what it can build"),
    };
    Some(finding)
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

/// nginx, which runs in front of both services. Only exercise 12 needs it.
pub(super) async fn nginx(system: &System) -> Finding {
    let lack = match probe::in_time(QUICK, build::nginx::find).await {
        Some(Ok(program)) => return Finding::ok("nginx", program.to_string()),
        Some(Err(lack)) => lack,
        None => "did not say its version in time".to_owned(),
    };
    Finding::note("nginx", format!("{lack}; exercise 12 needs it"))
        .with(system.install(&fix::NGINX))
}

/// What the services beside the port need. All of it is optional.
pub(super) async fn peers() -> Vec<Finding> {
    let needed = runtime::of_peers().into_iter();
    let looking = needed.map(async |(program, oldest, targets)| {
        let detail = match probe::in_time(PATIENT, || runtime::find(program, oldest)).await {
            Some(Ok(found)) => return Finding::ok(program, found.version),
            Some(Err(lack)) => (lack.to_string(), Some(lack.fix)),
            None => ("did not say its version in time".to_owned(), None),
        };
        let (why, fix) = detail;
        let note = Finding::note(program, format!("{why}; only {targets} need it"));
        fix.map_or(note.clone(), |fix| note.with(fix))
    });
    join_all(looking).await
}

/// The JDK: a search through folders, which may run a `java`.
pub(super) async fn jdk(system: &System) -> Finding {
    let fix = async |instead: Option<PathBuf>, oldest| match instead {
        Some(home) => Fix::yourself(format!("export JAVA_HOME={}", home.display())),
        None => install_jdk(system, oldest).await,
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
async fn install_jdk(system: &System, oldest: u32) -> Fix {
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
            let expected = Expected::Pinned("1.16.0".to_owned());
            let check = Check::new(tool, tool, expected, Fix::yourself(""));
            check.judge(&Answer::Said(said.to_owned())).state.word()
        };
        assert_eq!(word("oha", "oha 1.16.0"), "ok");
        assert_eq!(word("oha", "oha 1.4.0"), "old");
        assert_eq!(word("oha", "oha 1.17.0"), "new");
        assert_eq!(word("just", "just 1.17.0"), "ok");
        assert_eq!(word("just", "just 2.0.0"), "new");
    }
}
