//! `just image TARGET`: the image of a service, from local files: built, run, looked at and removed.
//!
//! A service's `Dockerfile` has two stages. The first runs `image.sh`, which puts all files of the image into a folder; the
//! last copies them onto nothing. Here `image.sh` runs on this machine, and only the last stage is built: no image has to be
//! fetched for it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context;

use workshop_base::exercise::Catalogue;
use workshop_base::outcome::{Outcome, Trouble, last_lines};
use workshop_base::probe::{self, ProbeAnswer};
use workshop_base::program;
use workshop_base::scratch;
use workshop_base::target::Target;
use workshop_base::wait;
use workshop_base::workspace::Workspace;
use workshop_harness::http::Client;
use workshop_harness::jdk;

/// The images are called this and the target.
const NAME: &str = "kotlin-to-rust-workshop";
/// How the last stage names what the first has made, and what replaces it here.
const FROM_THE_FIRST_STAGE: (&str, &str) = ("--from=build /image", "image");
/// The port inside the container, and its place outside: any free one of this machine.
const PORT_INSIDE: &str = "8080";
const PORT: &str = "127.0.0.1::8080";
/// The longest that a program may take which writes a whole image.
const LIMIT: Duration = Duration::from_secs(600);
/// How long the engine may take to call a service healthy.
const PATIENCE: Duration = Duration::from_secs(60);

pub async fn run(workspace: &Workspace, target: Target, keep: bool) -> anyhow::Result<Outcome> {
    let image = Image::build(workspace, target).await?;
    println!(
        "built {}: {} unpacked, {} packed",
        image.name,
        megabytes(image.unpacked),
        megabytes(image.packed)
    );
    let tried = image.try_out().await;
    if keep {
        println!("it is kept: docker image rm {} removes it", image.name);
    } else {
        image.remove().await?;
    }
    judge(target, &tried?)
}

fn judge(target: Target, trial: &ImageTrial) -> anyhow::Result<Outcome> {
    let status = trial
        .status
        .map_or("no answer".to_owned(), |status| format!("status {status}"));
    println!(
        "ran as user {}: {}, and {status} to GET /health from outside",
        trial.user, trial.health
    );
    if trial.user != 0 && trial.health == "healthy" && trial.status == Some(200) {
        return Ok(Outcome::Passed);
    }
    let log = last_lines(&trial.log);
    Trouble::new(format!(
        "the image of {target} does not work as a service{log}"
    ))
    .expected("a user other than 0, a health check that passes, and status 200")
    .next(format!("read the lines above, and {target}'s Dockerfile"))
    .failed()
    .err()
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

/// An image of a service.
#[derive(Debug)]
struct Image {
    name: String,
    /// The size of its files.
    unpacked: u64,
    /// The size of its files as they are sent to another machine, compressed.
    packed: u64,
}

/// What a container of an image did.
#[derive(Debug)]
struct ImageTrial {
    /// The number of the user that the service runs as.
    user: u32,
    /// What the engine says of its health, from its own health check.
    health: String,
    /// The status of `GET /health`, asked from outside the container; none when nothing answered.
    status: Option<u16>,
    /// What the service has written.
    log: String,
}

impl Image {
    /// Builds the image of a target.
    async fn build(workspace: &Workspace, target: Target) -> anyhow::Result<Image> {
        let source = source(workspace, target)?;
        let dockerfile = source.join("Dockerfile");
        let text = fs::read_to_string(&dockerfile).map_err(|_| {
            Trouble::new(format!("{target} has no Dockerfile"))
                .expected("exercise-8, solution-8 or kotlin")
                .next("just image exercise-8")
        })?;
        let last_stage =
            last_stage(&text).with_context(|| format!("{} has no stage", dockerfile.display()))?;
        // Hundreds of megabytes: swept if the tool is killed.
        let folder = scratch::folder_in_checkout(workspace, "image")?;
        let folder = folder.path();
        fs::create_dir(folder.join("image"))?;
        let mut script = Command::new("sh");
        script
            .arg(source.join("image.sh"))
            .arg(folder.join("image"))
            .env("CARGO_TARGET_DIR", workspace.cargo_target())
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        if target == Target::Kotlin {
            script.env("JAVA_HOME", jdk::find(jdk::OLDEST, jdk::KOTLIN)?.home);
        }
        let status = program::start(script)?.ended().await?;
        if !status.success() {
            return Err(fails("image.sh", &status.to_string()));
        }

        fs::write(folder.join("Dockerfile"), last_stage)?;
        let name = format!("{NAME}-{target}");
        said("docker", &["build", "--quiet", "--tag", &name, "."], folder).await?;
        let size = ["image", "inspect", "--format", "{{.Size}}", &name];
        let unpacked = docker(&size).await?.parse()?;
        // An image may be larger than the memory of a small computer.
        said("docker", &["save", "--output", "image.tar", &name], folder).await?;
        said("gzip", &["image.tar"], folder).await?;
        let packed = fs::metadata(folder.join("image.tar.gz"))?.len();
        Ok(Image {
            name,
            unpacked,
            packed,
        })
    }

    /// Runs a container of it, without a database, until the engine has judged its health; the container is removed.
    async fn try_out(&self) -> anyhow::Result<ImageTrial> {
        let container = Container::start(&self.name).await?;
        let address = docker(&["port", &container.id, PORT_INSIDE]).await?;
        let client = Client::new(&format!("http://{}", first_line(&address)), None)?;
        let health = container.health().await?;
        let answer = client.get("/health").await;
        let processes = docker(&["top", &container.id, "-o", "uid,pid"]).await?;
        // Below the headings, one process a line.
        let process = processes.lines().nth(1).unwrap_or_default();
        let user = process.split_whitespace().next();
        Ok(ImageTrial {
            user: user.context("no process runs in the container")?.parse()?,
            health,
            status: answer.ok().map(|answer| answer.status()),
            log: docker(&["logs", &container.id]).await?,
        })
    }

    async fn remove(self) -> anyhow::Result<()> {
        docker(&["image", "rm", &self.name]).await.map(drop)
    }
}

/// A running container. Dropping it removes it.
struct Container {
    id: String,
}

impl Container {
    async fn start(image: &str) -> anyhow::Result<Container> {
        // No server answers there: the service is alive without a database.
        let settings = "DATABASE_URL=postgres://nobody:nothing@localhost/nowhere";
        let run = [
            "run",
            "--detach",
            "--publish",
            PORT,
            "--env",
            settings,
            "--env",
            "API_KEYS=a-key-for-a-trial",
            image,
        ];
        let id = first_line(&docker(&run).await?);
        Ok(Container { id })
    }

    /// What the engine says, once it has asked.
    async fn health(&self) -> anyhow::Result<String> {
        let state = "{{if .State.Running}}{{.State.Health.Status}}{{else}}not running{{end}}";
        let health = async || docker(&["inspect", "--format", state, &self.id]).await;
        let judged =
            |health: &anyhow::Result<String>| !matches!(health, Ok(word) if word == "starting");
        wait::last_within(PATIENCE, health, judged).await
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let remove = ["rm", "--force", "--volumes", &self.id];
        // An engine that hangs must not hang the tool's end.
        probe::ask_and_wait(Path::new("docker"), &remove, PATIENCE);
    }
}

/// The folder with the Dockerfile.
fn source(workspace: &Workspace, target: Target) -> anyhow::Result<PathBuf> {
    let (Target::Exercise(number) | Target::Solution(number)) = target else {
        return match target {
            Target::Peer(name) => Trouble::new(format!("{name} has no image"))
                .expected("exercise-8, solution-8 or kotlin")
                .next("just image exercise-8")
                .err(),
            _ => Ok(workspace.kotlin_service()),
        };
    };
    let catalogue = Catalogue::read(workspace)?;
    let exercise = catalogue.get(number)?;
    Ok(match target {
        Target::Exercise(_) => exercise.starter(workspace),
        _ => exercise.solution(workspace),
    })
}

/// From the last `FROM` to the end, with the files that are here.
fn last_stage(dockerfile: &str) -> Option<String> {
    let (_, stage) = dockerfile.rsplit_once("\nFROM ")?;
    let (from, here) = FROM_THE_FIRST_STAGE;
    Some(format!("FROM {}", stage.replace(from, here)))
}

/// What the docker command prints.
async fn docker(args: &[&str]) -> anyhow::Result<String> {
    said("docker", args, Path::new("/")).await
}

/// What a program prints that runs in this folder.
async fn said(program: &str, args: &[&str], folder: &Path) -> anyhow::Result<String> {
    let why = match probe::ask(program, args, folder, LIMIT).await {
        ProbeAnswer::Said(text) => return Ok(text),
        ProbeAnswer::Refused(why) => why,
        ProbeAnswer::Absent => "it is not on the PATH".to_owned(),
        ProbeAnswer::Silent(limit) => format!("it did not end within {} s", limit.as_secs()),
    };
    Err(fails(program, &why))
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

fn fails(program: &str, why: &str) -> anyhow::Error {
    Trouble::new(format!(
        "{program} failed while it worked on the image: {why}"
    ))
    .expected("a Docker engine, its program docker, and a target that builds")
    .next("docker info; just doctor")
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The Dockerfiles, each with its last stage as it is built here.
    fn last_stages() -> anyhow::Result<Vec<String>> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let files = ["solutions/08-ship-it", "exercises/kotlin-service"];
        let texts = files.map(|folder| fs::read_to_string(root.join(folder).join("Dockerfile")));
        let mut stages = Vec::new();
        for text in texts {
            let text = text?;
            stages.push(last_stage(&text).context("no stage")?);
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
