//! What the tool says of itself: the recipes and the command line use the same words, and completions know what there is.

#![expect(
    clippy::expect_used,
    reason = "the helpers of a test may fail as the test itself may"
)]

use std::collections::BTreeMap;
use std::process::Command;

use clap::CommandFactory;
use workshop::cli::Cli;

use crate::folder::assert_says;
use crate::learner::Course;

/// A recipe of the justfile.
struct Recipe {
    /// The last line of what is said of it.
    says: String,
    attributes: String,
    does: String,
}

fn recipes() -> BTreeMap<String, Recipe> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../justfile");
    let text = std::fs::read_to_string(path).expect("the justfile");
    let mut recipes = BTreeMap::new();
    let (mut says, mut attributes) = (String::new(), String::new());
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(words) = line.strip_prefix("# ") {
            words.clone_into(&mut says);
        } else if line.starts_with('[') {
            attributes += line;
        } else {
            let does = lines.peek().and_then(|next| next.strip_prefix("    "));
            if let Some(does) = does.filter(|_| line.starts_with(|c: char| c.is_ascii_lowercase()))
            {
                let name = line.split([' ', ':']).next().unwrap_or_default();
                let recipe = Recipe {
                    says: says.clone(),
                    attributes: attributes.clone(),
                    does: does.to_owned(),
                };
                recipes.insert(name.to_owned(), recipe);
            }
            says.clear();
            attributes.clear();
        }
    }
    recipes
}

#[test]
fn recipes_and_the_command_line_say_the_same_words() {
    let recipes = recipes();
    assert!(recipes.len() > 30, "{:?}", recipes.keys());
    for command in Cli::command().get_subcommands() {
        let name = command.get_name();
        // It is read by a shell, not typed.
        if command.is_hide_set() || name == "completions" {
            continue;
        }
        let recipe = recipes.get(name);
        let recipe = recipe.unwrap_or_else(|| panic!("no recipe {name}"));
        let about = command.get_about().map(ToString::to_string);
        assert_eq!(recipe.says, about.unwrap_or_default(), "{name}");
    }
}

#[test]
fn a_red_check_ends_with_its_own_words_and_not_with_those_of_just() {
    for (name, recipe) in recipes() {
        let is_the_tools =
            recipe.does.contains("{{ workshop }}") || recipe.does.contains("./justw");
        let is_silent = recipe.attributes.contains("[no-exit-message]");
        assert!(is_silent || !is_the_tools, "{name}");
    }
}

#[test]
fn help_begins_with_what_learners_type_and_lists_the_exit_codes() {
    let course = Course::new();
    let help = course.passes(&["--help"]);
    let place = |words: &str| {
        help.find(words)
            .unwrap_or_else(|| panic!("no {words} in: {help}"))
    };
    assert!(place("  check ") < place("  measure "), "{help}");
    assert!(place("  measure ") < place("  verify "), "{help}");
    assert!(!help.contains("play-peers"), "{help}");
    assert_says(&help, &["Usage: just", "Exit codes:", "interrupted"]);
    assert_says(
        &course.passes(&["check", "--help"]),
        &["Usage: just check", "--last-failed"],
    );
}

#[test]
fn a_shell_completes_the_targets_and_the_tests_that_there_are() {
    let course = Course::new();
    let script = course.passes(&["completions", "bash"]);
    course.write("completions.bash", &script);
    let completed = |line: &str, word: &str| {
        let words = format!(
            ". ./completions.bash; COMP_WORDS=({line}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _workshop just '{word}' '{}'; echo \"${{COMPREPLY[*]}}\"",
            line.split(' ').rev().nth(1).unwrap_or_default()
        );
        let output = Command::new("bash")
            .args(["-c", &words])
            .current_dir(course.root())
            .output()
            .expect("bash");
        String::from_utf8(output.stdout).expect("text")
    };
    assert_eq!(
        completed("just check exercise-", "exercise-").trim(),
        "exercise-1 exercise-3"
    );
    assert_eq!(
        completed("just check kotl", "kotl").trim(),
        "kotlin kotlin-contacts kotlin-release-2"
    );
    assert_eq!(completed("just hint kotl", "kotl").trim(), "");
    let tests = completed("just check --only health_", "health_");
    assert!(
        tests.contains("health_answers_200_with_status_ok"),
        "{tests}"
    );
    assert_says(
        &script,
        &["-F _workshop -o bashdefault -o default just justw"],
    );
}
