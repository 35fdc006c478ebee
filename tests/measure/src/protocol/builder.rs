//! Builds what is measured: the rows of a task as subjects, each crate once.
//!
//! A variant is a reference with something changed by patches, `tests/variants/<name>.patch`: its code, a dependency or, in the
//! crate's `profile.toml`, how it is built. Its first line, `Title: …`, says in a few words what is changed. Several at once are
//! named with a plus: `no-ping+mimalloc`.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;

use crate::protocol::front::FrontLaunch;
use crate::protocol::rows::{self, Asked, CEILING, Row, Source};
use crate::protocol::subject::{self, Subject};
use workshop_base::exercise::{Catalogue, Exercise};
use workshop_base::outcome::Trouble;
use workshop_base::peer;
use workshop_base::target::Target;
use workshop_base::terminal::{Style, paint};
use workshop_base::workspace::Workspace;
use workshop_harness::build::{self, BuildError, Crate, Launch, Profile};
use workshop_harness::copies::Copy;
use workshop_harness::nginx;

/// Where the patches are, from the root of the checkout.
const FOLDER: &str = "tests/variants";

/// Those who are measured.
pub struct Cast {
    /// In the order of their rows.
    pub subjects: Vec<Subject>,
    /// Which rows are not there, and why.
    pub missing: Vec<String>,
}

/// Builds the rows of what is asked for. A service beside the port that cannot be built here has no row.
pub async fn subjects(
    workspace: &Workspace,
    asked: &Asked,
    scratch: &Path,
) -> anyhow::Result<Cast> {
    let catalogue = Catalogue::read(workspace)?;
    let mut built: BTreeMap<String, Launch> = BTreeMap::new();
    let mut subjects: Vec<Subject> = Vec::new();
    let mut missing = Vec::new();
    for row in rows::of(&asked.task, asked.mode, asked.peers)? {
        let source = row.source(asked, &catalogue)?;
        let what = match &row.variant {
            None => source.to_string(),
            Some(variant) => format!("{source}-{variant}").replace('+', "-"),
        };
        let id = row.id.clone().unwrap_or_else(|| what.clone());
        if subjects.iter().any(|subject| subject.id() == id) {
            continue;
        }
        let mut launch = match built.get(&what) {
            Some(launch) => launch.clone(),
            None => {
                println!(
                    "building {} for release",
                    paint(Style::Strong, what.as_str())
                );
                let launch = for_release(workspace, &catalogue, source, &what, &row).await;
                let launch = match launch {
                    Err(error) if row.is_a_peer() => {
                        missing.push(no_row(&id, &error.to_string()));
                        continue;
                    }
                    launch => launch?,
                };
                built.insert(what, launch.clone());
                launch
            }
        };
        let front = row.front.then(|| built.get(&Target::Kotlin.to_string()));
        let front = front.flatten().map(|kotlin| FrontLaunch {
            configuration: launch.directory.join(nginx::FOLDER),
            kotlin: kotlin.clone(),
        });
        launch = subject::with_flags(&launch, &row.flags);
        launch.env.extend(row.env.clone());
        let label = label(&row, source, asked, &catalogue)?;
        let mut subject = Subject::named(&id, &label, launch, scratch)?;
        if let Some(first) = subjects.first() {
            subject.against = row.compared_with(first.id(), asked, &catalogue)?;
        }
        // What is compared with the port always is no service beside it.
        subject.side.peer &= row.is_a_peer();
        subject.checks_keys = match source {
            Source::Target(target) => catalogue.checks_keys(target)?,
            Source::Ceiling => true,
        };
        subjects.push(Subject {
            front,
            row,
            ..subject
        });
    }
    Ok(Cast { subjects, missing })
}

/// Says that a row is not there; returns the note.
fn no_row(id: &str, why: &str) -> String {
    println!("{}", paint(Style::Faint, format!("no row {id}: {why}")));
    let why = why.lines().next().unwrap_or_default();
    format!("there is no row {id}: {why}")
}

/// What a row is called where it says nothing itself.
fn label(
    row: &Row,
    source: Source,
    asked: &Asked,
    catalogue: &Catalogue,
) -> anyhow::Result<String> {
    let label = match (&row.label, source) {
        (Some(label), _) => label,
        (None, Source::Ceiling) => "the ceiling",
        (None, Source::Target(Target::Kotlin)) => "Kotlin",
        (None, Source::Target(Target::Exercise(_))) => "your Rust",
        (None, Source::Target(Target::Peer(name))) => {
            peer::named(name).map_or(name, |(_, _, set_up)| &set_up.label)
        }
        (None, Source::Target(Target::Solution(number))) if number != asked.exercise => {
            &catalogue.get(number)?.title
        }
        (None, Source::Target(Target::Solution(_))) => "Rust (reference)",
    };
    Ok(label.to_owned())
}

async fn for_release(
    workspace: &Workspace,
    catalogue: &Catalogue,
    source: Source,
    package: &str,
    row: &Row,
) -> anyhow::Result<Launch> {
    match (&row.variant, source) {
        (None, Source::Ceiling) => Ok(ceiling(workspace, Profile::Measure).await?),
        (None, Source::Target(target)) => built(workspace, target, Profile::Measure).await,
        (Some(patches), Source::Target(Target::Solution(number))) => {
            variant(workspace, catalogue.get(number)?, package, patches).await
        }
        (Some(_), _) => {
            anyhow::bail!("rows.toml: a variant is one of a reference, not of {source}")
        }
    }
}

/// Builds a target; a learner's crate that does not compile is the learner's to fix.
pub async fn built(
    workspace: &Workspace,
    target: Target,
    profile: Profile,
) -> anyhow::Result<Launch> {
    let launch = build::build(workspace, target, profile).await;
    launch.map_err(|error| does_not_build(error, target))
}

/// The error for people: the crate is theirs, or the build.
pub fn does_not_build(error: BuildError, target: Target) -> anyhow::Error {
    match error {
        BuildError::DoesNotCompile { .. } => {
            Trouble::new(format!("{error}; see the compiler's messages above"))
                .next(format!("just check {target}"))
                .failed()
                .into()
        }
        BuildError::CouldNotBuild(error) => error,
    }
}

/// Builds the ceiling, the crate `tests/ceiling`, which does the same read with as little as possible around it.
pub async fn ceiling(workspace: &Workspace, profile: Profile) -> Result<Launch, BuildError> {
    let krate = Crate::new(workspace.root().join("tests/ceiling"), CEILING);
    build::cargo(workspace, &krate, profile).await
}

/// Builds a variant of a reference as the package `package`.
async fn variant(
    workspace: &Workspace,
    exercise: &Exercise,
    package: &str,
    patches: &str,
) -> anyhow::Result<Launch> {
    let solution = exercise.solution(workspace);
    let copy = patched(workspace, &solution, package, patches).await?;
    // Kept, so that only the first measurement has to wait for its build.
    let krate = copy.kept_in(workspace.state().join("variants").join(package))?;
    let launch = build::launch(workspace, exercise.calls(), &krate, Profile::Measure).await;
    let mut launch = launch.map_err(|error| match error {
        BuildError::CouldNotBuild(error) => error,
        BuildError::DoesNotCompile { .. } => {
            Trouble::new(format!("{FOLDER}/{patches}.patch does not compile"))
                .expected("a patch made against the reference as it is now")
                .next("make the patch again with git diff")
                .into()
        }
    })?;
    if exercise.calls().is_none() {
        // It runs where the reference would.
        launch.directory = solution;
    }
    Ok(launch)
}

async fn patched(
    workspace: &Workspace,
    solution: &Path,
    package: &str,
    names: &str,
) -> anyhow::Result<Copy> {
    let patches = names.split('+').map(|name| {
        let path = workspace.root().join(FOLDER).join(format!("{name}.patch"));
        std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
    });
    let patches = patches.collect::<anyhow::Result<String>>()?;
    Copy::patched(workspace, solution, package, &patches)
        .await
        .with_context(|| format!("{FOLDER}/{names}.patch"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use workshop_results::file::Mode;

    const TASKS: [&str; 5] = ["ping", "article", "best", "ladder", "calibration-rounds"];

    /// Every variant that a task measures, with the number of its reference; the exercise of each task is the first that has it.
    fn variants(catalogue: &Catalogue) -> anyhow::Result<Vec<(u8, String)>> {
        let mut variants = Vec::new();
        for task in TASKS {
            let has = |exercise: &&Exercise| match task {
                "ping" => exercise.task() == Some("pool"),
                task => exercise.task() == Some(task),
            };
            let asked = Asked {
                task: task.to_owned(),
                exercise: catalogue
                    .iter()
                    .find(has)
                    .map_or(3, |exercise| exercise.number),
                target: Target::Kotlin,
                mode: Mode::Standard,
                rounds: None,
                peers: false,
            };
            for row in rows::of(task, Mode::Standard, false)? {
                if let Some(variant) = &row.variant
                    && let Source::Target(Target::Solution(number)) =
                        row.source(&asked, catalogue)?
                {
                    variants.push((number, variant.clone()));
                }
            }
        }
        Ok(variants)
    }

    #[tokio::test]
    async fn every_variant_fits_its_reference_and_every_patch_is_measured() -> anyhow::Result<()> {
        let checkout = Workspace::at(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let catalogue = Catalogue::read(&checkout)?;
        let variants = variants(&catalogue)?;
        for (number, name) in &variants {
            let solution = catalogue.get(*number)?.solution(&checkout);
            let package = format!("fits-{}-{}", name.replace('+', "-"), std::process::id());
            patched(&checkout, &solution, &package, name).await?;
        }
        for entry in std::fs::read_dir(checkout.root().join(FOLDER))? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            let of = |(_, variant): &(u8, String)| {
                variant
                    .split('+')
                    .any(|part| name == format!("{part}.patch"))
            };
            assert!(variants.iter().any(of), "{name} is measured by no task");
        }
        Ok(())
    }
}
