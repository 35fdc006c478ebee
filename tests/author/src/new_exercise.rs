//! `just new-exercise 25 from 8`: every file of a new exercise that continues another one, small and complete, for the author to
//! change: a route that greets, its suite, hints, a chapter and two mistakes.

use std::path::{Path, PathBuf};

use anyhow::Context;

use workshop_base::exercise::{Catalogue, Exercise};
use workshop_base::files::{self, Tree};
use workshop_base::originals;
use workshop_base::outcome::{Outcome, Trouble};
use workshop_base::program::cargo_command;
use workshop_base::workspace::Workspace;

/// The files beside those of the reference that is continued: their places below the checkout, and what they hold.
const SKELETON: [(&str, &str); 9] = [
    (
        "solutions/{folder}/exercise.toml",
        include_str!("skeleton/exercise.toml"),
    ),
    (
        "exercises/{folder}/exercise.toml",
        include_str!("skeleton/exercise.toml"),
    ),
    (
        "solutions/{folder}/src/hello.rs",
        include_str!("skeleton/hello.rs"),
    ),
    (
        "exercises/{folder}/src/hello.rs",
        include_str!("skeleton/starter-hello.rs"),
    ),
    (
        "exercises/{folder}/hints.md",
        include_str!("skeleton/hints.md"),
    ),
    (
        "solutions/{folder}/mistakes/a-list.patch",
        include_str!("skeleton/a-list.patch"),
    ),
    (
        "solutions/{folder}/mistakes/another-name.patch",
        include_str!("skeleton/another-name.patch"),
    ),
    (
        "tests/suites/src/{module}.rs",
        include_str!("skeleton/suite.rs"),
    ),
    (
        "book/exercises/{folder}.md",
        include_str!("skeleton/page.md"),
    ),
];

/// What a file of the skeleton has in braces.
struct Names {
    number: u8,
    origin: u8,
    title: String,
}

impl Names {
    /// `a-new-step`
    fn slug(&self) -> String {
        let words = self
            .title
            .split(|character: char| !character.is_ascii_alphanumeric());
        let words = words.filter(|word| !word.is_empty());
        words.map(str::to_lowercase).collect::<Vec<_>>().join("-")
    }

    /// A title of which a module's name can be made, and that needs no escapes.
    fn judge(&self) -> anyhow::Result<()> {
        let begins = self
            .slug()
            .starts_with(|first: char| first.is_ascii_lowercase());
        if begins && self.slug().contains('-') && !self.title.contains(['"', '\\']) {
            return Ok(());
        }
        Trouble::new(format!(
            "no names of files can be made of the title {:?}",
            self.title
        ))
        .expected("two words or more, of which the first begins with a letter")
        .next(format!(
            "just new-exercise {} from {} --title \"A new step\"",
            self.number, self.origin
        ))
        .err()
    }

    /// `19-a-new-step`
    fn folder(&self) -> String {
        format!("{:02}-{}", self.number, self.slug())
    }

    /// `a_new_step`
    fn module(&self) -> String {
        self.slug().replace('-', "_")
    }

    fn fill(&self, text: &str) -> String {
        text.replace("{folder}", &self.folder())
            .replace("{module}", &self.module())
            .replace("{slug}", &self.slug())
            .replace("{number}", &self.number.to_string())
            .replace("{origin}", &self.origin.to_string())
            .replace("{title}", &self.title)
    }
}

/// Writes the files, the two lines that name them and the run configurations, and says what is left to do by hand.
pub fn run(workspace: &Workspace, number: u8, origin: u8, title: &str) -> anyhow::Result<Outcome> {
    let catalogue = Catalogue::read(workspace)?;
    let names = Names {
        number,
        origin,
        title: title.to_owned(),
    };
    if let Ok(there) = catalogue.get(number) {
        return Trouble::new(format!("exercise {number} is there: {}", there.title))
            .expected("a number that no exercise has; numbers never change")
            .next("the same command with another number; just progress lists those that are taken")
            .err();
    }
    names.judge()?;
    let continued = catalogue.get(origin)?;
    for (path, _) in SKELETON {
        let path = names.fill(path);
        if workspace.root().join(&path).exists() {
            return Trouble::new(format!("{path} is there, and nothing was written"))
                .expected("a title that no exercise and no suite has")
                .next("the same command with another --title")
                .err();
        }
    }
    let writes = writes(workspace, continued, &names)?;
    for (path, text) in &writes {
        files::write_atomically(&workspace.root().join(path), text)?;
    }
    let mut fmt = cargo_command();
    let packages = [format!("solution-{number}"), format!("exercise-{number}")];
    fmt.arg("fmt").current_dir(workspace.root());
    fmt.args(packages.iter().flat_map(|package| ["--package", package]));
    if !fmt.status()?.success() {
        return Trouble::new("cargo fmt failed on the new crates, which are there now")
            .next(format!("git status, then git clean what was written, and just new-exercise {number} from {origin} again"))
            .err();
    }

    let catalogue = Catalogue::read(workspace)?;
    originals::write_patch(workspace, catalogue.get(number)?)?;
    let folder = names.folder();
    println!(
        "exercise-{number} continues exercise-{origin}: it greets, has a suite, hints, two mistakes and a chapter. Now change, in this order:\n  \
         tests/suites/src/{}.rs\n  solutions/{folder}: src, exercise.toml, mistakes\n  exercises/{folder}: src, hints.md\n  \
         book/exercises/{folder}.md\nnext: just check solution-{number}, then just verify exercise-{number} --quick; CONTRIBUTING.md says more",
        names.module()
    );
    Ok(Outcome::Passed)
}

/// All files to write, by their paths in the checkout.
fn writes(workspace: &Workspace, continued: &Exercise, names: &Names) -> anyhow::Result<Tree> {
    let mut writes = Tree::new();
    if !continued.is_crate() || continued.is_own() {
        return no_route(continued);
    }
    for (kind, folder) in [("solution", "solutions"), ("exercise", "exercises")] {
        for (path, bytes) in originals::reference_files(workspace, continued)? {
            let text = String::from_utf8(bytes)
                .with_context(|| format!("{} isn't text", path.display()))?;
            let text = match path.to_str() {
                Some("Cargo.toml") => text.replace(
                    &continued.reference_name(),
                    &format!("{kind}-{}", names.number),
                ),
                Some("src/main.rs") => with_a_greeting(&text, continued)?,
                _ => text,
            };
            let place = Path::new(folder).join(names.folder()).join(path);
            writes.insert(place, text.into_bytes());
        }
    }
    for (path, text) in SKELETON {
        writes.insert(
            PathBuf::from(names.fill(path)),
            names.fill(text).into_bytes(),
        );
    }
    let suites = format!("    \"{}\" => {},\n", names.slug(), names.module());
    let chapter = format!(
        "- [Exercise {}: {}](exercises/{}.md)\n",
        names.number,
        names.title,
        names.folder()
    );
    for (path, before, line) in [
        (
            "tests/suites/src/lib.rs",
            "\"first-route\" => first_route,".to_owned(),
            suites,
        ),
        (
            "book/SUMMARY.md",
            format!("exercises/{:02}-", names.origin),
            chapter,
        ),
    ] {
        let text = files::text(&workspace.root().join(path))?;
        writes.insert(
            path.into(),
            after_the_line_with(&text, &before, &line, path)?.into_bytes(),
        );
    }
    writes.extend(run_configurations(workspace, continued, names)?);
    Ok(writes)
}

/// What editors run: the files and the entries of the exercise that is continued, once more for the new one.
fn run_configurations(
    workspace: &Workspace,
    continued: &Exercise,
    names: &Names,
) -> anyhow::Result<Tree> {
    let text = |path: &str| files::text(&workspace.root().join(path));
    let (old, new) = (continued.name(), format!("exercise-{}", names.number));
    let again = |text: &str| {
        text.replace(&old, &new)
            .replace(&continued.title, &names.title)
    };
    let mut writes = Tree::new();
    for what in ["check", "watch", "debug database"] {
        let text = text(&format!(".run/{what} {old}.run.xml"))?;
        let path = format!(".run/{what} {new}.run.xml");
        writes.insert(path.into(), again(&text).into_bytes());
    }
    for path in [".vscode/tasks.json", ".vscode/launch.json"] {
        let text = text(path)?;
        let list = text.split_once("[\n");
        let (before, entries) = list.with_context(|| format!("{path} has no list"))?;
        let mut with = format!("{before}[\n");
        for entry in entries.split_inclusive("\n    },\n") {
            with.push_str(entry);
            if entry.contains(&format!("{old}\"")) {
                with.push_str(&again(entry));
            }
        }
        writes.insert(path.into(), with.into_bytes());
    }
    Ok(writes)
}

/// The service with one route more.
fn with_a_greeting(main: &str, continued: &Exercise) -> anyhow::Result<String> {
    let mounted = "health::health,";
    if !main.contains("mod health;\n") || !main.contains(mounted) {
        return no_route(continued);
    }
    Ok(main
        .replacen("mod health;\n", "mod health;\nmod hello;\n", 1)
        .replacen(mounted, &format!("{mounted} hello::hello,"), 1))
}

fn no_route<T>(continued: &Exercise) -> anyhow::Result<T> {
    Trouble::new(format!(
        "{} mounts no health::health in a main.rs",
        continued.name()
    ))
    .expected("a reference on Rocket that has a route, such as exercise 8")
    .next("the same command with another exercise to continue; nothing was written")
    .err()
}

fn after_the_line_with(text: &str, part: &str, new: &str, path: &str) -> anyhow::Result<String> {
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    let place = lines.iter().position(|line| line.contains(part));
    let place = place.with_context(|| format!("{path} has no line with {part}"))?;
    lines.insert(place + 1, new);
    Ok(lines.concat())
}
