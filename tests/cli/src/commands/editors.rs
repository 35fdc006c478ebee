//! `just editors`: run configurations for IntelliJ IDEA, RustRover and VS Code, made from the exercises; and what an editor needs
//! to debug one of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use workshop_base::exercise::{Catalogue, Exercise, Kind};
use workshop_base::files;
use workshop_base::outcome::Outcome;
use workshop_base::target::Target;
use workshop_base::workspace::Workspace;
use workshop_harness::report::{Report, Verdict};

const TASKS: &str = include_str!("../editors/tasks.json");
const LAUNCH: &str = include_str!("../editors/launch.json");
const SHELL: &str = include_str!("../editors/shell.run.xml");
const DEBUG: &str = include_str!("../editors/debug.run.xml");

/// Writes the files of all editors.
pub fn run(workspace: &Workspace) -> anyhow::Result<Outcome> {
    let made = all(&Catalogue::read(workspace)?);
    for (path, text) in &made {
        files::write_atomically(&workspace.root().join(path), text.as_bytes())?;
    }
    println!("{} files in .run and .vscode", made.len());
    Ok(Outcome::Passed)
}

/// The files, by their paths in the checkout.
pub fn all(catalogue: &Catalogue) -> BTreeMap<PathBuf, String> {
    let mut made = BTreeMap::from([
        (
            PathBuf::from(".vscode/tasks.json"),
            filled(TASKS, catalogue),
        ),
        (
            PathBuf::from(".vscode/launch.json"),
            filled(LAUNCH, catalogue),
        ),
    ]);
    let mut shell = |folder: &str, name: String, command: &str| {
        let text = SHELL.replace("{name}", &name);
        let text = text
            .replace("{folder}", folder)
            .replace("{command}", command);
        made.insert(format!(".run/{name}.run.xml").into(), text);
    };
    shell("", "run kotlin".to_owned(), "run kotlin");
    shell("", "serve the book".to_owned(), "serve --open");
    for exercise in catalogue.iter().filter(|exercise| exercise.is_rust()) {
        let target = Target::Exercise(exercise.number).to_string();
        for command in ["check", "watch"] {
            let command = format!("{command} {target}");
            shell(&target, command.clone(), &command);
        }
        if is_service(exercise) {
            let command = format!("run {target} --debug");
            shell(&target, format!("debug database {target}"), &command);
        }
    }
    made
}

/// True when the crate is a service by itself, and not something that the Kotlin service calls, and there from the start.
fn is_service(exercise: &Exercise) -> bool {
    exercise.kind == Kind::Crate && exercise.kotlin.is_none()
}

/// A template in which the lines after `//{each …}` come once per exercise.
fn filled(template: &str, catalogue: &Catalogue) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, from)) = rest.split_once("//{each ")
        && let Some((kind, from)) = from.split_once("}\n")
        && let Some((block, after)) = from.split_once("//{end}\n")
    {
        text.push_str(before);
        let wanted = |exercise: &&Exercise| match kind {
            "service" => is_service(exercise),
            _ => exercise.is_rust(),
        };
        for exercise in catalogue.iter().filter(wanted) {
            let block = block.replace("{number}", &exercise.number.to_string());
            text.push_str(&block.replace("{title}", &exercise.title));
        }
        rest = after;
    }
    text + rest
}

/// Leaves the environment of a service where editors look for it: VS Code reads a file, RustRover a run configuration.
pub fn write_environment(
    workspace: &Workspace,
    target: Target,
    environment: &[(String, String)],
) -> anyhow::Result<()> {
    let lines = |line: &dyn Fn(&str, &str) -> String| -> String {
        let lines = environment.iter().map(|(name, value)| line(name, value));
        lines.collect::<Vec<_>>().join("\n")
    };
    let file = lines(&|name, value| format!("{name}={value}"));
    println!("{file}");
    let place = workspace.state().join("debug.env");
    files::write_atomically(&place, (file + "\n").as_bytes())?;
    let name = format!("debug {target}");
    let variables = lines(&|name, value| {
        let value = value
            .replace('&', "&amp;")
            .replace('"', "&quot;")
            .replace('<', "&lt;");
        format!("      <env name=\"{name}\" value=\"{value}\" />")
    }) + "\n      <env name=\"CARGO_PROFILE_DEV_DEBUG\" value=\"full\" />";
    let text = DEBUG
        .replace("{name}", &name)
        .replace("{folder}", &target.to_string());
    let text = text.replace("{environment}", &variables);
    let place = workspace.root().join(format!(".run/{name}.run.xml"));
    files::write_atomically(&place, text.as_bytes())
}

/// Where the tests of the contract are.
const SUITES: [&str; 2] = ["tests/suites/src", "tests/carddav/src"];

/// Tells an editor's problem matcher where the failed tests are, one line each: `file:line: what`.
pub fn tell_places(workspace: &Workspace, report: &Report) -> anyhow::Result<()> {
    if std::env::var_os("WORKSHOP_EDITOR").is_none() {
        return Ok(());
    }
    let mut suites = Vec::new();
    for folder in SUITES.map(Path::new) {
        let files = files::read_tree(&workspace.root().join(folder))?;
        suites.extend(
            files
                .into_iter()
                .map(|(file, text)| (folder.join(file), text)),
        );
    }
    for judged in &report.tests {
        let Verdict::Failed { failure, .. } = &judged.verdict else {
            continue;
        };
        let wanted = format!("fn {}(", judged.test);
        for (place, text) in &suites {
            let text = String::from_utf8_lossy(text);
            if let Some(line) = text.lines().position(|line| line.contains(&wanted)) {
                println!(
                    "{}:{}: {}: expected {}; got {}",
                    place.display(),
                    line + 1,
                    judged.test,
                    failure.expected,
                    failure.actual
                );
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A new exercise has run configurations too: `./justw editors` writes them.
    #[test]
    fn the_run_configurations_are_those_of_the_exercises() -> anyhow::Result<()> {
        let workspace = Workspace::find()?;
        let made = all(&Catalogue::read(&workspace)?);
        for (path, text) in &made {
            let found = std::fs::read_to_string(workspace.root().join(path)).unwrap_or_default();
            assert!(
                found == *text,
                "{} is old; run ./justw editors",
                path.display()
            );
        }
        let kept = files::read_tree(&workspace.root().join(".run"))?;
        let mut kept = kept
            .keys()
            .filter(|name| !name.to_string_lossy().starts_with("debug exercise"));
        let odd = kept.find(|name| !made.contains_key(&Path::new(".run").join(name)));
        assert_eq!(odd, None, "it is of no exercise: remove it");
        Ok(())
    }
}
