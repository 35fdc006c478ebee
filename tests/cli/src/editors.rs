//! What editors need of the tool: the environment that they debug a service with, and the places of failed tests.

use std::path::Path;

use workshop_base::files;
use workshop_base::target::Target;
use workshop_base::workspace::Workspace;
use workshop_harness::report::{Report, TestStatus};

const DEBUG: &str = include_str!("editors/debug.run.xml");

/// Leaves the environment of a service where editors look for it: VS Code reads a file, RustRover a run configuration. The address of the
/// database has a password in it: nobody else can read the files, and what is printed has the address as it is `shown`.
pub fn write_environment(
    workspace: &Workspace,
    target: Target,
    environment: &[(String, String)],
    shown: &str,
) -> anyhow::Result<()> {
    let lines = |line: &dyn Fn(&str, &str) -> String| -> String {
        let lines = environment.iter().map(|(name, value)| line(name, value));
        lines.collect::<Vec<_>>().join("\n")
    };
    let file = lines(&|name, value| format!("{name}={value}"));
    let address = environment.iter().find(|(name, _)| name == "DATABASE_URL");
    let address = address.map_or("", |(_, url)| url);
    println!("{}", file.replace(address, shown));
    let place = workspace.state().join("debug.env");
    files::write_privately(&place, (file + "\n").as_bytes())?;
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
    files::write_privately(&place, text.as_bytes())
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
        let TestStatus::Failed { failure, .. } = &judged.status else {
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
mod environment_tests {
    use super::*;

    #[test]
    fn editors_get_the_password_and_nobody_else() -> anyhow::Result<()> {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir()?;
        let workspace = Workspace::at(folder.path());
        let url = "postgres://ada:secret@db.example:5432/course";
        let environment = [("DATABASE_URL".to_owned(), url.to_owned())];
        write_environment(&workspace, Target::Exercise(3), &environment, "hidden")?;
        for path in [".workshop/debug.env", ".run/debug exercise-3.run.xml"] {
            let path = folder.path().join(path);
            assert!(files::text(&path)?.contains("secret"), "{}", path.display());
            let mode = std::fs::metadata(&path)?.permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{}", path.display());
        }
        Ok(())
    }
}
