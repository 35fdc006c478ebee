//! The house: crates and files whose imports run one way, a picture of the crates that is true, and tests that all run some time.

#![expect(
    clippy::expect_used,
    reason = "the helpers of a test may fail as the test itself may"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

type Graph = BTreeMap<String, BTreeSet<String>>;

fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.ancestors().nth(2).expect("the checkout").into()
}

/// The crates of the tool, each with those that it imports, by their folders' names.
fn crates() -> Graph {
    let folders = std::fs::read_dir(root().join("tests")).expect("the folder tests");
    let mut graph = Graph::new();
    for folder in folders.flatten() {
        let Ok(text) = std::fs::read_to_string(folder.path().join("Cargo.toml")) else {
            continue;
        };
        let manifest: toml::Table = text.parse().expect("a manifest");
        let name = manifest["package"]["name"].as_str().expect("a name");
        if !name.starts_with("workshop") {
            continue;
        }
        let dependencies = manifest["dependencies"].as_table().expect("a table").keys();
        // The one of the command line has no other name than the tool.
        let ours = dependencies.filter_map(|name| match name.as_str() {
            "workshop" => Some("cli"),
            name => name.strip_prefix("workshop-"),
        });
        let folder = folder.file_name().to_string_lossy().into_owned();
        graph.insert(folder, ours.map(str::to_owned).collect());
    }
    graph
}

/// The names along a circle, the first one again at the end; none when there is none.
fn circle(graph: &Graph) -> Option<Vec<String>> {
    fn follow<'a>(
        graph: &'a Graph,
        name: &'a str,
        path: &mut Vec<&'a str>,
        done: &mut BTreeSet<&'a str>,
    ) -> bool {
        if let Some(start) = path.iter().position(|before| *before == name) {
            path.drain(..start);
            path.push(name);
            return true;
        }
        if done.contains(name) {
            return false;
        }
        path.push(name);
        for next in graph.get(name).into_iter().flatten() {
            if follow(graph, next, path, done) {
                return true;
            }
        }
        path.pop();
        done.insert(name);
        false
    }
    let (mut path, mut done) = (Vec::new(), BTreeSet::new());
    graph
        .keys()
        .any(|name| follow(graph, name, &mut path, &mut done))
        .then(|| path.into_iter().map(str::to_owned).collect())
}

/// The Rust files of a crate by their module paths (empty for `lib.rs`), each without comments and unit tests.
fn modules(source: &Path) -> BTreeMap<Vec<String>, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![source.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let relative = path.strip_prefix(source).expect("below the source");
                let mut module: Vec<String> = relative
                    .with_extension("")
                    .iter()
                    .map(|part| part.to_string_lossy().into_owned())
                    .collect();
                match module.last().map(String::as_str) {
                    Some("mod" | "lib") => drop(module.pop()),
                    Some("main") => continue,
                    _ => {}
                }
                let text = std::fs::read_to_string(&path).expect("readable");
                let code = text.split("#[cfg(test)]").next().unwrap_or_default();
                let lines = code
                    .lines()
                    .filter(|line| !line.trim_start().starts_with("//"));
                found.insert(module, lines.collect::<Vec<_>>().join("\n"));
            }
        }
    }
    found
}

/// Every path in `text` that begins with this word, its braces expanded: `crate::a::{b, c::d}` is two.
fn paths(text: &str, word: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for (place, _) in text.match_indices(&format!("{word}::")) {
        let before = text[..place].chars().next_back();
        if before.is_none_or(|c| !c.is_alphanumeric() && c != '_' && c != ':' && c != '$') {
            expand(&text[place + word.len() + 2..], &[], &mut found);
        }
    }
    found
}

/// Adds what a path that begins here stands for; gives what follows it.
fn expand<'a>(text: &'a str, before: &[String], found: &mut Vec<Vec<String>>) -> &'a str {
    let text = text.trim_start();
    if let Some(mut list) = text.strip_prefix('{') {
        loop {
            list = expand(list, before, found).trim_start();
            match list.strip_prefix(',') {
                Some(rest) => list = rest,
                None => return list.strip_prefix('}').unwrap_or(list),
            }
        }
    }
    let end = text
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(text.len());
    let mut path = before.to_vec();
    if end > 0 && &text[..end] != "self" {
        path.push(text[..end].to_owned());
    }
    let rest = &text[end..];
    match rest.strip_prefix("::") {
        Some(rest) => expand(rest, &path, found),
        None => {
            if !path.is_empty() {
                found.push(path);
            }
            match rest.trim_start().strip_prefix("as ") {
                Some(rest) => rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_'),
                None => rest,
            }
        }
    }
}

/// The imports between the files of a crate. What a module gives on by `pub use` counts as its origin's.
fn imports(source: &Path) -> Graph {
    let modules = modules(source);
    let given_on = |module: &[String], name: &str| {
        let text = modules.get(module)?;
        text.split("pub use ").skip(1).find_map(|rest| {
            let mut names = Vec::new();
            let rest = rest.trim_start();
            expand(
                rest.strip_prefix("crate::").unwrap_or(rest),
                &[],
                &mut names,
            );
            let hit = names
                .into_iter()
                .find(|path| path.last().is_some_and(|last| last == name))?;
            Some(if rest.starts_with("crate::") {
                hit
            } else {
                [module, hit.as_slice()].concat()
            })
        })
    };
    let resolve = |path: &[String]| {
        let mut path = path.to_vec();
        for _ in 0..8 {
            let length = (0..=path.len())
                .rev()
                .find(|n| modules.contains_key(&path[..*n]))?;
            let (module, rest) = path.split_at(length);
            match rest.first().and_then(|name| given_on(module, name)) {
                Some(origin) => path = [origin.as_slice(), &rest[1..]].concat(),
                None => return Some(module.to_vec()),
            }
        }
        None
    };
    let name = |module: &[String]| match module {
        [] => "lib".to_owned(),
        parts => parts.join("/"),
    };
    let mut graph = Graph::new();
    for (module, text) in &modules {
        // What a module only gives on to others is no import of its own.
        let own: String = text
            .split_inclusive(';')
            .filter(|statement| !statement.trim_start().starts_with("pub use "))
            .collect();
        let parent = &module[..module.len().saturating_sub(1)];
        let absolute = paths(&own, "crate").into_iter();
        let relative = paths(&own, "super")
            .into_iter()
            .map(|path| [parent, path.as_slice()].concat());
        let inner = own.split("use ").skip(1).filter_map(|rest| {
            let mut found = Vec::new();
            expand(rest, &[], &mut found);
            let path = [module.as_slice(), found.first()?.as_slice()].concat();
            modules.contains_key(&path[..=module.len()]).then_some(path)
        });
        let targets = absolute
            .chain(relative)
            .chain(inner)
            .filter_map(|path| resolve(&path));
        let others = targets
            .filter(|target| target != module)
            .map(|target| name(&target));
        graph.insert(name(module), others.collect());
    }
    graph
}

#[test]
fn no_crate_imports_in_a_circle() {
    assert_eq!(circle(&crates()), None);
}

#[test]
fn no_file_imports_in_a_circle() {
    let mut circles = String::new();
    for name in crates().keys() {
        let graph = imports(&root().join("tests").join(name).join("src"));
        if let Some(circle) = circle(&graph) {
            writeln!(circles, "tests/{name}/src: {}", circle.join(" -> ")).expect("text");
        }
    }
    assert!(
        circles.is_empty(),
        "files that import in a circle:\n{circles}"
    );
}

#[test]
fn every_crate_says_its_job_in_its_first_line() {
    for name in crates().keys() {
        let source = root().join("tests").join(name).join("src");
        // A crate without a library is one program.
        let first = ["lib.rs", "main.rs"].map(|file| source.join(file));
        let first = first.iter().find(|file| file.exists()).expect("a crate");
        let text = std::fs::read_to_string(first).expect("readable");
        assert!(text.starts_with("//! "), "{}", first.display());
    }
}

/// The crates that the core is made of, which checks: that of the command line, and all below it.
fn core(graph: &Graph) -> BTreeSet<String> {
    let mut core = BTreeSet::from(["cli".to_owned()]);
    let mut left = vec!["cli"];
    while let Some(name) = left.pop() {
        for below in &graph[name] {
            if core.insert(below.clone()) {
                left.push(below);
            }
        }
    }
    core
}

#[test]
fn the_core_is_built_without_what_only_measuring_the_book_and_authors_need() {
    let core = core(&crates());
    for other in ["author", "book", "lab", "measure", "results", "tasks"] {
        assert!(!core.contains(other), "the core imports {other}");
    }
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--package", "workshop"])
        .args(["--edges", "normal,build", "--prefix", "none"])
        .current_dir(root())
        .output()
        .expect("cargo");
    let tree = String::from_utf8_lossy(&tree.stdout).into_owned();
    let crates: BTreeSet<&str> = tree
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert!(crates.contains("workshop-harness"), "{tree}");
    for other in [
        "mdbook",
        "pulldown-cmark",
        "html5gum",
        "handlebars",
        "distrs",
    ] {
        let found = crates.iter().find(|name| name.starts_with(other));
        assert_eq!(found, None, "the core compiles what it does not need");
    }
}

/// The picture in CONTRIBUTING.md is made of the manifests: `WRITE_PICTURE=1 cargo test -p workshop-base --test house`
/// writes it anew.
#[test]
fn the_picture_of_the_crates_is_true() {
    const BEGIN: &str = "<!-- the picture of the crates -->\n```text\n";
    const END: &str = "```\n<!-- end of the picture -->";
    let graph = crates();
    let core = core(&graph);
    let mut picture = String::new();
    let mut left: BTreeSet<&String> = graph.keys().collect();
    // Those at the top that nothing left imports.
    while !left.is_empty() {
        let imported: BTreeSet<&String> = left.iter().flat_map(|name| &graph[*name]).collect();
        let row: Vec<&String> = left
            .iter()
            .copied()
            .filter(|name| !imported.contains(name))
            .collect();
        for name in row {
            left.remove(name);
            let imports: Vec<&str> = graph[name].iter().map(String::as_str).collect();
            let part = if core.contains(name) { "core" } else { "" };
            let line = format!("{part:<4}  {name:<9} ──▶  {}", imports.join("  "));
            writeln!(
                picture,
                "{}",
                line.trim_end_matches("  ")
                    .trim_end_matches("──▶")
                    .trim_end()
            )
            .expect("text");
        }
    }
    let path = root().join("CONTRIBUTING.md");
    let page = std::fs::read_to_string(&path).expect("CONTRIBUTING.md");
    let (before, rest) = page
        .split_once(BEGIN)
        .expect("the beginning of the picture");
    let (drawn, after) = rest.split_once(END).expect("the end of the picture");
    if std::env::var_os("WRITE_PICTURE").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{picture}{END}{after}")).expect("written");
        return;
    }
    assert_eq!(
        drawn, picture,
        "WRITE_PICTURE=1 cargo test -p workshop-base --test house writes it anew"
    );
}

#[test]
fn the_table_of_variables_in_contributing_is_the_one_that_the_tool_obeys() {
    let page = std::fs::read_to_string(root().join("CONTRIBUTING.md")).expect("the page");
    let file = root().join("tests/base/src/environment.txt");
    let mut table = String::new();
    for line in std::fs::read_to_string(file)
        .expect("the decisions")
        .lines()
    {
        let parts: Vec<&str> = line.split(" | ").collect();
        let [rule, names, why] = parts[..] else {
            panic!("three parts: {line}")
        };
        let names: Vec<String> = names.split(' ').map(|name| format!("`{name}`")).collect();
        writeln!(table, "| {rule} | {} | {why} |", names.join(" ")).expect("a line");
    }
    assert!(
        page.contains(&table),
        "CONTRIBUTING.md should have:\n{table}"
    );
}

/// What follows `before` in a text, up to `after`.
fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    text.split_once(before)?
        .1
        .split_once(after)
        .map(|(found, _)| found)
}

#[test]
fn what_has_come_since_begins_at_the_versions_that_are_locked() {
    let read = |file: &str| std::fs::read_to_string(root().join(file)).expect("a file");
    let page = read("book/after-the-course/where-next.md");
    let section = between(&page, "## What has come since", "\n## ").expect("the section");
    let lock = read("Cargo.lock");
    let kotlin = read("exercises/kotlin-service/pom.xml");
    let spring = read("tests/peers/spring/pom.xml");
    let tools = read("tests/tools.toml");
    let mut judged = 0;
    for row in section.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let here = match cells[1] {
            "Kotlin" => between(&kotlin, "<kotlin.version>", "<"),
            "Ktor" => between(&kotlin, "<ktor.version>", "<"),
            "Exposed" => between(&kotlin, "<exposed.version>", "<"),
            "Jetty's client" => between(&kotlin, "<jetty.version>", "<"),
            "Logback" => between(&kotlin, "<logback.version>", "<"),
            "Netty" => between(&kotlin, "<netty.version>", "<"),
            "Spring Boot" => between(
                &spring,
                "<artifactId>spring-boot-starter-parent</artifactId>\n    <version>",
                "<",
            ),
            tool @ ("just" | "hyperfine") => between(&tools, &format!("\n{tool} = \""), "\""),
            part if part.starts_with('`') => {
                let name = format!("name = \"{}\"\nversion = \"", part.trim_matches('`'));
                between(&lock, &name, "\"")
            }
            _ => continue,
        };
        assert_eq!(
            here,
            Some(cells[2]),
            "{} in where-next.md: write what is here now, look up what is newest, and date the section anew",
            cells[1]
        );
        judged += 1;
    }
    assert!(judged > 10, "{judged} rows of where-next.md were judged");
}

/// The Rust files below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
    found
}

/// The expression at the beginning of a text, up to the parenthesis, comma or semicolon that ends it.
fn expression(text: &str) -> &str {
    let mut depth = 0;
    let end = text.find(|char| {
        depth += match char {
            '(' | '[' | '{' => 1,
            ')' | ']' | '}' => -1,
            _ => 0,
        };
        depth < 0 || depth == 0 && (char == ';' || char == ',')
    });
    &text[..end.unwrap_or(text.len())]
}

#[test]
fn every_trouble_says_what_to_do_next() {
    let (mut silent, mut count) = (Vec::new(), 0);
    for name in crates().keys() {
        for path in sources(&root().join("tests").join(name).join("src")) {
            let text = std::fs::read_to_string(&path).expect("readable");
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            for (place, _) in code.match_indices("Trouble::new(") {
                let trouble = expression(&code[place..]).trim_end();
                // Others are given on, and get it later.
                let is_whole = trouble.ends_with(".err()") || trouble.ends_with(".into()");
                if is_whole && !trouble.contains(".next(") {
                    silent.push(format!("{}: {trouble}", path.display()));
                }
                count += 1;
            }
        }
    }
    assert!(count > 100, "{count} are found");
    assert!(silent.is_empty(), "{}", silent.join("\n"));
}

#[test]
fn every_ignored_test_runs_each_night() {
    let ci = std::fs::read_to_string(root().join(".ci/run")).expect("what CI does");
    let asked: Vec<&str> = ci
        .lines()
        .filter(|line| line.contains("--ignored"))
        .collect();
    let mut ignored = BTreeSet::new();
    for name in crates().keys() {
        let folder = root().join("tests").join(name);
        for path in ["src", "tests"]
            .iter()
            .flat_map(|part| sources(&folder.join(part)))
        {
            let text = std::fs::read_to_string(&path).expect("readable");
            if text
                .lines()
                .any(|line| line.trim_start().starts_with("#[ignore"))
            {
                let inner = path.strip_prefix(folder.join("tests/commands"));
                let inner =
                    inner.unwrap_or_else(|_| panic!("{}: none is asked for", path.display()));
                let module = inner.iter().next().expect("a file").to_string_lossy();
                ignored.insert(module.trim_end_matches(".rs").to_owned());
            }
        }
    }
    assert!(ignored.len() > 4, "{ignored:?}");
    for module in ignored {
        let is_asked = asked
            .iter()
            .any(|line| line.contains(&format!(" {module}::")));
        assert!(
            is_asked,
            "{module}:: is ignored, and .ci/run never asks for it"
        );
    }
}
