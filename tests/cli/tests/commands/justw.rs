//! The wrapper `justw`: called twice at the same time in one checkout, and called in one where nothing is built. A fake cargo
//! finishes when a test says so.

#![expect(
    clippy::expect_used,
    reason = "the helpers of a test may fail as the test itself may"
)]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use notify::{RecursiveMode, Watcher};
use tempfile::TempDir;

/// Only a hanging wrapper takes this long.
const HANGS: Duration = Duration::from_secs(60);

/// What the fake cargo does: it says that it was called, waits for the file `go`, and then makes what it was asked for.
const CARGO: &str = r#"#!/bin/sh
echo "   Compiling a-thousand-crates v1.0.0" >&2
: >"$FAKE/called-$1.$$"
while ! [ -e "$FAKE/go" ] && ! [ -e "$FAKE/go-$1" ]; do sleep 0.05; done
case $1 in
    build) mkdir -p target/debug; cp "$FAKE/workshop" target/debug/workshop ;;
    install)
        for tool; do :; done
        mkdir -p .workshop/tools/bin "$CARGO_TARGET_DIR"
        printf '#!/bin/sh\necho %s 1.0.0\n' "$tool" >.workshop/tools/bin/$tool
        chmod +x .workshop/tools/bin/$tool ;;
esac
"#;

/// What the fake tool does as `workshop tour`: it lets cargo finish the tools that measure, once it has seen cargo at work on
/// them, and then waits for them.
const TOUR: &str = r#"#!/bin/sh
while ! ls "$FAKE" | grep -q called-install; do sleep 0.05; done
: >"$FAKE/go"
./justw --bring oha && oha --version >"$FAKE/toured"
"#;

struct Checkout {
    folder: TempDir,
}

impl Checkout {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let checkout = Checkout { folder };
        let justw = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../justw");
        fs::copy(justw, checkout.path("justw")).expect("a copy of the wrapper");
        checkout.write(
            "tests/tools.toml",
            "just = \"1.0.0\"\nmdbook = \"1.0.0\"\noha = \"1.0.0\"\nhyperfine = \"1.0.0\"\n",
        );
        checkout.write("Cargo.toml", "rust-version = \"1.94\"\n");
        for source in ["Cargo.lock", "tests/cli/Cargo.toml"] {
            checkout.write(source, "");
        }
        checkout.write("tests/cli/src/main.rs", "");
        checkout.write("datasets/records/data.sql", "");
        let rustc = "#!/bin/sh\necho rustc 1.95.0\n";
        for (program, text) in [
            ("cargo", CARGO),
            ("workshop", TOUR),
            ("rustc", rustc),
            ("mvn", ""),
            ("jdk/bin/javac", ""),
        ] {
            let program = format!("fake/{program}");
            checkout.write(&program, text);
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(checkout.path(&program), mode).expect("made executable");
        }
        checkout
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    fn start(&self, arguments: &[&str]) -> Wrapper {
        self.started(&["sh"], arguments, &[])
    }

    fn start_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Wrapper {
        self.started(&["sh"], arguments, variables)
    }

    /// Starts the wrapper by way of other programs.
    fn start_by(&self, way: &[&str], arguments: &[&str]) -> Wrapper {
        self.started(way, arguments, &[])
    }

    fn started(&self, way: &[&str], arguments: &[&str], variables: &[(&str, &str)]) -> Wrapper {
        let mut child = Command::new(way[0])
            .args(&way[1..])
            .arg(self.path("justw"))
            .args(arguments)
            .current_dir(self.folder.path())
            .env_remove("CARGO_TARGET_DIR")
            .env_remove("WORKSHOP_POSTGRES")
            .env("FAKE", self.path("fake"))
            .env("JAVA_HOME", self.path("fake/jdk"))
            .stdout(Stdio::null())
            .env(
                "PATH",
                format!("{}:/usr/bin:/bin", self.path("fake").display()),
            )
            .envs(variables.iter().copied())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .expect("the wrapper starts");
        let stderr = child.stderr.take().expect("its words");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            // Nobody listens any more when the test is over.
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        Wrapper { child, lines }
    }

    fn calls(&self) -> usize {
        let entries = fs::read_dir(self.path("fake")).expect("the folder");
        let names = entries.flatten().map(|entry| entry.file_name());
        names
            .filter(|name| name.to_string_lossy().starts_with("called"))
            .count()
    }

    /// Starts the wrapper twice, the second while the first is inside cargo; cargo ends when the second has come as far as it
    /// can. Returns how both ended and what the second said.
    fn twice(&self, way: &[&str], arguments: &[&str]) -> (bool, bool, Vec<String>) {
        let (sender, events) = channel();
        let mut watcher = notify::recommended_watcher(move |_| {
            let _ = sender.send(());
        })
        .expect("a watcher");
        watcher
            .watch(&self.path("fake"), RecursiveMode::NonRecursive)
            .expect("watched");
        let mut first = self.start_by(&["sh"], arguments);
        while self.calls() < 1 {
            events.recv_timeout(HANGS).expect("the first calls cargo");
        }
        let mut second = self.start_by(way, arguments);
        let mut said = Vec::new();
        let waits = |said: &[String]| said.iter().any(|line| line.contains("waiting"));
        while self.calls() < 2 && !waits(&said) {
            // Its words and its calls come by different ways: both are looked for.
            match second.lines.recv_timeout(Duration::from_millis(20)) {
                Ok(line) => said.push(line),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.write("fake/go", "");
        let ended = (first.ended_well(), second.ended_well());
        said.extend(second.lines.try_iter());
        (ended.0, ended.1, said)
    }
}

struct Wrapper {
    child: Child,
    lines: Receiver<String>,
}

impl Wrapper {
    /// Its exit code, and all that it said.
    fn end(mut self) -> (Option<i32>, Vec<String>) {
        let said = self.lines.iter().collect();
        (self.child.wait().expect("its end").code(), said)
    }

    fn ended_well(&mut self) -> bool {
        self.child.wait().expect("its end").success()
    }
}

#[test]
fn the_doctor_answers_before_anything_is_built() {
    let checkout = Checkout::new();
    let (code, said) = checkout.start(&["doctor"]).end();
    assert_eq!((code, checkout.calls()), (Some(0), 0), "{said:?}");
    assert!(
        said.iter().any(|line| line.starts_with("Ready")),
        "{said:?}"
    );
    checkout.write("fake/rustc", "#!/bin/sh\necho rustc 1.80.0\n");
    let (code, said) = checkout.start(&["doctor"]).end();
    assert_eq!((code, checkout.calls()), (Some(1), 0), "{said:?}");
    assert!(
        said.iter().any(|line| line.contains("fix: rustup update")),
        "{said:?}"
    );
}

#[test]
fn the_tour_begins_while_its_tools_compile() {
    let checkout = Checkout::new();
    checkout.write("fake/go-build", "");
    let (code, said) = checkout.start(&["tour"]).end();
    assert_eq!(code, Some(0), "{said:?}");
    let toured = fs::read_to_string(checkout.path("fake/toured")).expect("the tour's end");
    assert_eq!(toured, "oha 1.0.0\n");
}

#[test]
fn the_words_of_a_build_are_in_a_log_and_shown_when_it_fails() {
    let checkout = Checkout::new();
    checkout.write("fake/go", "");
    let compiling = |line: &String| line.contains("Compiling a-thousand-crates");
    let (code, said) = checkout.start(&["--tool"]).end();
    assert_eq!(code, Some(0), "{said:?}");
    assert!(!said.iter().any(compiling), "{said:?}");
    let log = fs::read_to_string(checkout.path(".workshop/justw.log")).expect("a log");
    assert!(log.lines().any(|line| compiling(&line.to_owned())), "{log}");
    // A cargo that cannot do it: there is no tool to copy.
    fs::remove_dir_all(checkout.path("target")).expect("removed");
    fs::remove_file(checkout.path("fake/workshop")).expect("removed");
    let (code, said) = checkout.start(&["--tool"]).end();
    assert_ne!(code, Some(0), "{said:?}");
    assert!(said.iter().any(compiling), "{said:?}");
}

#[test]
fn two_wrappers_build_the_tool_once() {
    let checkout = Checkout::new();
    let (first, second, said) = checkout.twice(&["sh"], &["--tool"]);
    assert!(first && second, "{first} {second} {said:?}");
    assert_eq!(checkout.calls(), 1, "{said:?}");
    assert!(
        said.iter()
            .any(|line| line.contains("waiting for another ./justw")),
        "{said:?}"
    );
}

#[test]
fn two_wrappers_bring_a_tool_once() {
    let checkout = Checkout::new();
    let (first, second, said) = checkout.twice(&["sh"], &["--bring", "oha"]);
    assert!(first && second, "{first} {second} {said:?}");
    assert_eq!(checkout.calls(), 1, "{said:?}");
}

/// Neither sees the other's processes.
#[cfg(target_os = "linux")]
#[test]
fn a_wrapper_in_a_container_waits_for_the_one_outside() {
    let container = ["unshare", "--user", "--map-root-user", "--pid", "--fork"];
    let can = Command::new("unshare")
        .args(&container[1..])
        .arg("true")
        .status();
    if !can.is_ok_and(|status| status.success()) {
        eprintln!("not judged: this system lets nobody make a namespace");
        return;
    }
    let checkout = Checkout::new();
    let way = [&container[..], &["sh"]].concat();
    let (first, second, said) = checkout.twice(&way, &["--tool"]);
    assert!(first && second, "{first} {second} {said:?}");
    assert_eq!(checkout.calls(), 1, "{said:?}");
}

/// As on macOS.
#[test]
fn two_wrappers_without_flock_take_turns_as_well() {
    let checkout = Checkout::new();
    for folder in ["/usr/bin", "/bin"] {
        for program in fs::read_dir(folder).expect("programs").flatten() {
            let link = checkout.path("fake").join(program.file_name());
            if program.file_name() != "flock" && !link.exists() {
                let _ = symlink(program.path(), link);
            }
        }
    }
    let path = format!("PATH={}", checkout.path("fake").display());
    let (first, second, said) = checkout.twice(&["env", &path, "sh"], &["--tool"]);
    assert!(first && second, "{first} {second} {said:?}");
    assert_eq!(checkout.calls(), 1, "{said:?}");
}

/// A release of oha, and one of hyperfine as they are packed.
const RELEASES: &str = "
    mkdir -p forge/hyperfine-v1.0.0
    printf '#!/bin/sh\\necho oha 1.0.0\\n' >forge/oha
    printf '#!/bin/sh\\necho hyperfine 1.0.0\\n' >forge/hyperfine-v1.0.0/hyperfine
    tar -czf forge/hyperfine.tar.gz -C forge hyperfine-v1.0.0
    for file in oha hyperfine.tar.gz; do
        echo ${file%%.*} $(uname -s) $(uname -m) $(sha256sum <forge/$file | cut -c 1-64) releases/vVERSION/$file
    done >tests/tools.sums";

/// A forge on a port of its own, which answers with the files of the folder `forge`, or with what a test says.
fn forge(checkout: &Checkout, answer: Option<&'static str>) -> String {
    let status = Command::new("sh")
        .args(["-ec", RELEASES])
        .current_dir(checkout.folder.path())
        .status();
    assert!(status.expect("a shell").success());
    let folder = checkout.path("forge");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = format!("http://{}", listener.local_addr().expect("its address"));
    std::thread::spawn(move || {
        for mut client in listener.incoming().map_while(Result::ok) {
            let mut request = String::new();
            if BufReader::new(&client).read_line(&mut request).is_err() {
                continue;
            }
            match answer {
                Some("") => std::thread::park(),
                Some(answer) => drop(client.write_all(answer.as_bytes())),
                None => {
                    let file = request
                        .strip_prefix("GET /releases/v1.0.0/")
                        .and_then(|rest| rest.split(' ').next())
                        .expect("an address with the version in it");
                    let body = fs::read(folder.join(file)).expect("a release");
                    let head = format!("HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
                    drop(client.write_all(&[head.as_bytes(), &body].concat()));
                }
            }
        }
    });
    address
}

/// A folder with all programs of the machine but these.
fn without(checkout: &Checkout, programs: &[&str]) -> String {
    let folder = checkout.path("bin");
    fs::create_dir(&folder).expect("made");
    let entries = ["/usr/bin", "/bin"].map(|folder| fs::read_dir(folder).expect("a folder"));
    for entry in entries.into_iter().flatten().flatten() {
        let name = entry.file_name();
        if !programs.iter().any(|program| name == *program) {
            // Both folders may be the same one.
            let _ = symlink(entry.path(), folder.join(name));
        }
    }
    format!("{}:{}", checkout.path("fake").display(), folder.display())
}

#[test]
fn a_release_with_the_right_sum_is_downloaded_and_nothing_is_compiled() {
    for lacking in [&[][..], &["curl"]] {
        let checkout = Checkout::new();
        let forge = forge(&checkout, None);
        let path = without(&checkout, lacking);
        let variables = [("WORKSHOP_FORGE", &*forge), ("PATH", &path)];
        let wrapper = checkout.start_with(&["--bring", "oha", "hyperfine"], &variables);
        let (code, said) = wrapper.end();
        assert_eq!((code, checkout.calls()), (Some(0), 0), "{said:?}");
        for tool in ["oha", "hyperfine"] {
            let brought = checkout.path(".workshop/tools/bin").join(tool);
            let output = Command::new(brought).output().expect("it runs");
            assert_eq!(
                String::from_utf8_lossy(&output.stdout),
                format!("{tool} 1.0.0\n")
            );
        }
    }
}

#[test]
fn what_is_not_the_release_is_thrown_away_and_the_tool_is_compiled() {
    let page =
        "HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n<html>Sign in to this network</html>";
    let other = "HTTP/1.0 200 OK\r\n\r\n#!/bin/sh\necho oha 1.0.0\n# and more\n";
    let missing = "HTTP/1.0 404 Not Found\r\n\r\n";
    let cut = "HTTP/1.0 200 OK\r\nContent-Length: 90000\r\n\r\n#!/bin/sh\n";
    for (answer, lacking, why) in [
        (page, &[][..], "its sum is another"),
        (other, &[], "its sum is another"),
        (missing, &[], "could not be downloaded"),
        (cut, &[], "could not be downloaded"),
        // A line that is silent.
        ("", &[], "could not be downloaded"),
        ("", &["curl"], "could not be downloaded"),
        (other, &["curl"], "its sum is another"),
        (other, &["curl", "wget"], ""),
    ] {
        let checkout = Checkout::new();
        checkout.write("fake/go", "");
        let forge = forge(&checkout, Some(answer));
        let path = without(&checkout, lacking);
        let (code, said) = checkout
            .start_with(
                &["--bring", "oha"],
                &[
                    ("WORKSHOP_FORGE", &forge),
                    ("WORKSHOP_PATIENCE", "1"),
                    ("PATH", &path),
                ],
            )
            .end();
        assert_eq!((code, checkout.calls()), (Some(0), 1), "{answer} {said:?}");
        assert!(
            said.iter().any(|line| line.contains(why)),
            "{answer} {said:?}"
        );
        assert!(!checkout.path(".workshop/tools/download").exists());
    }
}

#[test]
fn without_a_network_no_second_download_is_tried() {
    let checkout = Checkout::new();
    checkout.write("fake/go", "");
    forge(&checkout, None);
    let nobody = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = format!("http://{}", nobody.local_addr().expect("its address"));
    drop(nobody);
    let variables = [("WORKSHOP_FORGE", &*address)];
    let wrapper = checkout.start_with(&["--bring", "oha", "hyperfine"], &variables);
    let (code, said) = wrapper.end();
    assert_eq!((code, checkout.calls()), (Some(0), 2), "{said:?}");
    let tried = said.iter().filter(|line| line.starts_with("downloading"));
    assert_eq!(tried.count(), 1, "{said:?}");
}

/// A kit as `just kit` makes it, in a folder beside the wrapper, with next to nothing in it.
fn with_a_kit() -> Checkout {
    let checkout = Checkout::new();
    checkout.write("exercises/kotlin-service/pom.xml", "<service/>");
    checkout.write("solutions/09-a/pom.xml", "<glue/>");
    let make = "
        cat Cargo.lock tests/tools.toml exercises/kotlin-service/pom.xml solutions/*/pom.xml >kit/inputs.txt
        cd kit
        mkdir crates maven bin book
        for tool in just mdbook oha hyperfine; do printf '#!/bin/sh\necho 1.0.0\n' >bin/$tool; chmod +x bin/$tool; done
        for part in crates maven bin book; do : >$part/one; done
        tar -czf crates.tar.gz crates; tar -cf maven.tar maven; tar -cf book.tar book
        tar -cf platform-$(uname -s)-$(uname -m).tar bin
        rm -r crates maven bin book
        { echo course 1.0.0 abc1234; cksum *; } >../kit.txt; mv ../kit.txt .";
    checkout.write("kit/inputs.txt", "");
    let status = Command::new("sh")
        .args(["-ec", make])
        .current_dir(checkout.folder.path())
        .status();
    assert!(status.expect("a shell").success());
    checkout
}

#[test]
fn a_kit_is_unpacked_and_cargo_reads_from_it() {
    let checkout = with_a_kit();
    let (code, said) = checkout.start(&["--kit", "kit"]).end();
    assert_eq!(code, Some(0), "{said:?}");
    for part in ["crates/one", "maven/one", "book/one"] {
        assert!(
            checkout.path(".workshop/kit").join(part).is_file(),
            "{part}"
        );
    }
    assert!(checkout.path(".workshop/tools/bin/oha").is_file());
    let config = fs::read_to_string(checkout.path(".cargo/config.toml")).expect("settings");
    assert!(
        config.contains("directory = \".workshop/kit/crates\""),
        "{config}"
    );
    // A second time, over what is there.
    let (code, said) = checkout.start(&["--kit", "kit"]).end();
    assert_eq!((code, checkout.calls()), (Some(0), 0), "{said:?}");
}

#[test]
fn a_kit_that_will_not_do_says_what_is_wrong_and_is_not_unpacked() {
    let refused = |break_it: &str, what: &str| {
        let checkout = with_a_kit();
        let status = Command::new("sh")
            .args(["-ec", break_it])
            .current_dir(checkout.folder.path())
            .status();
        assert!(status.expect("a shell").success(), "{break_it}");
        let (code, said) = checkout.start(&["--kit", "kit"]).end();
        let said = said.join("\n");
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(what) && said.contains("  next: "), "{said}");
        assert!(!checkout.path(".workshop/kit").exists(), "{said}");
    };
    refused("rm kit/kit.txt", "there is no kit.txt in it");
    refused("rm kit/maven.tar", "maven.tar is missing");
    refused("echo >>kit/crates.tar.gz", "crates.tar.gz is damaged");
    refused("echo >>Cargo.lock", "made for another state of the course");
    let foreign = "cd kit; mv platform-* platform-Plan9-mips.tar; sed -i 's/platform-.*/platform-Plan9-mips.tar/' kit.txt";
    refused(foreign, "no tools for this platform");
    refused(
        "mkdir .cargo; : >.cargo/config.toml",
        "a .cargo/config.toml of your own",
    );
}

#[test]
fn what_a_killed_wrapper_left_behind_stops_nobody() {
    let checkout = Checkout::new();
    let mut killed = checkout.start(&["--tool"]);
    while checkout.calls() < 1 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let group = nix::unistd::Pid::from_raw(killed.child.id().cast_signed());
    nix::sys::signal::killpg(group, nix::sys::signal::Signal::SIGKILL).expect("killed");
    killed.child.wait().expect("its end");
    checkout.write("fake/go", "");
    let (code, said) = checkout.start(&["--tool"]).end();
    assert_eq!(code, Some(0), "{said:?}");
    assert!(
        !said.iter().any(|line| line.contains("waiting")),
        "{said:?}"
    );
}
