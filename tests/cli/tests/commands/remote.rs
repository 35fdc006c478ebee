//! Measuring on another machine: a network namespace of its own with its own sshd plays it, on the other end of a virtual cable.
//! That takes root, iproute2 and OpenSSH's server, so it runs where CI asks for it:
//! `cargo test --package workshop --test commands -- --ignored remote:: --nocapture`.

#![allow(clippy::expect_used, clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::folder::{Folder, assert_says, everything, exercise_toml};
use tempfile::TempDir;
use workshop_base::process;
use workshop_base::workspace::Workspace;

/// How long the tool may take to notice that the machine is silent and to put everything in order, and the machine itself.
const NOTICED: Duration = Duration::from_secs(60);
/// How long until it is as far as that, builds included.
const BUILT: Duration = Duration::from_secs(1200);
/// Who runs services there.
const USER: &str = "root";
/// Where the service's folder is while it runs.
const FOLDERS: &str = "/var/tmp";
const FOLDER: &str = "kotlin-to-rust-workshop.";

static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// The other machine.
struct Pi {
    folder: TempDir,
    namespace: String,
    address: String,
    sshd: Option<Child>,
    _turn: std::sync::MutexGuard<'static, ()>,
}

impl Pi {
    fn switch_on() -> Pi {
        let turn = ONE_AT_A_TIME
            .lock()
            .unwrap_or_else(|error| error.into_inner());
        assert!(
            nix::unistd::geteuid().is_root() && found("ip") && found("sshd"),
            "this test needs root, iproute2 and openssh-server: apt install iproute2 openssh-server openssh-client"
        );
        static SWITCHED_ON: AtomicU32 = AtomicU32::new(0);
        let number =
            std::process::id() % 100_000 * 10 + SWITCHED_ON.fetch_add(1, Ordering::Relaxed);
        let namespace = format!("pi{number}");
        let (ours, theirs) = (format!("ours{number}"), format!("pi{number}"));
        // A network that is set apart for measuring between devices.
        let network = format!("198.18.{}", number % 250);
        let folder = tempfile::tempdir().unwrap();
        // That user reads the keys in it.
        fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let mut pi = Pi {
            folder,
            address: format!("{network}.2"),
            sshd: None,
            namespace,
            _turn: turn,
        };
        let namespace = pi.namespace.as_str();
        ip(&["netns", "add", namespace]);
        ip(&[
            "link", "add", &ours, "type", "veth", "peer", "name", &theirs, "netns", namespace,
        ]);
        ip(&["address", "add", &format!("{network}.1/30"), "dev", &ours]);
        ip(&["link", "set", &ours, "up"]);
        ip(&[
            "-n",
            namespace,
            "address",
            "add",
            &format!("{network}.2/30"),
            "dev",
            &theirs,
        ]);
        ip(&["-n", namespace, "link", "set", &theirs, "up"]);
        ip(&["-n", namespace, "link", "set", "lo", "up"]);
        pi.configure();
        pi.start_sshd();
        pi
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Keys, the configurations of both sides, and an `ssh` that reads ours instead of the user's.
    fn configure(&self) {
        fs::create_dir(self.path("bin")).unwrap();
        fs::create_dir_all("/run/sshd").unwrap();
        for key in ["host_key", "our_key", "strangers_key"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(self.path(key))
                .status();
            assert!(made.unwrap().success());
        }
        let public = |key: &str| fs::read_to_string(self.path(key)).unwrap();
        fs::write(self.path("authorized_keys"), public("our_key.pub")).unwrap();
        let known = format!("{} {}", self.address, public("host_key.pub"));
        fs::write(self.path("known_hosts"), known).unwrap();
        let folder = self.folder.path().display();
        let path = std::env::var("PATH").unwrap_or_default();
        let server = format!(
            "ListenAddress {}\nHostKey {folder}/host_key\nAuthorizedKeysFile {folder}/authorized_keys\nPidFile none\n\
             UsePAM no\nStrictModes no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
             PermitRootLogin prohibit-password\nSubsystem sftp internal-sftp\nSetEnv PATH={path}\n",
            self.address
        );
        fs::write(self.path("sshd_config"), server).unwrap();
        self.our_key_is("our_key");
        for program in ["ssh", "scp"] {
            let script = self.path("bin").join(program);
            let real = which(program);
            let text = format!(
                "#!/bin/sh\nexec {} -F {folder}/ssh_config \"$@\"\n",
                real.display()
            );
            fs::write(&script, text).unwrap();
            fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
        }
    }

    fn our_key_is(&self, key: &str) {
        let folder = self.folder.path().display();
        let client = format!(
            "IdentityFile {folder}/{key}\nIdentitiesOnly yes\nUserKnownHostsFile {folder}/known_hosts\nStrictHostKeyChecking yes\n"
        );
        fs::write(self.path("ssh_config"), client).unwrap();
    }

    fn start_sshd(&mut self) {
        let sshd = Command::new("ip")
            .args(["netns", "exec", &self.namespace])
            .arg(which("sshd"))
            .args(["-D", "-E"])
            .arg(self.path("sshd.log"))
            .arg("-f")
            .arg(self.path("sshd_config"))
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        self.sshd = Some(sshd);
        let address = format!("{}:22", self.address);
        eventually("sshd to listen", Duration::from_secs(10), || {
            std::net::TcpStream::connect(&address).is_ok()
        });
    }

    fn stop_sshd(&mut self) {
        if let Some(mut sshd) = self.sshd.take() {
            let _ = sshd.kill();
            let _ = sshd.wait();
        }
    }

    /// The cable, on its side.
    fn falls_silent(&self) {
        ip(&[
            "-n",
            &self.namespace,
            "link",
            "set",
            &self.namespace,
            "down",
        ]);
    }

    /// The names of the processes there, but for those of sshd.
    fn runs(&self) -> Vec<String> {
        let all = process::all();
        let names = self.pids().into_iter().filter_map(|pid| all.get(&pid));
        let names = names.map(|process| process.name.clone());
        names.filter(|name| !name.starts_with("sshd")).collect()
    }

    fn pids(&self) -> Vec<u32> {
        let output = Command::new("ip")
            .args(["netns", "pids", &self.namespace])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines()
            .filter_map(|line| line.trim().parse().ok())
            .collect()
    }

    /// Waits until neither side has anything left of a measurement.
    fn nothing_is_left(&self) {
        eventually("the other machine to stop everything", NOTICED, || {
            self.runs().is_empty()
        });
        eventually("its folder to go", NOTICED, || folders().is_empty());
        let ours = self.folder.path().display().to_string();
        eventually("ssh to end here", NOTICED, || {
            let entries = fs::read_dir("/proc").unwrap().flatten();
            let mut lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
            !lines.any(|line| {
                let line = String::from_utf8_lossy(&line);
                line.contains(&ours) && !line.contains("sshd")
            })
        });
    }

    fn tool(&self, args: &[&str]) -> Command {
        let path = std::env::var("PATH").unwrap_or_default();
        let mut tool = Command::new(env!("CARGO_BIN_EXE_workshop"));
        tool.args(args)
            .args(["--on", &format!("{USER}@{}", self.address)])
            .env("PATH", format!("{}:{path}", self.path("bin").display()))
            .stdin(Stdio::null());
        tool
    }

    /// Where the result of this machine is.
    fn result(&self) -> PathBuf {
        let results = Workspace::find().unwrap().results();
        results.join(format!("on-{}/solution-3.json", self.address))
    }
}

impl Drop for Pi {
    fn drop(&mut self) {
        let left_there = self.runs();
        self.stop_sshd();
        for pid in self.pids() {
            let folder = format!("{FOLDER}{pid}.");
            for left in folders().iter().filter(|left| names(left, &folder)) {
                let _ = fs::remove_dir_all(left);
            }
            let pid = nix::unistd::Pid::from_raw(pid.cast_signed());
            let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL);
        }
        // The kernel removes a namespace when it finds the time, and the cable with it.
        let cable = self.namespace.replace("pi", "ours");
        for thing in [
            ["link", "delete", &cable],
            ["netns", "delete", &self.namespace],
        ] {
            let _ = Command::new("ip").args(thing).status();
        }
        if std::thread::panicking() {
            let log = fs::read_to_string(self.path("sshd.log")).unwrap_or_default();
            eprintln!("left there: {left_there:?}; sshd's log:\n{log}");
        }
        if let Some(folder) = self.result().parent() {
            let _ = fs::remove_dir_all(folder);
        }
    }
}

const QUICK: [&str; 5] = ["measure", "solution-3", "--quick", "--data-set", "small"];

#[test]
#[ignore = "needs root and a server of ssh: CI asks for it"]
fn a_measurement_on_another_machine_runs_to_its_end_and_leaves_nothing_there() {
    let pi = Pi::switch_on();
    let output = pi.tool(&QUICK).output().unwrap();
    let said = everything(&output);
    println!("{said}");
    // A verdict that is invalid on a busy machine is a result all the same.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{said}");
    let text = fs::read_to_string(pi.result()).expect("a result");
    let result: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(result["task"], "reads");
    assert_says(result["machine"].as_str().unwrap(), &["; the load from "]);
    // A gate that a busy machine breaks takes none of these.
    for key in ["memory", "threads", "start_up_cpu", "round_trips"] {
        let metrics = result["metrics"].as_array().unwrap().iter();
        let mut of_key = metrics.filter(|metric| metric["key"] == key);
        let values = of_key.next().unwrap_or_else(|| panic!("{key}"))["values"].clone();
        let mut values: Vec<f64> = values
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|value| value["value"].as_f64())
            .collect();
        values.retain(|value| *value > 0.0);
        assert_eq!(values.len(), 2, "{key}: Kotlin's and Rust's");
    }
    pi.nothing_is_left();
}

#[test]
#[ignore = "needs root and a server of ssh: CI asks for it"]
fn a_machine_that_does_not_let_us_in_is_told_with_what_helps() {
    let mut pi = Pi::switch_on();
    pi.our_key_is("strangers_key");
    let output = pi.tool(&QUICK).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_says(
        &everything(&output),
        &["Permission denied", "ssh-copy-id root@198.18."],
    );

    pi.our_key_is("our_key");
    fs::write(pi.path("known_hosts"), "").unwrap();
    let output = pi.tool(&QUICK).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_says(
        &everything(&output),
        &["Host key verification failed", "once by hand"],
    );

    pi.stop_sshd();
    let output = pi.tool(&QUICK).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_says(
        &everything(&output),
        &["Connection refused", "is it switched on"],
    );
    pi.nothing_is_left();
}

#[test]
#[ignore = "needs root and a server of ssh: CI asks for it"]
fn a_machine_that_falls_silent_in_the_middle_ends_the_measurement_in_time_and_nothing_is_lost() {
    let pi = Pi::switch_on();
    let earlier = pi.result();
    fs::create_dir_all(earlier.parent().unwrap()).unwrap();
    fs::write(&earlier, "an earlier result").unwrap();
    let (mut tool, says) = (pi.tool(&QUICK), pi.path("says"));
    tool.stdout(Stdio::piped())
        .stderr(fs::File::create(&says).unwrap());
    let tool = tool.spawn().unwrap();
    let says = || fs::read_to_string(&says).unwrap();
    eventually("a load on the service", BUILT, || {
        says().contains("finding its saturation")
    });
    std::thread::sleep(Duration::from_secs(5));
    pi.falls_silent();
    let silent = Instant::now();
    let output = tool.wait_with_output().unwrap();
    let said = everything(&output) + &says();
    assert!(silent.elapsed() < NOTICED, "{:?}", silent.elapsed());
    println!("noticed after {:?}", silent.elapsed());
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_says(
        &said,
        &[
            "the connection to root@198.18.",
            "was lost",
            "nothing was written",
        ],
    );
    assert_eq!(fs::read_to_string(&earlier).unwrap(), "an earlier result");
    pi.nothing_is_left();
    println!("nothing is left after {:?}", silent.elapsed());
}

#[test]
#[ignore = "needs root and a server of ssh: CI asks for it"]
fn a_tool_that_is_killed_leaves_nothing_on_the_other_machine() {
    let pi = Pi::switch_on();
    let mut tool = pi.tool(&QUICK);
    tool.stdout(Stdio::null()).stderr(Stdio::null());
    let mut tool = tool.spawn().unwrap();
    eventually("the service to be measured", BUILT, || {
        pi.runs().iter().any(|name| name == "solution-3")
    });
    tool.kill().unwrap();
    tool.wait().unwrap();
    pi.nothing_is_left();
}

#[test]
fn measurements_other_than_reads_are_refused_before_anybody_connects() {
    let folder = Folder::new();
    let exercise = exercise_toml(4, "api-key", "API key", "src/lib.rs", "a_test");
    let exercise = exercise.replace("\"reads\"", "\"guard\"");
    folder.write("solutions/04-api-key/exercise.toml", &exercise);
    let said = folder.fails(&["measure", "exercise-4", "--on", "pi@nowhere.invalid"], 2);
    assert_says(
        &said,
        &["exercise-4 is measured on this machine only", "exercise-3"],
    );
    let said = folder.fails(&["measure", "exercise-4", "--on=-oProxyCommand=x"], 2);
    assert_says(&said, &["user@host"]);
}

fn names(path: &Path, begin: &str) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy());
    name.is_some_and(|name| name.starts_with(begin))
}

/// The folders of sessions on machines.
fn folders() -> Vec<PathBuf> {
    let entries = fs::read_dir(FOLDERS).unwrap().flatten();
    let paths = entries.map(|entry| entry.path());
    paths.filter(|path| names(path, FOLDER)).collect()
}

#[track_caller]
fn ip(args: &[&str]) {
    let output: Output = Command::new("ip").args(args).output().unwrap();
    assert!(
        output.status.success(),
        "ip {args:?}: {}",
        everything(&output)
    );
}

fn found(program: &str) -> bool {
    which(program).is_absolute()
}

/// Not every user has the folder of servers on the PATH.
fn which(program: &str) -> PathBuf {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let places = path
        .split(':')
        .map(|folder| Path::new(folder).join(program));
    let mut places = places.filter(|place| place.is_file());
    places.next().unwrap_or_else(|| program.into())
}

#[track_caller]
fn eventually(what: &str, limit: Duration, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < limit, "waited for {what} in vain");
        std::thread::sleep(Duration::from_millis(100));
    }
}
