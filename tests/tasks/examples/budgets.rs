//! What a small machine is enough for: the steps of the course, from nothing, in a control group (cgroup) with little memory.
//!
//! cargo run --package workshop-tasks --example budgets -- book/reference-results/budgets.toml [1x1 1x2 2x2 4x2]
//!
//! `1x2` is 1 GB of memory and two jobs of cargo's at the same time. It takes root, a memory cgroup, and twenty minutes each. The table
//! is written after each of them.

mod published;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::Context;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use published::{Published, Row};
use tokio::process::Command;
use workshop_base::outcome::Trouble;
use workshop_base::scratch;
use workshop_base::wait;
use workshop_base::workspace::Workspace;
use workshop_measure::protocol::machine;
use workshop_results::shown::Cell;

/// How often the memory of a group is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// How long a killed process may take to be gone.
const GONE: Duration = Duration::from_secs(20);

/// Where the kernel has its control groups.
const GROUPS: &str = "/sys/fs/cgroup";

/// Who runs a step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Program {
    Cargo,
    /// The tool that the first step has built.
    Workshop,
}

/// One step of the course.
struct Step {
    heading: &'static str,
    program: Program,
    arguments: &'static str,
}

const fn step(heading: &'static str, program: Program, arguments: &'static str) -> Step {
    Step {
        heading,
        program,
        arguments,
    }
}

/// In the order in which a reader meets them, in one target directory.
const STEPS: [Step; 6] = [
    step(
        "Build the tool",
        Program::Cargo,
        "build --quiet --package workshop",
    ),
    step(
        "Build the exercises 2 to 16",
        Program::Cargo,
        "build --quiet --package exercise-*",
    ),
    step(
        "Build and check the reference of exercise 3",
        Program::Workshop,
        "check solution-3",
    ),
    step(
        "The tour: the Kotlin service, a release, the data set pi, checks, a short measurement, the book",
        Program::Workshop,
        "tour",
    ),
    step(
        "Build the release of exercise 8",
        Program::Cargo,
        "build --quiet --release --package solution-8 --config solutions/08-ship-it/profile.toml",
    ),
    step(
        "Measure exercise 8 in short, with the data set pi",
        Program::Workshop,
        "measure solution-8 --quick --data-set pi",
    ),
];

/// A machine to imitate.
struct Size {
    gigabytes: u64,
    jobs: usize,
}

impl Size {
    /// Reads `1x2`.
    fn read(text: &str) -> anyhow::Result<Size> {
        let parts = text.split_once('x');
        parts
            .and_then(|(gigabytes, jobs)| {
                Some(Size {
                    gigabytes: gigabytes.parse().ok()?,
                    jobs: jobs.parse().ok()?,
                })
            })
            .with_context(|| format!("{text} isn't a size; 1x2 is 1 GB and two jobs"))
    }

    fn words(&self) -> String {
        let Size { gigabytes, jobs } = self;
        match jobs {
            1 => format!("{gigabytes} GB, one job"),
            jobs => format!("{gigabytes} GB, {jobs} jobs"),
        }
    }
}

/// What came of a step.
enum Outcome {
    /// It ended well after this time; its processes had so much memory (bytes) at the most.
    Ended(Duration, u64),
    /// The kernel killed one of its processes, since the group had no memory left.
    Killed,
    /// The tool that it needs wasn't built.
    Impossible,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (file, sizes) = arguments
        .split_first()
        .context("where shall the table go?")?;
    let sizes = match sizes {
        [] => &["1x1", "1x2", "2x2", "4x2"].map(str::to_owned)[..],
        sizes => sizes,
    };
    let sizes: Vec<Size> = sizes
        .iter()
        .map(|size| Size::read(size))
        .collect::<anyhow::Result<_>>()?;
    let workspace = Workspace::find()?;
    let mut taken = Vec::new();
    for (number, size) in sizes.iter().enumerate() {
        let group = Group::of(size.gigabytes)?;
        let checkout = Checkout::of(&workspace).await?;
        let came = tokio::select! {
            came = checkout.take(&group, size) => came,
            _ = tokio::signal::ctrl_c() => Err(anyhow::anyhow!("interrupted")),
        };
        // What still runs is killed, even where the server can't be stopped.
        let cleaned = checkout.clean(&group).await;
        group.end().await?;
        taken.push(came?);
        cleaned?;
        table(&workspace, &sizes[..=number], &taken)
            .await?
            .write(Path::new(file))?;
    }
    Ok(())
}

/// A checkout of its own, in which nothing is built.
struct Checkout {
    folder: scratch::Folder,
    root: PathBuf,
}

impl Checkout {
    async fn of(workspace: &Workspace) -> anyhow::Result<Checkout> {
        // Not where temporary files are: they may be in memory themselves.
        let folder = scratch::folder_in_checkout(workspace, "budgets")?;
        let root = folder.path().join("course");
        let cloned = Command::new("git")
            .args(["clone", "--quiet"])
            .args([workspace.root(), &root])
            .status()
            .await?;
        anyhow::ensure!(cloned.success(), "git clone: {cloned}");
        // oha and hyperfine are brought, not built: their budget is another one.
        let checkout = Workspace::at(&root);
        fs::create_dir_all(checkout.state())?;
        std::os::unix::fs::symlink(workspace.tools(), checkout.tools())?;
        Ok(Checkout { folder, root })
    }

    fn tool(&self) -> PathBuf {
        self.root.join("target/debug/workshop")
    }

    /// A command in this checkout, and in the group.
    fn command(&self, group: &Group, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut path = Workspace::at(&self.root)
            .tools()
            .join("bin")
            .into_os_string();
        if let Some(rest) = std::env::var_os("PATH") {
            path.push(":");
            path.push(rest);
        }
        let mut command = Command::new("sh");
        command
            .args(["-c", "echo $$ >\"$0\" && exec \"$@\""])
            .arg(group.folder.join("cgroup.procs"))
            .arg(program)
            .current_dir(&self.root)
            .env("WORKSHOP_POSTGRES", "embedded")
            .env("PATH", path)
            .stdin(Stdio::null())
            .kill_on_drop(true);
        // What an outer cargo says about its own package and its own target directory isn't for this one.
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text == "WORKSHOP_ROOT" || text.starts_with("CARGO") && text != "CARGO_HOME" {
                command.env_remove(&name);
            }
        }
        command
    }

    async fn take(&self, group: &Group, size: &Size) -> anyhow::Result<Vec<Outcome>> {
        let mut taken = Vec::new();
        for step in &STEPS {
            println!("{}: {}", size.words(), step.heading);
            let came = self.take_one(group, size, step).await?;
            match &came {
                Outcome::Ended(took, memory) => println!(
                    "  {:.0} s, {:.0} MB",
                    took.as_secs_f64(),
                    *memory as f64 / 1e6
                ),
                Outcome::Killed => println!("  killed"),
                Outcome::Impossible => println!("  not tried: the tool isn't built"),
            }
            taken.push(came);
        }
        Ok(taken)
    }

    async fn take_one(&self, group: &Group, size: &Size, step: &Step) -> anyhow::Result<Outcome> {
        let program = match step.program {
            Program::Cargo => PathBuf::from("cargo"),
            Program::Workshop if self.tool().is_file() => self.tool(),
            Program::Workshop => return Ok(Outcome::Impossible),
        };
        let log = self.folder.path().join("log");
        let output = fs::File::create(&log)?;
        let before = group.kills()?;
        let began = Instant::now();
        let mut child = self
            .command(group, program)
            .args(step.arguments.split(' '))
            .env("CARGO_BUILD_JOBS", size.jobs.to_string())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()?;
        let mut most = 0;
        let status = loop {
            match tokio::time::timeout(LOOK, child.wait()).await {
                Ok(status) => break status?,
                Err(_) => most = most.max(group.memory()?),
            }
        };
        if status.success() {
            return Ok(Outcome::Ended(began.elapsed(), most));
        }
        if group.kills()? > before {
            eprint!("{}", fs::read_to_string(&log)?);
            return Ok(Outcome::Killed);
        }
        eprint!("{}", fs::read_to_string(&log)?);
        anyhow::bail!("{} failed, and not for lack of memory", step.heading)
    }

    /// Stops the server that the steps have started.
    async fn clean(&self, group: &Group) -> anyhow::Result<()> {
        if self.tool().is_file() {
            let status = self
                .command(group, self.tool())
                .arg("clean")
                .stdout(Stdio::null())
                .status()
                .await?;
            anyhow::ensure!(status.success(), "clean: {status}");
        }
        Ok(())
    }
}

/// A control group: processes that together have little memory, and no swap.
struct Group {
    folder: PathBuf,
    /// What the files are called in this kernel's version of control groups.
    names: &'static Names,
}

struct Names {
    /// Where groups are.
    place: &'static str,
    limit: &'static str,
    /// Takes a 0 for no swap; not there on every kernel.
    swap: &'static str,
    /// In `memory.stat`: what processes have written and no file can give back.
    memory: &'static str,
    /// The file that counts, in a line `oom_kill`, the processes that were killed.
    kills: &'static str,
}

const VERSIONS: [Names; 2] = [
    Names {
        place: "memory",
        limit: "memory.limit_in_bytes",
        swap: "memory.swappiness",
        memory: "total_rss",
        kills: "memory.oom_control",
    },
    Names {
        place: "",
        limit: "memory.max",
        swap: "memory.swap.max",
        memory: "anon",
        kills: "memory.events",
    },
];

impl Group {
    fn of(gigabytes: u64) -> anyhow::Result<Group> {
        let names = VERSIONS
            .iter()
            .find(|names| {
                Path::new(GROUPS)
                    .join(names.place)
                    .join("cgroup.procs")
                    .is_file()
            })
            .ok_or_else(|| {
                Trouble::new(
                    "this machine has no groups of processes whose memory could be limited",
                )
                .expected(format!("Linux with its memory controller in {GROUPS}"))
                .next("on a Raspberry Pi, add cgroup_enable=memory to the kernel's command line")
            })?;
        let place = Path::new(GROUPS).join(names.place);
        if names.place.is_empty() {
            fs::write(place.join("cgroup.subtree_control"), "+memory")
                .context("the groups of processes have no memory controller")?;
        }
        let folder = place.join(format!("workshop-budgets-{}", std::process::id()));
        fs::create_dir(&folder).context("only root can limit the memory of processes")?;
        let group = Group { folder, names };
        let limit = gigabytes * (1 << 30);
        fs::write(group.folder.join(names.limit), limit.to_string())?;
        let swap = group.folder.join(names.swap);
        if swap.is_file() {
            fs::write(swap, "0")?;
        }
        Ok(group)
    }

    /// Bytes that its processes have now.
    fn memory(&self) -> anyhow::Result<u64> {
        self.number("memory.stat", self.names.memory)
    }

    /// How many of its processes were killed for their memory.
    fn kills(&self) -> anyhow::Result<u64> {
        self.number(self.names.kills, "oom_kill")
    }

    /// Kills what still runs in it, such as the compilers of an interrupted build, and waits until they are gone.
    async fn end(&self) -> anyhow::Result<()> {
        let gone = async || self.kill_members().transpose();
        let ended = wait::within(GONE, gone).await.transpose()?;
        ended.context("a killed process of the group doesn't end")
    }

    /// Kills its processes, which may have started others since they were last looked at; `Some` when none is left.
    fn kill_members(&self) -> anyhow::Result<Option<()>> {
        let members = fs::read_to_string(self.folder.join("cgroup.procs"))?;
        for pid in members.lines() {
            // One that has ended by itself meanwhile is what is wanted.
            let _ = kill(Pid::from_raw(pid.parse()?), Signal::SIGKILL);
        }
        Ok(members.is_empty().then_some(()))
    }

    fn number(&self, file: &str, name: &str) -> anyhow::Result<u64> {
        let text = fs::read_to_string(self.folder.join(file))?;
        let mut lines = text.lines().filter_map(|line| line.split_once(' '));
        let found = lines.find(|(found, _)| *found == name);
        let (_, value) = found.with_context(|| format!("{file} has no line {name}"))?;
        Ok(value.trim().parse()?)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir(&self.folder) {
            eprintln!(
                "note: {} could not be removed: {error}",
                self.folder.display()
            );
        }
    }
}

async fn table(
    workspace: &Workspace,
    sizes: &[Size],
    taken: &[Vec<Outcome>],
) -> anyhow::Result<Published> {
    let said = async |program: &str, arguments: &[&str]| -> anyhow::Result<String> {
        let output = Command::new(program)
            .args(arguments)
            .current_dir(workspace.root())
            .output()
            .await?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let rust = said("rustc", &["--version"]).await?;
    let rust = rust.split(' ').nth(1).unwrap_or_default().to_owned();
    let commit = said("git", &["rev-parse", "--short=12", "HEAD"]).await?;
    let row = STEPS.iter().enumerate().map(|(number, step)| {
        let came = || taken.iter().map(|taken| &taken[number]);
        let seconds = came().map(|came| match came {
            Outcome::Ended(took, _) => Cell::Number(took.as_secs_f64()),
            Outcome::Killed => Cell::text("killed"),
            Outcome::Impossible => Cell::text(""),
        });
        let most = came().filter_map(|came| match came {
            Outcome::Ended(_, memory) => Some(*memory),
            _ => None,
        });
        let most = most.max().map(|bytes| Cell::Number(bytes as f64 / 1e6));
        Row {
            heading: step.heading.to_owned(),
            values: seconds
                .chain([most.unwrap_or_else(|| Cell::text(""))])
                .collect(),
        }
    });
    let seconds = sizes.iter().map(|size| format!("{} (s)", size.words()));
    Ok(Published {
        lead: "Measured".to_owned(),
        about: format!(
            "{}, {}, Rust {rust}, commit {commit}. Groups of processes with so much memory and no swap; jobs are cargo's. From nothing, one step after the other in one target directory, the crates downloaded before. Memory is the most that all processes of a step had at the same time, without the files that the kernel caches.",
            machine::label(&machine::look(None)),
            jiff::Zoned::now().date(),
        ),
        title: match sizes {
            [size] => format!("What {} GB is enough for", size.gigabytes),
            _ => "What a small machine is enough for".to_owned(),
        },
        corner: "Step".to_owned(),
        columns: seconds.chain(["Memory (MB)".to_owned()]).collect(),
        row: row.collect(),
    })
}
