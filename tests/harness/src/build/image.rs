//! The image of a service, from local files: built, run, looked at and removed.
//!
//! A service's `Dockerfile` has two stages. The first runs `image.sh`, which puts all files of the image into a folder; the
//! last copies them onto nothing. Here `image.sh` runs on this machine, and only the last stage is built: no image has to be
//! fetched for it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::jdk;
use crate::request::http::Client;
use workshop_base::exercise::Catalogue;
use workshop_base::outcome::Trouble;
use workshop_base::target::Target;
use workshop_base::workspace::Workspace;

/// The images are called this and the target.
pub const NAME: &str = "kotlin-to-rust-workshop";
/// How the last stage names what the first has made, and what stands in its place here.
const FROM_THE_FIRST_STAGE: (&str, &str) = ("--from=build /image", "image");
/// The port inside the container.
const PORT: u16 = 8080;
/// How long the engine may take to call a service healthy.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks at something that cannot be awaited.
const POLL: Duration = Duration::from_millis(200);

/// An image of a service.
#[derive(Debug)]
pub struct Image {
    /// Its name.
    pub name: String,
    /// The size of its files.
    pub unpacked: u64,
    /// The size of its files as they are sent to another machine, compressed.
    pub packed: u64,
}

/// What a container of an image did.
#[derive(Debug)]
pub struct Trial {
    /// The number of the user that the service runs as.
    pub user: u32,
    /// What the engine says of its health, from its own health check.
    pub health: String,
    /// The status of `GET /health`, asked from outside the container; none when nothing answered.
    pub status: Option<u16>,
    /// What the service has written.
    pub log: String,
}

impl Image {
    /// Builds the image of a target.
    pub fn build(workspace: &Workspace, target: Target) -> anyhow::Result<Image> {
        let source = source(workspace, target)?;
        let dockerfile = source.join("Dockerfile");
        let text = fs::read_to_string(&dockerfile).map_err(|_| {
            Trouble::new(format!("{target} has no Dockerfile"))
                .expected("exercise-8, solution-8 or kotlin")
                .next("just image exercise-8")
        })?;
        fs::create_dir_all(workspace.state())?;
        let folder = tempfile::tempdir_in(workspace.state())?;
        let files = folder.path().join("image");
        fs::create_dir(&files)?;
        let mut script = Command::new("sh");
        script
            .arg(source.join("image.sh"))
            .arg(&files)
            .env("CARGO_TARGET_DIR", workspace.cargo_target());
        if target == Target::Kotlin {
            script.env("JAVA_HOME", jdk::find()?.home);
        }
        succeed(script.stdin(Stdio::null()).stdout(Stdio::null()))?;

        let last_stage =
            last_stage(&text).with_context(|| format!("{} has no stage", dockerfile.display()))?;
        let (from, here) = FROM_THE_FIRST_STAGE;
        fs::write(
            folder.path().join("Dockerfile"),
            last_stage.replace(from, here),
        )?;
        let name = format!("{NAME}-{target}");
        succeed(docker(&["build", "--quiet", "--tag", &name]).arg(folder.path()))?;
        let unpacked = said(&mut docker(&[
            "image",
            "inspect",
            "--format",
            "{{.Size}}",
            &name,
        ]))?;
        let archive = folder.path().join("image.tar");
        succeed(docker(&["save", "--output"]).args([archive.as_os_str(), name.as_ref()]))?;
        let packed = compressed(&archive)?;
        Ok(Image {
            name,
            unpacked: unpacked.parse()?,
            packed,
        })
    }

    /// Runs a container of it, without a database, until the engine has judged its health; the container is removed.
    pub async fn try_out(&self) -> anyhow::Result<Trial> {
        let container = Container::run(&self.name)?;
        let client = Client::new(&format!("http://{}", container.address()?), None)?;
        let health = container.health().await?;
        let answer = client.get("/health").await;
        Ok(Trial {
            user: container.user()?,
            health,
            status: answer.ok().map(|answer| answer.status()),
            log: container.log()?,
        })
    }

    /// Removes it.
    pub fn remove(self) -> anyhow::Result<()> {
        succeed(&mut docker(&["image", "rm", &self.name]))
    }
}

/// A running container. Dropping it removes it.
struct Container {
    id: String,
}

impl Container {
    fn run(image: &str) -> anyhow::Result<Container> {
        let publish = format!("127.0.0.1::{PORT}");
        let id = said(&mut docker(&[
            "run",
            "--detach",
            "--publish",
            &publish,
            // Nobody is there: the service is alive without a database.
            "--env",
            "DATABASE_URL=postgres://nobody:nothing@localhost/nowhere",
            "--env",
            "API_KEYS=a-key-for-a-trial",
            image,
        ]))?;
        Ok(Container { id })
    }

    fn address(&self) -> anyhow::Result<String> {
        said(&mut docker(&["port", &self.id, &PORT.to_string()]))
    }

    /// What the engine says, once it has asked.
    async fn health(&self) -> anyhow::Result<String> {
        let started = Instant::now();
        loop {
            let state = "{{if .State.Running}}{{.State.Health.Status}}{{else}}not running{{end}}";
            let health = said(&mut docker(&["inspect", "--format", state, &self.id]))?;
            if health != "starting" || started.elapsed() > PATIENCE {
                return Ok(health);
            }
            tokio::time::sleep(POLL).await;
        }
    }

    fn user(&self) -> anyhow::Result<u32> {
        let processes = output(&mut docker(&["top", &self.id, "-o", "uid,pid"]))?;
        let processes = String::from_utf8_lossy(&processes.stdout).into_owned();
        // Below the headings, one process a line.
        let user = processes
            .lines()
            .nth(1)
            .and_then(|line| line.split_whitespace().next());
        Ok(user.context("no process runs in the container")?.parse()?)
    }

    fn log(&self) -> anyhow::Result<String> {
        let output = output(&mut docker(&["logs", &self.id]))?;
        Ok(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let _ = docker(&["rm", "--force", "--volumes", &self.id]).output();
    }
}

/// The folder with the Dockerfile.
fn source(workspace: &Workspace, target: Target) -> anyhow::Result<PathBuf> {
    let (Target::Exercise(number) | Target::Solution(number)) = target else {
        return Ok(workspace.kotlin_service());
    };
    let catalogue = Catalogue::read(workspace)?;
    let exercise = catalogue.get(number)?;
    Ok(match target {
        Target::Exercise(_) => exercise.starter(workspace),
        _ => exercise.solution(workspace),
    })
}

/// From the last `FROM` to the end.
fn last_stage(dockerfile: &str) -> Option<&str> {
    let start = dockerfile.rfind("\nFROM ")? + 1;
    dockerfile.get(start..)
}

fn docker(arguments: &[&str]) -> Command {
    let mut command = Command::new("docker");
    command.args(arguments).stdin(Stdio::null());
    command
}

/// The size of a file as gzip would make it. An image may be larger than the memory of a small computer.
fn compressed(file: &Path) -> anyhow::Result<u64> {
    let mut gzip = Command::new("gzip")
        .arg("--stdout")
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| cannot_run("gzip", &error.to_string()))?;
    let mut packed = gzip.stdout.take().context("gzip has no output")?;
    let size = std::io::copy(&mut packed, &mut std::io::sink())?;
    let status = gzip.wait()?;
    if status.success() {
        return Ok(size);
    }
    Err(cannot_run("gzip", &status.to_string()))
}

/// The first line of what a program prints.
fn said(command: &mut Command) -> anyhow::Result<String> {
    let output = output(command)?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or_default().trim().to_owned())
}

fn output(command: &mut Command) -> anyhow::Result<Output> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .map_err(|error| cannot_run(&program, &error.to_string()))?;
    if output.status.success() {
        return Ok(output);
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    Err(cannot_run(&program, complaint.trim()))
}

/// Runs a program whose words go to the terminal.
fn succeed(command: &mut Command) -> anyhow::Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command
        .status()
        .map_err(|error| cannot_run(&program, &error.to_string()))?;
    if status.success() {
        return Ok(());
    }
    Err(cannot_run(&program, &status.to_string()))
}

fn cannot_run(program: &str, why: &str) -> anyhow::Error {
    Trouble::new(format!("{program} does not do what the image needs: {why}"))
        .expected("a Docker engine, its program docker, and a target that builds")
        .next("docker info; just doctor")
        .into()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// The Dockerfiles, each with its last stage as it is built here.
    fn last_stages() -> anyhow::Result<Vec<String>> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let files = ["solutions/08-ship-it", "exercises/kotlin-service"];
        let texts = files.map(|folder| fs::read_to_string(root.join(folder).join("Dockerfile")));
        let mut stages = Vec::new();
        for text in texts {
            let text = text?;
            let stage = last_stage(&text).context("no stage")?;
            let (from, here) = FROM_THE_FIRST_STAGE;
            stages.push(stage.replace(from, here));
        }
        Ok(stages)
    }

    #[test]
    fn the_last_stage_needs_no_other_image() -> anyhow::Result<()> {
        for stage in last_stages()? {
            assert!(stage.starts_with("FROM scratch\nCOPY image /\n"), "{stage}");
            assert_eq!(stage.matches("FROM").count(), 1, "{stage}");
        }
        Ok(())
    }

    #[test]
    fn both_run_as_a_number_that_is_not_roots_and_have_a_health_check() -> anyhow::Result<()> {
        for stage in last_stages()? {
            assert!(stage.contains("\nUSER 65532:65532\n"), "{stage}");
            assert!(stage.contains("\nHEALTHCHECK "), "{stage}");
        }
        Ok(())
    }
}
