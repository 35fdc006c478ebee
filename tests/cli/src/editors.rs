//! What editors need of the tool: the environment that they debug a service with, and the places of failed tests.

use std::{
    fmt,
    path::{Path, PathBuf},
};

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
    let variables =
        lines(&|name, value| format!("      <env name=\"{name}\" value=\"{}\" />", xml(value)))
            + "\n      <env name=\"CARGO_PROFILE_DEV_DEBUG\" value=\"full\" />";
    let text = DEBUG
        .replace("{name}", &name)
        .replace("{folder}", &target.to_string());
    let text = text.replace("{environment}", &variables);
    let place = workspace.root().join(format!(".run/{name}.run.xml"));
    files::write_privately(&place, text.as_bytes())
}

/// A text as XML has it; what XML has no way to write is a question mark.
pub fn xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(char),
            '\u{fffe}' | '\u{ffff}' => escaped.push('?'),
            char if char < ' ' => escaped.push('?'),
            char => escaped.push(char),
        }
    }
    escaped
}

/// Where the tests of the contract are.
const SUITES: [&str; 2] = ["tests/suites/src", "tests/carddav/src"];

/// Where a red test is, so that an editor opens it.
pub struct TestPlace {
    pub test: String,
    /// Its file, as the reader sees it.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What was expected and what came, in one line.
    what: String,
}

impl fmt::Display for TestPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// Where the red tests of a report are.
pub fn places(workspace: &Workspace, report: &Report) -> anyhow::Result<Vec<TestPlace>> {
    let mut places = Vec::new();
    if report.failed().is_empty() {
        return Ok(places);
    }
    let mut suites = Vec::new();
    for folder in SUITES.map(|folder| workspace.root().join(folder)) {
        let files = files::read_tree(&folder)?.into_iter();
        suites.extend(files.map(|(file, text)| (folder.join(file), text)));
    }
    for judged in &report.tests {
        let TestStatus::Failed { failure, .. } = &judged.status else {
            continue;
        };
        let wanted = format!("fn {}(", judged.test);
        let found: Vec<(&PathBuf, usize)> = suites
            .iter()
            .filter_map(|(file, text)| {
                let text = String::from_utf8_lossy(text);
                let line = text.lines().position(|line| line.contains(&wanted))?;
                Some((file, line + 1))
            })
            .collect();
        // Two suites may have a test of the same name.
        let module = judged.suite.replace('-', "_");
        let own = found.iter().find(|(file, _)| is_in(file, &module));
        places.extend(own.or(found.first()).map(|&(file, line)| TestPlace {
            test: judged.test.clone(),
            file: files::shown(workspace, file),
            line,
            what: format!("expected {}; got {}", failure.expected, failure.actual),
        }));
    }
    Ok(places)
}

/// Whether a file is this module, or one of those inside it.
fn is_in(file: &Path, module: &str) -> bool {
    file.with_extension("").iter().any(|part| part == module)
}

/// Says where the first red test is; to an editor's problem matcher where each is: `file:line: what`.
pub fn tell_places(places: &[TestPlace]) {
    if std::env::var_os("WORKSHOP_EDITOR").is_some() {
        for place in places {
            println!("{place}: {}: {}", place.test, place.what);
        }
    } else if let Some(first) = places.first() {
        println!("the first red test is in {first}");
    }
}

#[cfg(test)]
mod place_tests {
    use super::*;
    use workshop_requests::failure::Failure;

    #[test]
    fn a_test_is_where_its_suite_is() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let workspace = Workspace::at(folder.path());
        let suites = folder.path().join(SUITES[0]);
        let test = "\nasync fn no_json_answers_400() {}\n";
        for file in ["an_empty_folder/reports.rs", "change_things.rs"] {
            files::write(&suites.join(file), test.as_bytes())?;
        }
        std::fs::create_dir_all(folder.path().join(SUITES[1]))?;
        let mut report = Report::new("exercise-6");
        let failed = TestStatus::Failed {
            failure: Failure::new("400", "413"),
            log: String::new(),
        };
        report.add("change-things", "no_json_answers_400", failed);
        let places = places(&workspace, &report)?;
        let shown: Vec<String> = places.iter().map(TestPlace::to_string).collect();
        assert_eq!(shown, ["tests/suites/src/change_things.rs:2"]);
        Ok(())
    }
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
