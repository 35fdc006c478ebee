//! The variables of a learner's machine: the tool, the Kotlin service and a Rust one, with everything set that the decisions in
//! `environment.txt` are about, to values that would mislead.

#![allow(clippy::expect_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

use workshop_base::environment::{self, Decision, Rule};

/// A test of the contract that needs a service with a database.
const TEST: &str = "every_field_comes_from_its_column";

/// Every name of the decisions; a beginning of names with some ends.
fn names(decision: &Decision) -> Vec<String> {
    let ends: &[&str] = match decision.names[..] {
        ["PG*"] => &[
            "HOST", "PORT", "SERVICE", "SSLMODE", "OPTIONS", "TZ", "PASSFILE",
        ],
        ["CARGO_TERM_*"] => &["COLOR", "VERBOSE", "PROGRESS_WHEN"],
        ["ROCKET_*", "UPSTREAM_*"] => &["PORT", "ADDRESS", "URL"],
        _ => &["WORKSHOP"],
    };
    let all = decision
        .names
        .iter()
        .flat_map(|name| match name.strip_suffix('*') {
            Some(beginning) => ends.iter().map(|end| format!("{beginning}{end}")).collect(),
            None => vec![(*name).to_owned()],
        });
    all.collect()
}

/// What would mislead those who read it.
fn misleading(name: &str) -> &'static str {
    match name {
        "CARGO_BUILD_TARGET" => "wasm32-unknown-unknown",
        "CARGO_TERM_COLOR" => "always",
        "CARGO_TERM_VERBOSE" => "true",
        "CARGO_TERM_PROGRESS_WHEN" => "always",
        "PGSSLMODE" => "verify-full",
        "PGPORT" | "ROCKET_PORT" | "UPSTREAM_PORT" => "1",
        // Maven keeps these: what they say has to be true of a JVM, and would be seen on a service's standard error.
        "JAVA_TOOL_OPTIONS" | "JDK_JAVA_OPTIONS" | "_JAVA_OPTIONS" => "-Dworkshop.misled=true",
        // The linker complains of another one in all that cargo runs, and cargo repeats it as long as what it built is kept.
        "LD_PRELOAD" => "libc.so.6",
        "GREP_OPTIONS" | "TAR_OPTIONS" | "GZIP" => "--no-such-option",
        _ => "/nowhere/at/all",
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn of(rules: &[Rule]) -> Vec<String> {
    let decisions = environment::decisions();
    let chosen = decisions.iter().filter(|one| rules.contains(&one.rule));
    chosen.flat_map(names).collect()
}

/// What is another's to choose, chosen in a way that a careless program would stumble over.
fn of_the_user(name: &str) -> Option<&'static str> {
    match name {
        // Nobody listens there: what is on this machine is asked directly.
        "HTTP_PROXY" | "HTTPS_PROXY" | "ALL_PROXY" | "http_proxy" | "https_proxy" | "all_proxy" => {
            Some("http://127.0.0.1:1")
        }
        "MAVEN_OPTS" => Some("-Xmx600m"),
        "LANG" | "LC_WORKSHOP" => Some("tr_TR.UTF-8"),
        "TERM" => Some("dumb"),
        "NO_COLOR" | "CARGO_BUILD_JOBS" => Some("1"),
        "CARGO_NET_WORKSHOP" | "CARGO_HTTP_WORKSHOP" | "RUSTUP_WORKSHOP" => Some("none"),
        _ => None,
    }
}

#[test]
fn what_misleads_is_cleared_and_a_check_is_green_on_both_sides() {
    for side in ["solution-3", "kotlin"] {
        let mut check = Command::new(crate::TOOL);
        check
            .current_dir(root())
            .args(["check", side, "--only", TEST]);
        for name in of(&[Rule::Cleared, Rule::ClearedForServices]) {
            check.env(&name, misleading(&name));
        }
        for name in of(&[Rule::Passed]) {
            check.envs(of_the_user(&name).map(|value| (name, value)));
        }
        let output = check.output().expect("the tool starts");
        let said =
            String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{side}: {said}");
    }
}

#[test]
fn an_engine_that_wants_certificates_is_refused_with_a_sentence() {
    for name in of(&[Rule::Refused]) {
        let mut check = Command::new(crate::TOOL);
        let folder = tempfile::tempdir().expect("a temporary folder");
        check
            .current_dir(root())
            .args(["check", "solution-3", "--only", TEST])
            .env("WORKSHOP_POSTGRES", "docker")
            .env(
                "DOCKER_HOST",
                format!("unix://{}/none.sock", folder.path().display()),
            )
            .env(&name, "1");
        let output = check.output().expect("the tool starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(
            said.contains(&format!("{name} is set")) && said.contains("next:"),
            "{said}"
        );
    }
}
