//! What people see who find this repository: its picture, its version, and what its pages promise about `git pull`.

#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "the helpers of a test may fail as the test itself may"
)]

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The version of the course is in `Cargo.toml`; the changelog begins with it, and it's the one to cite.
#[test]
fn the_changelog_begins_with_the_version_of_the_course() {
    let changelog = read("CHANGELOG.md");
    let first = changelog
        .lines()
        .find_map(|line| line.strip_prefix("### "))
        .expect("a version");
    assert_eq!(first.split(' ').next(), Some(env!("CARGO_PKG_VERSION")));
    let version = concat!("\nversion: ", env!("CARGO_PKG_VERSION"), "\n");
    assert!(read("CITATION.cff").contains(version), "CITATION.cff");
}

/// The README's picture shows the committed result of exercise 8. `WORKSHOP_DRAW=1` draws it again.
#[test]
fn the_readme_shows_the_committed_result() {
    let result: Value =
        serde_json::from_str(&read("book/reference-results/exercise-8.json")).expect("a result");
    let drawn = picture(&result);
    if std::env::var_os("WORKSHOP_DRAW").is_some() {
        fs::write(root().join("book/theme/table.svg"), &drawn).expect("written");
    }
    assert!(
        read("book/theme/table.svg") == drawn,
        "the picture is old: WORKSHOP_DRAW=1 cargo test -p workshop --test commands home::"
    );
}

/// Four groups of bars, and the machine's label below.
fn picture(result: &Value) -> String {
    const SIDES: [(&str, &str); 3] = [
        ("kotlin", "#8a63d2"),
        ("kotlin-jdbc", "#b79ceb"),
        ("solution-8", "#d9723b"),
    ];
    const METRICS: [&str; 4] = ["throughput", "p99", "start_up", "memory"];
    let mut svg = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 760 322\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"760\" height=\"322\" rx=\"6\" fill=\"#fff\" stroke=\"#ccc\"/>\n",
    );
    for (place, key) in METRICS.into_iter().enumerate() {
        let metrics = result["metrics"].as_array().unwrap();
        let metric = metrics.iter().find(|metric| metric["key"] == key).unwrap();
        let value = |side: &str| {
            let values = metric["values"].as_array().unwrap();
            let value = values.iter().find(|value| value["side"] == side).unwrap();
            value["value"].as_f64().unwrap()
        };
        let most = SIDES
            .map(|(side, _)| value(side))
            .into_iter()
            .fold(0.0, f64::max);
        let (x, y) = (24 + 372 * (place % 2), 32 + 128 * (place / 2));
        let better = if key == "throughput" { "more" } else { "less" };
        let (name, unit) = (
            metric["name"].as_str().unwrap(),
            metric["unit"].as_str().unwrap(),
        );
        writeln!(
            svg,
            "<text x=\"{x}\" y=\"{y}\" font-weight=\"bold\" fill=\"#222\">{name}, {unit} <tspan font-weight=\"normal\" fill=\"#666\">{better} is better</tspan></text>"
        )
        .unwrap();
        for (row, (side, color)) in SIDES.into_iter().enumerate() {
            let sides = result["sides"].as_array().unwrap();
            let label = sides.iter().find(|other| other["id"] == side).unwrap()["label"].as_str();
            let value = value(side);
            let digits = usize::from(value < 100.0);
            let (bar, top) = (150.0 * value / most, y + 12 + 28 * row);
            writeln!(
                svg,
                "<text x=\"{x}\" y=\"{}\" fill=\"#222\">{}</text>\
                 <rect x=\"{}\" y=\"{top}\" width=\"{bar:.1}\" height=\"18\" rx=\"2\" fill=\"{color}\"/>\
                 <text x=\"{:.1}\" y=\"{}\" fill=\"#222\">{value:.digits$}</text>",
                top + 14,
                label.unwrap(),
                x + 126,
                x as f64 + 132.0 + bar,
                top + 14,
            )
            .unwrap();
        }
    }
    let metrics = result["metrics"].as_array().unwrap();
    let p99 = metrics
        .iter()
        .find(|metric| metric["key"] == "p99")
        .unwrap();
    let how = p99["how"].as_str().unwrap();
    let machine = result["machine"].as_str().unwrap();
    let day = result["taken_at"]
        .as_str()
        .unwrap()
        .split('T')
        .next()
        .unwrap();
    writeln!(
        svg,
        "<text x=\"24\" y=\"288\" font-size=\"11\" fill=\"#666\">p99: {how}</text>\n<text x=\"24\" y=\"306\" font-size=\"11\" fill=\"#666\">{day}, {machine}</text>\n</svg>"
    )
    .unwrap();
    svg
}

/// The commands of the page "Updating the course", in a clone with edits and an update that touches the same line.
#[test]
fn an_update_keeps_a_learners_edits() {
    let page = read("book/updating.md");
    let blocks = commands(&page);
    // The others are for those who come from an edition with other numbers.
    let [pull, on_top, mine, decided, ..] = blocks[..] else {
        panic!("the page has {} blocks of commands", blocks.len());
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (course, learner) = (folder.path().join("course"), folder.path().join("learner"));
    let edited = "exercises/03-read-a-record/src/read.rs";
    let other = "exercises/02-first-route/src/ready.rs";
    let write = |at: &Path, file: &str, text: &str| {
        fs::create_dir_all(at.join(file).parent().unwrap()).unwrap();
        fs::write(at.join(file), text).unwrap();
    };
    let publish = |file: &str, text: &str| {
        write(&course, file, text);
        passes(
            &course,
            "git add --all && git commit --quiet --message 'A version'",
        );
    };
    fs::create_dir(&course).unwrap();
    passes(&course, "git init --quiet --initial-branch main");
    let ten_lines =
        |third: &str, ninth: &str| format!("1\n2\n{third}\n4\n5\n6\n7\n8\n{ninth}\n10\n");
    write(&course, other, "todo!()\n");
    publish(edited, &ten_lines("3", "9"));
    passes(folder.path(), "git clone --quiet course learner");

    // Edits in a file that no update touches stay as they are.
    write(&learner, other, "done\n");
    publish("book/page.md", "fixed");
    passes(&learner, pull);
    assert_eq!(fs::read_to_string(learner.join(other)).unwrap(), "done\n");
    assert!(learner.join("book/page.md").exists());

    // The update changes another line of an edited file: git refuses at first, then merges.
    write(&learner, edited, &ten_lines("mine", "9"));
    publish(edited, &ten_lines("3", "fixed"));
    assert!(
        !run(&learner, pull).status.success(),
        "git overwrites an edit"
    );
    let read = |file: &str| fs::read_to_string(learner.join(file)).unwrap();
    assert_eq!(read(edited), ten_lines("mine", "9"));
    passes(&learner, on_top);
    assert_eq!(read(edited), ten_lines("mine", "fixed"));

    // The update changes the same line.
    publish(edited, &ten_lines("theirs", "fixed"));
    run(&learner, on_top);
    let both = read(edited);
    for line in page.split("```text\n").nth(1).unwrap().lines() {
        if line.starts_with(['<', '=', '>']) {
            assert!(both.contains(line), "{line} is not in:\n{both}");
        }
    }
    passes(&learner, mine);
    passes(&learner, decided);
    assert_eq!(read(edited), ten_lines("mine", "fixed"));
    assert_eq!(read(other), "done\n");
    let state = run(&learner, "git status --porcelain && git stash list");
    let state = String::from_utf8_lossy(&state.stdout);
    assert_eq!(state, format!(" M {other}\n M {edited}\n"));
    passes(&learner, "git diff --quiet HEAD origin/main");
}

/// The commands for those who come from an edition with other numbers: what was edited moves with its folder, and what was added
/// is brought along, whether it's committed or not.
#[test]
fn an_update_that_renumbers_exercises_keeps_a_learners_edits() {
    let page = read("book/updating.md");
    let blocks = commands(&page);
    let [_, _, _, _, update, bring, ..] = blocks[..] else {
        panic!("the page has {} blocks of commands", blocks.len());
    };
    for commit in ["true", "git add --all && git commit --quiet --message mine"] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (course, learner) = (folder.path().join("course"), folder.path().join("learner"));
        fs::create_dir(&course).unwrap();
        passes(
            &course,
            "git init --quiet --initial-branch main
             mkdir -p exercises/23-bunks/src exercises/18-an-empty-folder solutions/18-an-empty-folder
             seq 10 >exercises/23-bunks/src/main.rs
             echo task >exercises/18-an-empty-folder/README.md
             seq 20 30 >solutions/18-an-empty-folder/main.rs
             git add --all && git commit --quiet --message 'A version'",
        );
        passes(folder.path(), "git clone --quiet course learner");
        passes(
            &course,
            "git mv exercises/23-bunks exercises/09-bunks
             git mv exercises/18-an-empty-folder exercises/24-an-empty-folder
             git mv solutions/18-an-empty-folder solutions/24-an-empty-folder
             git commit --quiet --message 'New numbers'",
        );
        passes(
            &learner,
            "echo mine >>exercises/23-bunks/src/main.rs
             echo added >exercises/23-bunks/src/booking.rs
             echo crate >exercises/18-an-empty-folder/main.rs",
        );
        passes(&learner, commit);
        passes(&learner, update);
        passes(&learner, bring);
        let found = run(
            &learner,
            "ls exercises solutions/24-an-empty-folder; cat exercises/*/src/booking.rs exercises/24-an-empty-folder/main.rs; tail -n 1 exercises/*/src/main.rs",
        );
        assert_eq!(
            String::from_utf8_lossy(&found.stdout),
            "exercises:\n09-bunks\n24-an-empty-folder\n\nsolutions/24-an-empty-folder:\nmain.rs\nadded\ncrate\nmine\n",
            "{commit}"
        );
    }
}

/// The commands of a page, block by block.
fn commands(page: &str) -> Vec<&str> {
    let blocks = page.split("```sh\n").skip(1);
    blocks
        .map(|block| block.split("```").next().unwrap())
        .collect()
}

fn run(folder: &Path, script: &str) -> Output {
    Command::new("sh")
        .args(["-ec", script])
        .current_dir(folder)
        .env("HOME", folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .envs([
            ("GIT_AUTHOR_NAME", "a"),
            ("GIT_AUTHOR_EMAIL", "a@example.com"),
        ])
        .envs([
            ("GIT_COMMITTER_NAME", "a"),
            ("GIT_COMMITTER_EMAIL", "a@example.com"),
        ])
        .output()
        .expect("a shell")
}

#[track_caller]
fn passes(folder: &Path, script: &str) {
    let output = run(folder, script);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}: {said}");
}
