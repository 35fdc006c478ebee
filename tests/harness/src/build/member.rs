//! Compiles other sources in the place of a member of the workspace: by the compiler itself, with the arguments that cargo has
//! for that member. Its dependencies are those that are built already, and a second after the first time the program is there.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, LazyLock};

use anyhow::Context;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::Mutex;
use workshop_base::exercise::Catalogue;
use workshop_base::outcome::{Trouble, last_lines};
use workshop_base::target::Target;
use workshop_base::workspace::Workspace;
use workshop_base::{files, program, scratch};

use super::diagnostics::CompilerOutput;
use super::freshness;
use super::launch::{BuildError, Crate};

/// How cargo calls the compiler for one crate of a member.
#[derive(Debug)]
struct RustcCall {
    /// The compiler, then its arguments.
    words: Vec<String>,
    /// What cargo tells it in variables.
    env: Vec<(String, String)>,
}

/// What is made of the sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Makes {
    /// The program, or the library.
    Program,
    /// A program of the unit tests.
    Tests,
    /// Nothing: clippy reads them.
    Remarks,
}

/// The calls that were recorded, by what cargo was asked for. They stay what they are for as long as the tool runs.
static RECORDED: LazyLock<Mutex<HashMap<String, Arc<Vec<RustcCall>>>>> =
    LazyLock::new(Mutex::default);

/// Compiles the sources of `krate` in the place of its member. `cargo` is the command that would build the member in the workspace at
/// `root`.
pub(super) async fn compile(
    workspace: &Workspace,
    root: &Path,
    krate: &Crate,
    member: &str,
    cargo: Command,
) -> Result<Vec<PathBuf>, BuildError> {
    let calls = recorded(workspace, member, cargo).await?;
    let place = place_of(workspace, krate, "");
    let mut told = CompilerOutput {
        folder: krate.folder.clone(),
        is_quiet: krate.is_planted,
        ..CompilerOutput::default()
    };
    let mut succeeded = true;
    for call in calls.iter() {
        let command = call.with_sources(root, &krate.folder, &place, Makes::Program)?;
        succeeded &= run(command, &mut told).await?;
    }
    if !succeeded && told.errors.is_empty() {
        let trouble = Trouble::new(format!("the compiler could not build {}", krate.package))
            .expected("a program or a library; see its messages above")
            .next("just doctor");
        return Err(BuildError::CouldNotBuild(trouble.into()));
    }
    told.into_made(&krate.package)
}

/// Compiles the unit tests of `krate` instead of its program, and gives the program that runs them.
pub(super) async fn compile_tests(
    workspace: &Workspace,
    root: &Path,
    krate: &Crate,
    cargo: Command,
) -> Result<PathBuf, BuildError> {
    let calls = recorded(workspace, krate.member(), cargo).await?;
    let mut told = CompilerOutput {
        folder: krate.folder.clone(),
        is_quiet: true,
        ..CompilerOutput::default()
    };
    let call = calls.last().context("cargo compiles nothing")?;
    let place = place_of(workspace, krate, "-tests");
    let command = call.with_sources(root, &krate.folder, &place, Makes::Tests)?;
    run(command, &mut told).await?;
    let made = told.into_made(&krate.package)?.into_iter().next_back();
    Ok(made.context("the compiler made no tests")?)
}

/// The call of clippy, in the compiler's place, for the sources of `krate`. It says what it finds on its standard error, one line of
/// JSON per remark.
pub(super) async fn clippy(
    workspace: &Workspace,
    root: &Path,
    krate: &Crate,
    cargo: Command,
) -> anyhow::Result<Command> {
    let calls = recorded(workspace, krate.member(), cargo).await?;
    let call = calls.last().context("cargo compiles nothing")?;
    let place = place_of(workspace, krate, "-clippy");
    call.with_sources(root, &krate.folder, &place, Makes::Remarks)
}

/// Where what is made of a crate goes.
fn place_of(workspace: &Workspace, krate: &Crate, ending: &str) -> PathBuf {
    let mut name = krate.folder.file_name().unwrap_or_default().to_owned();
    name.push(ending);
    workspace.cargo_target().join("in-place").join(name)
}

/// Runs the compiler; false when it fails.
async fn run(command: Command, told: &mut CompilerOutput) -> anyhow::Result<bool> {
    let mut compiler = program::start(command)?;
    let stderr = compiler
        .child
        .stderr
        .take()
        .context("the compiler gave no output")?;
    let mut lines = BufReader::new(stderr).lines();
    while let Some(line) = lines
        .next_line()
        .await
        .context("cannot read what the compiler prints")?
    {
        match serde_json::from_str::<Value>(&line) {
            Ok(line) => told.take_from_rustc(&line),
            Err(_) => eprintln!("{line}"),
        }
    }
    let status = compiler
        .ended()
        .await
        .context("cannot wait for the compiler")?;
    Ok(status.success())
}

/// How cargo compiles the member when it is asked like this. The member's dependencies are built meanwhile.
async fn recorded(
    workspace: &Workspace,
    member: &str,
    mut cargo: Command,
) -> anyhow::Result<Arc<Vec<RustcCall>>> {
    let asked = format!("{cargo:?}");
    // Held meanwhile: a second cargo would wait for the first one anyway.
    let mut known = RECORDED.lock().await;
    if let Some(calls) = known.get(&asked) {
        return Ok(Arc::clone(calls));
    }
    let folder = scratch::folder_in_checkout(workspace, "recorded")?;
    let recorder = folder.path().join("recorder.sh");
    fs::write(&recorder, include_bytes!("recorder.sh"))?;
    fs::set_permissions(&recorder, fs::Permissions::from_mode(0o755))?;
    let calls = folder.path().join("calls");
    fs::create_dir(&calls)?;
    cargo
        .arg("--keep-going")
        .env("RUSTC_WORKSPACE_WRAPPER", &recorder)
        .env("RUSTC_WRAPPER", "")
        .env("WORKSHOP_RECORD", member)
        .env("WORKSHOP_RECORD_TO", &calls);
    let mut output = program::run(program::again(&cargo), "").await?;
    if files::read_tree(&calls)?.is_empty() {
        // A library of a fixed name counts as built, whoever stands before the compiler: unless its source is newer.
        touch(workspace, member)?;
        output = program::run(cargo, "").await?;
    }
    let found = files::read_tree(&calls)?;
    let found: Vec<RustcCall> = found
        .values()
        .map(|bytes| RustcCall::read(&String::from_utf8_lossy(bytes)))
        .collect();
    if found.is_empty() {
        return Err(
            Trouble::new(format!("cargo could not say how it compiles {member}"))
                .because(last_lines(&String::from_utf8_lossy(&output.stderr)))
                .expected("the dependencies of the course, built or to be built")
                .next(format!("just check {member}"))
                .into(),
        );
    }
    let found = Arc::new(found);
    known.insert(asked, Arc::clone(&found));
    Ok(found)
}

/// Makes the first source file of a member as new as now.
fn touch(workspace: &Workspace, member: &str) -> anyhow::Result<()> {
    let catalogue = Catalogue::read(workspace)?;
    let target: Target = member.parse().map_err(anyhow::Error::msg)?;
    let exercise = catalogue.of(target)?.context("it belongs to no exercise")?;
    freshness::touch(&Crate::of(workspace, exercise, target).folder)
}

impl RustcCall {
    /// Reads what `recorder.sh` has written.
    fn read(text: &str) -> RustcCall {
        let of = |kind: &'static str| text.lines().filter_map(move |line| line.strip_prefix(kind));
        let variable = |line: &str| {
            let (name, value) = line.split_once('=')?;
            Some((name.to_owned(), value.to_owned()))
        };
        RustcCall {
            words: of("arg ").map(str::to_owned).collect(),
            env: of("env ").filter_map(variable).collect(),
        }
    }

    /// The same call for the sources in `folder`; what it makes and what it remembers for the next time is in `place`.
    fn with_sources(
        &self,
        root: &Path,
        folder: &Path,
        place: &Path,
        what: Makes,
    ) -> anyhow::Result<Command> {
        let made = place.join("made");
        fs::create_dir_all(&made).with_context(|| format!("cannot make {}", made.display()))?;
        let of_member = self.variable("CARGO_MANIFEST_DIR").unwrap_or_default();
        let mut words = self.words.iter();
        let compiler = words.next().context("cargo names no compiler")?;
        // What is being judged meanwhile has the processors first.
        let mut command = Command::new("nice");
        command.args(["-n", "19"]);
        match what {
            Makes::Program => command.arg(compiler),
            Makes::Tests => command.args([compiler, "--test"]),
            Makes::Remarks => command.args(["clippy-driver", compiler]),
        };
        while let Some(word) = words.next() {
            let source = root.join(word);
            if word == "--out-dir" {
                words.next();
                command.arg(word).arg(&made);
            } else if word.starts_with("--emit=") {
                command.arg(match what {
                    Makes::Remarks => "--emit=metadata",
                    Makes::Program | Makes::Tests => "--emit=link",
                });
            } else if let Ok(source) = source.strip_prefix(of_member) {
                // The one path below the member's folder is that of its sources. The compiler names files as they are named here.
                command.arg(source);
            } else {
                command.arg(word);
            }
        }
        let cargos = self.env.iter().map(|(name, value)| (name, value));
        command
            // Also where cargo itself is told not to: most of these sources differ by a line, and are compiled in a quarter of the time.
            // The last of two such options counts.
            .args(["-C", &format!("incremental={}", place.display())])
            .envs(cargos)
            // Where cargo's compilers take turns: cargo has ended.
            .env_remove("CARGO_MAKEFLAGS")
            .env("CARGO_MANIFEST_DIR", folder)
            .env("CARGO_MANIFEST_PATH", folder.join("Cargo.toml"))
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        Ok(command)
    }

    fn variable(&self, name: &str) -> Option<&str> {
        let mut env = self.env.iter();
        env.find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sources_and_what_is_made_of_them_are_elsewhere_and_all_else_is_the_same()
    -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let root = folder.path().display();
        let call = RustcCall::read(&format!(
            "env CARGO_MANIFEST_DIR={root}/solutions/03\nenv CARGO_PKG_NAME=solution-3\n\
             arg rustc\narg --crate-name\narg solution_3\narg solutions/03/src/main.rs\narg --emit=dep-info,link\n\
             arg --out-dir\narg {root}/target/debug/deps\narg -C\narg incremental={root}/target/debug/incremental\n"
        ));
        let (copy, place) = (folder.path().join("copy"), folder.path().join("place"));
        let command = call.with_sources(folder.path(), &copy, &place, Makes::Program)?;
        let words: Vec<_> = command
            .get_args()
            .map(|word| word.to_string_lossy())
            .collect();
        let expected = format!(
            "-n 19 rustc --crate-name solution_3 src/main.rs --emit=link --out-dir {0}/made -C incremental={root}/target/debug/incremental \
             -C incremental={0}",
            place.display()
        );
        assert_eq!(words.join(" "), expected);
        assert_eq!(command.get_current_dir(), Some(copy.as_path()));
        Ok(())
    }
}
