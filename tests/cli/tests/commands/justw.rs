//! The wrapper `justw`: called where something is missing, where nothing is built, and twice at the same time in one checkout. A fake
//! cargo finishes when a test says so.

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
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant, SystemTime};

use tempfile::TempDir;

/// Only a hanging wrapper takes this long.
const HANGS: Duration = Duration::from_secs(60);

/// What the fake cargo does: it says that it was called, waits for the file `go`, and then makes what it was asked for.
const CARGO: &str = r#"
echo "   Compiling a-thousand-crates v1.0.0" >&2
: >"$FAKE/called-$1.$$"
while ! [ -e "$FAKE/go" ]; do sleep 0.05; done
case $1 in
    build)
        mkdir -p target/debug
        while [ $# -gt 0 ]; do
            [ "$1" != --bin ] || cp "$FAKE/workshop" "target/debug/$2"
            shift
        done ;;
    install)
        for tool; do :; done
        while [ "$1" != --root ]; do shift; done
        mkdir -p "$2/bin" "$CARGO_TARGET_DIR"
        printf '#!/bin/sh\necho %s 1.0.0\n' "$tool" >"$2/bin/$tool"
        chmod +x "$2/bin/$tool" ;;
esac
"#;

/// The fake tool. As the real one, it has no version to tell.
const TOOL: &str = r#"[ "$1" != --version ] || exit 2; echo "$@" >"$FAKE/ran""#;

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
        let kit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kit.sh");
        fs::copy(kit, checkout.path("tests/kit.sh")).expect("a copy of its other part");
        checkout.write("Cargo.toml", "rust-version = \"1.94\"\n");
        for source in ["Cargo.lock", "tests/cli/Cargo.toml"] {
            checkout.write(source, "");
        }
        checkout.write("tests/cli/src/main.rs", "");
        checkout.write("datasets/records/data.sql", "");
        for (program, text) in [
            ("cargo", CARGO),
            ("workshop", TOOL),
            ("rustc", "echo rustc 1.95.0"),
            ("cc", ""),
        ] {
            checkout.program(program, text);
        }
        checkout
    }

    /// A program that comes before all others on the PATH.
    fn program(&self, name: &str, script: &str) {
        let program = format!("fake/{name}");
        self.write(&program, &format!("#!/bin/sh\n{script}\n"));
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.path(&program), mode).expect("made executable");
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
        self.start_with(arguments, &[])
    }

    fn start_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Wrapper {
        let mut child = Command::new("sh")
            .arg(self.path("justw"))
            .args(arguments)
            .current_dir(self.folder.path())
            .env_remove("CARGO_TARGET_DIR")
            .env_remove("WORKSHOP_POSTGRES")
            .env_remove("CI")
            .env("FAKE", self.path("fake"))
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

    /// Waits until cargo was called so many times.
    fn wait_for_calls(&self, calls: usize) {
        let started = Instant::now();
        while self.calls() < calls {
            assert!(started.elapsed() < HANGS, "{} calls of cargo", self.calls());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The folders in which wrappers make tools.
    fn unfinished(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path(".workshop/tools")).expect("the tools");
        let paths = entries.flatten().map(|entry| entry.path());
        let is_new = |path: &PathBuf| path.display().to_string().contains("/new.");
        paths.filter(is_new).collect()
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
}

#[test]
fn the_doctor_is_compiled_where_that_can_be() {
    let checkout = Checkout::new();
    checkout.write("fake/go", "");
    let (code, said) = checkout.start(&["doctor"]).end();
    assert_eq!((code, checkout.calls()), (Some(0), 1), "{said:?}");
    assert!(said[0].contains("git, a JDK and Maven"), "{said:?}");
    let ran = fs::read_to_string(checkout.path("fake/ran")).expect("the doctor's call");
    assert_eq!(ran, "doctor\n");
}

#[test]
fn an_old_rust_is_for_you_to_fix_and_a_missing_compiler_for_an_administrator() {
    let checkout = Checkout::new();
    let path = without(&checkout, &["cc", "rustup", "apt-get", "dnf"]);
    let doctor = |command: &str, code: i32, fixes: &[&str]| {
        let (ended, said) = checkout.start_with(&[command], &[("PATH", &path)]).end();
        assert_eq!((ended, checkout.calls()), (Some(code), 0), "{said:?}");
        let fix = |line: &String| line.split_once("fix: ").map(|(_, fix)| fix.to_owned());
        assert_eq!(said.iter().filter_map(fix).collect::<Vec<_>>(), fixes);
    };
    let rustup = "curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh";
    checkout.program("rustc", "echo rustc 1.80.0");
    doctor("doctor", 1, &[rustup]);
    checkout.program("rustup", "");
    let update = "rustup update stable && rustup default stable";
    doctor("doctor", 1, &[update]);
    // Who chose it, and what undoes just that.
    for (chosen, fix) in [
        (
            "environment variable RUSTUP_TOOLCHAIN",
            "unset RUSTUP_TOOLCHAIN, which chose this one; rustup update stable",
        ),
        (
            "'/home/ada/rust-toolchain.toml'",
            "rustup override set stable: here that is stronger than /home/ada/rust-toolchain.toml, which chose this one; rustup update stable",
        ),
    ] {
        checkout.program(
            "rustup",
            &format!("echo \"1.80.0 (overridden by {chosen})\""),
        );
        doctor("doctor", 1, &[fix]);
    }
    checkout.program(
        "rustup",
        "echo \"1.80.0 (directory override for '/home/ada/my code')\"",
    );
    let folder = "rustup override unset --path '/home/ada/my code', which chose this one; rustup update stable";
    doctor("doctor", 1, &[folder]);
    checkout.program("rustup", "echo '1.80.0 (default)'");
    fs::remove_file(checkout.path("fake/cc")).expect("removed");
    checkout.program("id", "echo 1000");
    checkout.program("dnf", "");
    doctor("doctor", 2, &[update, "sudo dnf install gcc"]);
    checkout.program("apt-get", "");
    doctor("doctor", 2, &[update, "sudo apt install build-essential"]);
    checkout.program("rustc", "echo rustc 1.94.0");
    doctor("doctor", 2, &["sudo apt install build-essential"]);
    // On a Mac without its command line tools.
    checkout.program("cc", "exit 1");
    checkout.program("uname", "echo Darwin");
    doctor("tour", 1, &["xcode-select --install"]);
    // What is asked to build something can't judge it.
    doctor("--tool", 2, &["xcode-select --install"]);
}

#[test]
fn a_tool_that_does_not_compile_says_so_in_cargos_words() {
    let checkout = Checkout::new();
    checkout.write("fake/go", "");
    fs::remove_file(checkout.path("fake/workshop")).expect("removed");
    let (code, said) = checkout.start(&["--tool"]).end();
    assert_eq!(code, Some(2), "{said:?}");
    assert!(said.iter().any(|line| line.contains("a-thousand-crates")));
    let left = fs::read_dir(checkout.path("target/debug")).expect("the folder");
    assert_eq!(left.count(), 0);
}

#[test]
fn what_is_fresh_is_not_built_again() {
    let checkout = Checkout::new();
    checkout.write("fake/go", "");
    for calls in [1, 1] {
        let (code, said) = checkout.start(&["--tool"]).end();
        assert_eq!((code, checkout.calls()), (Some(0), calls), "{said:?}");
    }
    checkout.write("tests/cli/src/main.rs", "// changed");
    let (code, said) = checkout.start(&["--tool"]).end();
    assert_eq!((code, checkout.calls()), (Some(0), 2), "{said:?}");
}

/// Recipes of each kind.
const RECIPES: &str = "
# Build, start and test
[no-exit-message]
check *options: tool
    {{ workshop }} check \"$@\"

calibrate *options: tool (bring \"oha\" \"hyperfine\")
    {{ workshop }} calibrate \"$@\"

test-all *options: tool
    @cargo test
";

#[test]
fn what_the_tool_does_needs_no_just_and_brings_the_tools_that_the_recipe_names() {
    let checkout = Checkout::new();
    checkout.write("fake/go", "");
    checkout.write("justfile", RECIPES);
    checkout.program("cargo", &format!("echo \"$*\" >>\"$FAKE/asked\"\n{CARGO}"));
    let ran = |arguments: &[&str]| {
        let (code, said) = checkout.start(arguments).end();
        assert_eq!(code, Some(0), "{said:?}");
        // Cargo is asked for nothing where everything is there.
        let asked = fs::read_to_string(checkout.path("fake/asked")).unwrap_or_default();
        let _ = fs::remove_file(checkout.path("fake/asked"));
        let ran = fs::read_to_string(checkout.path("fake/ran")).expect("the tool's call");
        let brings = |tool: &str| asked.lines().any(|line| line.ends_with(tool));
        (ran, ["just", "oha", "hyperfine"].map(brings))
    };
    let check = ran(&["check", "exercise-3"]);
    assert_eq!(check, ("check exercise-3\n".to_owned(), [false; 3]));
    let help = ran(&["calibrate", "--help"]);
    assert_eq!(help, ("calibrate --help\n".to_owned(), [false; 3]));
    let calibrate = ran(&["calibrate", "--times", "2"]);
    assert_eq!(
        calibrate,
        ("calibrate --times 2\n".to_owned(), [false, true, true])
    );
    // Only just can do this one; the one that is made here does nothing.
    checkout.start(&["test-all"]).end();
    let asked = fs::read_to_string(checkout.path("fake/asked")).expect("what cargo was asked");
    assert!(asked.trim().ends_with("just"), "{asked}");
    // What nobody knows is for the tool to refuse: it has a word for what was meant.
    let (_, said) = checkout.start(&["chekc"]).end();
    assert_eq!(said, Vec::<String>::new());
}

#[test]
fn a_program_beside_the_core_is_built_when_a_command_asks_for_it_and_says_so_once() {
    let checkout = Checkout::new();
    checkout.write("fake/go", "");
    checkout.program("cargo", &format!("echo \"$*\" >>\"$FAKE/asked\"\n{CARGO}"));
    assert_eq!(checkout.start(&["--tool"]).end().0, Some(0));
    assert!(!checkout.path("target/debug/workshop-lab").exists());
    let run = || {
        let (code, said) = checkout
            .start(&["--run", "workshop-lab", "measure", "exercise-3"])
            .end();
        let ran = fs::read_to_string(checkout.path("fake/ran")).expect("its call");
        assert_eq!((code, &*ran), (Some(0), "measure exercise-3\n"), "{said:?}");
        said
    };
    let said = run();
    let once = "compiling the part of the tool that this needs, once: workshop-lab";
    assert_eq!(said, [once]);
    assert_eq!(run(), Vec::<String>::new());
    let asked = fs::read_to_string(checkout.path("fake/asked")).expect("what cargo was asked");
    assert_eq!(checkout.calls(), 2, "{asked}");
    // A change makes all of them stale, but those that no command asks for are left as they are.
    checkout.write("tests/cli/src/main.rs", "// changed");
    assert_eq!(checkout.start(&["--tool"]).end().0, Some(0));
    let asked = fs::read_to_string(checkout.path("fake/asked")).expect("what cargo was asked");
    let last = asked.lines().last().unwrap_or_default();
    assert!(
        last.contains("--bin workshop") && !last.contains("workshop-lab"),
        "{last}"
    );
    assert_eq!(run(), Vec::<String>::new());
    assert_eq!(checkout.calls(), 4);
}

/// Changes a file of the tool, with a date of years ago: an archive, a backup and a stash bring such.
fn change_with_an_old_date(checkout: &Checkout) {
    checkout.write("tests/cli/src/main.rs", "// changed");
    let source = fs::File::options()
        .write(true)
        .open(checkout.path("tests/cli/src/main.rs"));
    let years_ago = SystemTime::now() - Duration::from_hours(50_000);
    source
        .expect("a source")
        .set_modified(years_ago)
        .expect("older");
}

#[test]
fn a_changed_source_is_built_whatever_its_date() {
    let checkout = Checkout::new();
    checkout.write("fake/go", "");
    assert_eq!(checkout.start(&["--tool"]).end().0, Some(0));
    change_with_an_old_date(&checkout);
    let (code, said) = checkout.start(&["--tool"]).end();
    assert_eq!((code, checkout.calls()), (Some(0), 2), "{said:?}");
    // Cargo, too, goes by dates.
    let built =
        fs::metadata(checkout.path("tests/cli/src/main.rs")).and_then(|data| data.modified());
    let age = built.expect("its date").elapsed().unwrap_or_default();
    assert!(age < Duration::from_hours(1), "{age:?}");
}

#[test]
fn everything_that_is_compiled_into_the_tool_makes_it_stale() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new("sh")
        .arg("justw")
        .arg("--inputs")
        .current_dir(&root)
        .output();
    let inputs = String::from_utf8(output.expect("the wrapper").stdout).expect("paths");
    let inputs: Vec<PathBuf> = inputs.lines().map(|line| root.join(line)).collect();
    let canonical = |path: &Path| {
        path.canonicalize()
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let known: Vec<PathBuf> = inputs.iter().map(|path| canonical(path)).collect();
    let sources = inputs
        .iter()
        .filter(|path| path.extension().is_some_and(|ending| ending == "rs"));
    let mut found = 0;
    for source in sources {
        let text = fs::read_to_string(source).expect("a source");
        // What only tests include comes after the code.
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for including in ["include_str!(", "include_bytes!("] {
            for rest in code.split(including).skip(1) {
                let Some(path) = rest
                    .trim_start()
                    .strip_prefix('"')
                    .and_then(|rest| rest.split('"').next())
                else {
                    continue;
                };
                let included = canonical(&source.with_file_name(path));
                assert!(
                    known.contains(&included),
                    "{} includes {path}",
                    source.display()
                );
                found += 1;
            }
        }
    }
    assert!(found > 20, "{found} files are included");
}

#[test]
fn the_tool_is_built_without_the_exercises_that_learners_edit() {
    let checkout = Checkout::new();
    checkout.write("Cargo.toml", "rust-version = \"1.94\"\nmembers = [\n    \"exercises/[0-9]*\",\n    \"solutions/[0-9]*\",\n]\n");
    checkout.write("fake/go", "");
    checkout.program("cargo", &format!("echo \"$*\" >\"$FAKE/asked\"\n{CARGO}"));
    assert_eq!(checkout.start(&["--tool"]).end().0, Some(0));
    let asked = fs::read_to_string(checkout.path("fake/asked")).expect("what cargo was asked");
    let aside = ".workshop/aside/tool/Cargo.toml";
    assert!(asked.contains(aside), "{asked}");
    let manifest = fs::read_to_string(checkout.path(aside)).expect("a manifest");
    assert!(!manifest.contains("exercises"), "{manifest}");
    assert!(manifest.contains("solutions/[0-9]*"), "{manifest}");
    assert!(
        checkout
            .path(".workshop/aside/tool/tests/cli/Cargo.toml")
            .is_file()
    );
}

#[test]
fn where_cargo_cannot_read_its_files_the_tool_from_before_goes_on() {
    let checkout = Checkout::new();
    checkout.write("fake/go", "");
    assert_eq!(checkout.start(&["--tool"]).end().0, Some(0));
    let refuse = |why: &str| {
        change_with_an_old_date(&checkout);
        checkout.program("cargo", &format!("echo 'error: {why}' >&2; exit 101"));
    };
    refuse("failed to parse lock file at: Cargo.lock");
    let (code, said) = checkout.start_with(&["doctor"], &[("CI", "")]).end();
    let said = said.join("\n");
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("failed to parse lock file") && said.contains("the one from before goes on"),
        "{said}"
    );
    assert!(checkout.path("fake/ran").is_file());
    // The gate of CI judges what is there now, and so does who writes the tool.
    let (code, _) = checkout.start_with(&["--tool"], &[("CI", "true")]).end();
    assert_eq!(code, Some(2));
    refuse("could not compile `workshop` (lib) due to 1 previous error");
    let (code, said) = checkout.start_with(&["--tool"], &[("CI", "")]).end();
    assert_eq!(code, Some(2), "{said:?}");
}

#[test]
fn two_wrappers_that_bring_a_tool_at_the_same_time_do_not_meet() {
    let checkout = Checkout::new();
    let both = [(); 2].map(|()| checkout.start(&["--bring", "oha"]));
    checkout.wait_for_calls(2);
    checkout.write("fake/go", "");
    for wrapper in both {
        let (code, said) = wrapper.end();
        assert_eq!(code, Some(0), "{said:?}");
    }
    assert!(checkout.path(".workshop/tools/bin/oha").is_file());
    assert!(checkout.unfinished().is_empty());
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
fn a_release_with_another_sum_ends_everything() {
    let page =
        "HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n<html>Sign in to this network</html>";
    for (answer, lacking) in [(page, &[][..]), (OTHER, &[]), (OTHER, &["curl"])] {
        let checkout = Checkout::new();
        let forge = forge(&checkout, Some(answer));
        let path = without(&checkout, lacking);
        let variables = [("WORKSHOP_FORGE", &*forge), ("PATH", &path)];
        let wrapper = checkout.start_with(&["--bring", "oha"], &variables);
        let (code, said) = wrapper.end();
        assert_eq!((code, checkout.calls()), (Some(2), 0), "{answer} {said:?}");
        let said = said.join("\n");
        assert!(said.contains("its sum is another"), "{said}");
        assert!(said.contains("next: open the address"), "{said}");
        assert!(!checkout.path(".workshop/tools/bin/oha").exists());
        assert!(checkout.unfinished().is_empty());
    }
}

/// A release that is not the one that is asked for.
const OTHER: &str = "HTTP/1.0 200 OK\r\n\r\n#!/bin/sh\necho oha 1.0.0\n# and more\n";

#[test]
fn what_does_not_come_is_compiled() {
    let missing = "HTTP/1.0 404 Not Found\r\n\r\n";
    let cut = "HTTP/1.0 200 OK\r\nContent-Length: 90000\r\n\r\n#!/bin/sh\n";
    for (answer, lacking, why) in [
        (missing, &[][..], "could not be downloaded"),
        (cut, &[], "could not be downloaded"),
        // A line that is silent.
        ("", &[], "could not be downloaded"),
        ("", &["curl"], "could not be downloaded"),
        (OTHER, &["curl", "wget"], "could not be downloaded"),
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
        assert!(checkout.unfinished().is_empty());
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

/// The core of the tool as it is released, of the sources as they are, and a forge that has it.
fn released(checkout: &Checkout, program: &str, answer: Option<&'static str>) -> String {
    let forge = forge(checkout, answer);
    checkout.write("forge/workshop", &format!("#!/bin/sh\n{program}\n"));
    let output = Command::new("sh")
        .arg(checkout.path("justw"))
        .args(["--built", "forge/workshop", "releases/v1.0.0/workshop"])
        .current_dir(checkout.folder.path())
        .output();
    let line = output.expect("the wrapper starts").stdout;
    checkout.write("tests/workshop.sums", &String::from_utf8_lossy(&line));
    forge
}

#[test]
fn a_core_that_was_built_of_these_sources_is_downloaded_and_nothing_is_compiled() {
    let checkout = Checkout::new();
    let forge = released(&checkout, TOOL, None);
    let variables = [("WORKSHOP_FORGE", &*forge)];
    let downloads = || {
        let (code, said) = checkout.start_with(&["doctor"], &variables).end();
        assert_eq!((code, checkout.calls()), (Some(0), 0), "{said:?}");
        let ran = fs::read_to_string(checkout.path("fake/ran")).expect("its call");
        assert_eq!(ran, "doctor\n");
        let downloads = said.iter().filter(|line| line.starts_with("downloading"));
        downloads.count()
    };
    assert_eq!(downloads(), 1);
    assert_eq!(downloads(), 0);
    // A learner's exercise needs another crate.
    checkout.write("Cargo.lock", "name = \"itertools\"\n");
    assert_eq!(downloads(), 0);
    assert!(checkout.unfinished().is_empty());
}

#[test]
fn a_core_that_is_not_of_these_sources_or_does_not_come_is_compiled() {
    let missing = Some("HTTP/1.0 404 Not Found\r\n\r\n");
    let changed = |checkout: &Checkout| checkout.write("tests/cli/src/main.rs", "fn main() {}");
    let no_change = |_: &Checkout| ();
    type Change = fn(&Checkout);
    let cases: [(_, _, Change, &[_], _); 4] = [
        (TOOL, None, changed, &[], "compiling the workshop's tool"),
        (TOOL, missing, no_change, &[], "could not be downloaded"),
        ("exit 1", None, no_change, &[], "does not run here"),
        (
            TOOL,
            None,
            no_change,
            &[("CI", "true")],
            "compiling the workshop's tool",
        ),
    ];
    for (program, answer, change, more, why) in cases {
        let checkout = Checkout::new();
        checkout.write("fake/go", "");
        let forge = released(&checkout, program, answer);
        change(&checkout);
        let variables = [&[("WORKSHOP_FORGE", &*forge)][..], more].concat();
        let (code, said) = checkout.start_with(&["doctor"], &variables).end();
        assert_eq!((code, checkout.calls()), (Some(0), 1), "{why} {said:?}");
        assert!(said.iter().any(|line| line.contains(why)), "{why} {said:?}");
    }
}

#[test]
fn a_core_with_another_sum_ends_everything() {
    let checkout = Checkout::new();
    let forge = released(&checkout, TOOL, Some(OTHER));
    let wrapper = checkout.start_with(&["doctor"], &[("WORKSHOP_FORGE", &*forge)]);
    let (code, said) = wrapper.end();
    assert_eq!((code, checkout.calls()), (Some(2), 0), "{said:?}");
    let said = said.join("\n");
    assert!(said.contains("its sum is another"), "{said}");
    assert!(!checkout.path("target/debug/workshop").exists());
    assert!(checkout.unfinished().is_empty());
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
    refused(
        "rm kit/maven.tar",
        "missing in the kit, or damaged: maven.tar",
    );
    refused("echo >>kit/crates.tar.gz", "or damaged: crates.tar.gz");
    refused("echo >>Cargo.lock", "made for another state of the course");
    let foreign = "cd kit; mv platform-* platform-Plan9-mips.tar; sed -i 's/platform-.*/platform-Plan9-mips.tar/' kit.txt";
    refused(foreign, "no tools for this platform");
    refused(
        "mkdir .cargo; : >.cargo/config.toml",
        "a .cargo/config.toml of your own",
    );
}

#[test]
fn what_a_killed_wrapper_left_behind_stops_nobody_and_goes_a_day_later() {
    let checkout = Checkout::new();
    let mut killed = checkout.start(&["--bring", "oha"]);
    checkout.wait_for_calls(1);
    let group = nix::unistd::Pid::from_raw(killed.child.id().cast_signed());
    nix::sys::signal::killpg(group, nix::sys::signal::Signal::SIGKILL).expect("killed");
    killed.child.wait().expect("its end");
    let left = fs::File::open(&checkout.unfinished()[0]).expect("its folder");
    left.set_modified(SystemTime::now() - Duration::from_hours(49))
        .expect("older");
    checkout.write("fake/go", "");
    let (code, said) = checkout.start(&["--bring", "oha"]).end();
    assert_eq!(code, Some(0), "{said:?}");
    assert!(checkout.unfinished().is_empty());
}
