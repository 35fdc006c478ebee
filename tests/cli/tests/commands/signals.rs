//! Ctrl-C, twice, and a terminal that is closed: the tool ends, at once or in order, whatever it is at.

#![expect(
    clippy::expect_used,
    reason = "the helpers of a test may fail as the test itself may"
)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::folder::Folder;

/// Only a tool that hangs takes this long.
const HANGS: Duration = Duration::from_secs(60);

/// Maven that brings something for ever and listens to nobody.
const MVN: &str = "#!/bin/sh\ntrap '' INT TERM\necho $$ >\"$FAKE/mvn.new\"\nmv \"$FAKE/mvn.new\" \"$FAKE/started\"\nexec sleep 600\n";

fn send(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id().cast_signed()), signal).expect("it runs");
}

fn ended(child: &mut Child) -> ExitStatus {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("a child") {
            return status;
        }
        if started.elapsed() > HANGS {
            child.kill().expect("killed");
            panic!("it has not ended");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn what_listens_to_nobody_is_left_at_the_second() {
    let folder = Folder::new();
    folder.write("fake/mvn", MVN);
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(folder.path("fake/mvn"), mode).expect("made executable");
    let path = std::env::var("PATH").unwrap_or_default();
    let mut tool = folder.tool();
    let tool = tool
        .args(["seed", "small"])
        .env("PATH", format!("{}:{path}", folder.path("fake").display()))
        .env("FAKE", folder.path("fake"))
        .env("WORKSHOP_POSTGRES", "embedded")
        .env("WORKSHOP_POSTGRES_BINARIES", "maven")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut tool = tool.spawn().expect("the tool starts");
    let (began, started) = (Instant::now(), folder.path("fake/started"));
    while !started.exists() {
        assert!(began.elapsed() < HANGS, "Maven was not called");
        std::thread::sleep(Duration::from_millis(5));
    }
    send(&tool, Signal::SIGINT);
    // Two signals of one kind that arrive together are one.
    std::thread::sleep(Duration::from_millis(100));
    send(&tool, Signal::SIGINT);
    let status = ended(&mut tool);
    let mvn = fs::read_to_string(started).expect("its id");
    let mvn = Pid::from_raw(mvn.trim().parse().expect("a number"));
    kill(mvn, Signal::SIGKILL).expect("it runs");
    assert_eq!(status.code(), Some(130));
}

#[test]
fn a_terminal_that_is_closed_ends_a_service_in_order() {
    let folder = Folder::new();
    let mut tool = folder.tool();
    let tool = tool.arg("upstream").stdout(Stdio::piped());
    let mut tool = tool.spawn().expect("the tool starts");
    let stdout = tool.stdout.take().expect("its words");
    let mut lines = BufReader::new(stdout).lines();
    assert!(lines.next().is_some(), "it says where it listens");
    send(&tool, Signal::SIGHUP);
    assert_eq!(ended(&mut tool).code(), Some(0));
}
