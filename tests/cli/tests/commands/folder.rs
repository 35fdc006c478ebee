//! A temporary folder that counts as a checkout, and the tool run in it as people run it.

#![allow(dead_code, clippy::expect_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use workshop_base::exercise::Catalogue;
use workshop_base::originals;
use workshop_base::workspace::Workspace;

/// A folder of its own for each test; it goes with the test.
pub struct Folder {
    folder: tempfile::TempDir,
}

impl Folder {
    /// A checkout without exercises. There is no git in it.
    pub fn new() -> Self {
        let folder = Folder {
            folder: tempfile::tempdir().expect("a temporary folder"),
        };
        folder.write("justfile", "");
        folder.write("tests/tools.toml", "");
        folder
    }

    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Writes the patch that makes an exercise's starter out of its reference.
    pub fn starter_patch(&self, number: u8) {
        let workspace = Workspace::at(self.root());
        let catalogue = Catalogue::read(&workspace).expect("exercises");
        let exercise = catalogue.get(number).expect("an exercise");
        originals::write_patch(&workspace, exercise).expect("a patch");
    }

    pub fn tool(&self) -> Command {
        let mut command = Command::new(crate::TOOL);
        command
            .env("WORKSHOP_ROOT", self.root())
            .env_remove("WORKSHOP_CRASH_AT")
            // Where these tests are a recipe's, it says where that was called.
            .env_remove("WORKSHOP_CALLED_FROM")
            .current_dir(self.root())
            .stdin(Stdio::null());
        command
    }

    pub fn run(&self, args: &[&str]) -> Output {
        self.tool().args(args).output().expect("the tool starts")
    }

    /// Runs a command that has to end well; what it printed.
    #[track_caller]
    pub fn passes(&self, args: &[&str]) -> String {
        self.ends(args, 0)
    }

    /// Runs a command that has to end with this exit code; what it printed.
    #[track_caller]
    pub fn fails(&self, args: &[&str], code: i32) -> String {
        self.ends(args, code)
    }

    #[track_caller]
    fn ends(&self, args: &[&str], code: i32) -> String {
        let output = self.run(args);
        let said = everything(&output);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
        said
    }
}

pub fn everything(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[track_caller]
pub fn assert_says(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{word:?} is not in:\n{text}");
    }
}

/// An `exercise.toml`; lists are given as they stand between the quotes: `a", "b`.
pub fn exercise_toml(number: u8, slug: &str, title: &str, edit: &str, red: &str) -> String {
    let kind = if number == 1 { "form" } else { "crate" };
    format!(
        "number = {number}\nkind = \"{kind}\"\nslug = \"{slug}\"\ntitle = \"{title}\"\ncore = true\nsuites = [\"{slug}\"]\nedit = [\"{edit}\"]\n\
         red = [\"{red}\"]\n[minutes]\nreading = 8\ndoing = 25\nreviewing = 7\n[measure]\ntask = \"reads\"\n"
    )
}
