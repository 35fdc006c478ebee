//! Where things are: the folders of the checkout that the tool works on.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use crate::outcome::Trouble;

/// A checkout of the workshop.
#[derive(Debug, Clone)]
pub struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// Finds the checkout: the folder `WORKSHOP_ROOT` names, else the nearest folder above the current one that holds
    /// a `justfile` and `tests/tools.toml`.
    pub fn find() -> anyhow::Result<Self> {
        if let Some(root) = std::env::var_os("WORKSHOP_ROOT") {
            return Ok(Workspace::at(PathBuf::from(root).canonicalize()?));
        }
        let here = std::env::current_dir()?;
        here.ancestors()
            .find(|folder| {
                folder.join("justfile").is_file() && folder.join("tests/tools.toml").is_file()
            })
            .map(Workspace::at)
            .ok_or_else(|| {
                Trouble::new(format!(
                    "{} is not inside a checkout of the workshop",
                    here.display()
                ))
                .expected("a folder with a justfile and tests/tools.toml, here or above")
                .next("cd into the checkout and try again")
                .into()
            })
    }

    /// The checkout in this folder, unchecked.
    pub fn at(root: impl AsRef<Path>) -> Self {
        Workspace {
            root: root.as_ref().to_path_buf(),
        }
    }

    /// The checkout's root folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The starters that learners edit.
    pub fn exercises(&self) -> PathBuf {
        self.root.join("exercises")
    }

    pub fn solutions(&self) -> PathBuf {
        self.root.join("solutions")
    }

    /// The Maven project of the service that is ported.
    pub fn kotlin_service(&self) -> PathBuf {
        self.root.join("exercises/kotlin-service")
    }

    pub fn book(&self) -> PathBuf {
        self.root.join("book")
    }

    /// The committed result files that the book shows.
    pub fn reference_results(&self) -> PathBuf {
        self.root.join("book/reference-results")
    }

    /// The reader's own result files; git-ignored.
    pub fn results(&self) -> PathBuf {
        self.root.join("results")
    }

    /// The reader's own result of a target, or of a measurement with a name: `results/exercise-3.json`.
    pub fn own_result(&self, name: impl Display) -> PathBuf {
        self.results().join(format!("{name}.json"))
    }

    /// What the tool keeps between commands; git-ignored.
    pub fn state(&self) -> PathBuf {
        self.root.join(".workshop")
    }

    /// Where attempts go before anything overwrites a learner's file.
    pub fn attempts(&self) -> PathBuf {
        self.state().join("attempts")
    }

    /// Where files are while they are being written.
    pub fn unfinished(&self) -> PathBuf {
        self.state().join("unfinished")
    }

    /// The logs of the services that were started.
    pub fn logs(&self) -> PathBuf {
        self.state().join("logs")
    }

    /// Tools brought by `justw`; `bin` in it is on the recipes' PATH.
    pub fn tools(&self) -> PathBuf {
        self.state().join("tools")
    }

    /// What Maven is told besides its work: to read from the offline kit alone, if `./justw --kit` has unpacked one here.
    pub fn maven_options(&self) -> Vec<String> {
        let repository = self.state().join("kit/maven");
        if !repository.is_dir() {
            return Vec::new();
        }
        vec!["--offline".to_owned(), repository_option(&repository)]
    }

    /// Cargo's target directory: `CARGO_TARGET_DIR`, else `target`.
    pub fn cargo_target(&self) -> PathBuf {
        std::env::var_os("CARGO_TARGET_DIR")
            .map_or_else(|| self.root.join("target"), |dir| self.root.join(dir))
    }
}

/// Tells Maven where its repository is.
pub fn repository_option(repository: &Path) -> String {
    format!("-Dmaven.repo.local={}", repository.display())
}
