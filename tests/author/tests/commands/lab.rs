//! What `just measure` says before anything is measured.

#![allow(clippy::expect_used, clippy::unwrap_used)]

use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};

use crate::checkout::Checkout;

#[test]
fn ten_million_rows_are_not_made_before_somebody_has_agreed() {
    let checkout = Checkout::new();
    measured_course(&checkout);
    let child = tool(&checkout, &["measure", "exercise-3"]).spawn().unwrap();
    let (code, text) = finished(child);
    assert_eq!(code, Some(2), "{text}");
    assert!(
        text.contains("the data set full, which isn't there yet: 10 million rows"),
        "{text}"
    );
    assert!(text.contains("next: just seed full"), "{text}");
    assert!(!text.contains("seeding"), "{text}");
}

#[test]
fn a_service_that_cannot_do_what_is_measured_gets_no_release_build() {
    let checkout = Checkout::new();
    measured_course(&checkout);
    let target = checkout.workspace.root().join("target");
    let child = tool(&checkout, &["measure", "exercise-3", "--data-set", "small"])
        .env("CARGO_TARGET_DIR", &target)
        .env_remove("RUSTC_WRAPPER")
        .spawn()
        .unwrap();
    let (code, text) = finished(child);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("next: just check exercise-3"), "{text}");
    assert!(target.join("debug").exists(), "{text}");
    assert!(!target.join("release").exists(), "{text}");
}

/// A course of one exercise, which is measured: a program that ends at once. The tools that measure are never reached.
fn measured_course(checkout: &Checkout) {
    let write = |path: &str, text: &str| {
        let path = checkout.workspace.root().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    write("tests/tools.toml", "");
    for tool in ["oha", "hyperfine"] {
        write(&format!(".workshop/tools/bin/{tool}"), "#!/bin/sh\n");
    }
    let about = crate::folder::exercise_toml(3, "read-a-record", "Read", "src/main.rs", "a_test");
    write("solutions/03-read-a-record/exercise.toml", &about);
    let crates = "[workspace]\nmembers = [\"exercises/03-read-a-record\"]\nresolver = \"3\"\n";
    write("Cargo.toml", crates);
    let package = "[package]\nname = \"exercise-3\"\nedition = \"2024\"\n";
    write("exercises/03-read-a-record/Cargo.toml", package);
    write("exercises/03-read-a-record/src/main.rs", "fn main() {}\n");
}

/// The tool, about to run in a checkout.
fn tool(checkout: &Checkout, arguments: &[&str]) -> Command {
    let mut command = Command::new(crate::TOOL);
    command
        .args(arguments)
        .env("WORKSHOP_ROOT", checkout.workspace.root())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// What a finished tool left: exit code and all it printed.
fn finished(child: Child) -> (Option<i32>, String) {
    let output = child.wait_with_output().expect("the tool's output");
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    (output.status.code(), text)
}
