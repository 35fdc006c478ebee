//! The lab: the server, the seeded data and a scratch folder that a measurement works with, and the manifest that says so.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::Context;
use tempfile::TempDir;

use crate::tools::database;

use crate::protocol::ceiling;
use crate::protocol::ids;
use crate::protocol::machine;
use crate::protocol::subject::Subject;
use crate::protocol::variant;
use crate::tools;
use crate::tools::database::Statements;
use workshop_base::exercise::Catalogue;
use workshop_base::outcome::Trouble;
use workshop_base::scratch;
use workshop_base::target::Language;
use workshop_base::target::Target;
use workshop_base::terminal::Style;
use workshop_base::terminal::paint;
use workshop_base::workspace::Workspace;
use workshop_harness::build;
use workshop_harness::build::BuildError;
use workshop_harness::build::Profile;
use workshop_postgres::Server;
use workshop_postgres::find_binaries;
use workshop_postgres::datasets;
use workshop_postgres::datasets::DataSet;
use workshop_postgres::datasets::Seeded;
use workshop_results::file::BlockRecord;
use workshop_results::manifest::Manifest;

/// What a measurement works with. Dropping it removes the scratch folder.
pub struct Lab<'a> {
    /// The checkout.
    pub workspace: &'a Workspace,
    /// The database server.
    pub server: Server,
    /// The data set.
    pub seeded: Seeded,
    /// Where the data set is; it is only read.
    pub database_url: String,
    scratch: TempDir,
}

/// The data set to read from when none is named: the article's, on a Raspberry Pi a tenth of it.
pub fn usual_data_set() -> DataSet {
    if machine::is_a_pi() {
        DataSet::Pi
    } else {
        DataSet::Full
    }
}

impl<'a> Lab<'a> {
    /// Sees to the server and the data.
    ///
    /// # Errors
    /// When there is no server, or the data set cannot be made.
    pub async fn open(workspace: &'a Workspace, data_set: DataSet) -> anyhow::Result<Lab<'a>> {
        let server = Server::ensure(workspace).await?;
        let seeded = datasets::seed(&server, workspace, data_set).await?;
        println!("data set {data_set} on {}", server.describe());
        datasets::forget_migrations(&server, data_set).await?;
        let database_url = datasets::shared_url(&server, data_set);
        let folder = workspace.state().join("measure");
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
        let scratch = tempfile::Builder::new()
            .prefix(&scratch::owned("run"))
            .tempdir_in(&folder)?;
        Ok(Lab {
            workspace,
            server,
            seeded,
            database_url,
            scratch,
        })
    }

    /// A folder that is removed at the end.
    pub fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    /// Builds a target as it would be shipped.
    ///
    /// # Errors
    /// When it does not build; a learner's crate that does not compile is the learner's to mend.
    pub async fn subject(&self, target: Target) -> anyhow::Result<Subject> {
        println!(
            "building {} for release",
            paint(Style::Strong, target.to_string())
        );
        let launch = build::build(self.workspace, target, Profile::Measure)
            .await
            .map_err(|error| match error {
                BuildError::DoesNotCompile { .. } => {
                    Trouble::new(format!("{error}; what the compiler said stands above"))
                        .next(format!("just check {target}"))
                        .failed()
                        .into()
                }
                BuildError::CouldNotBuild(error) => error,
            })?;
        Subject::of(target, launch, self.scratch())
    }

    /// Builds a variant of an exercise's reference as it would be shipped; its id is `solution-N-name`.
    ///
    /// # Errors
    /// When its patch is not there, does not fit or does not compile.
    pub fn variant(&self, exercise: u8, name: &str, label: &str) -> anyhow::Result<Subject> {
        let id = format!("{}-{name}", Target::Solution(exercise)).replace('+', "-");
        println!("building {} for release", paint(Style::Strong, id.as_str()));
        let catalogue = Catalogue::read(self.workspace)?;
        let solution = catalogue.get(exercise)?.solution(self.workspace);
        let launch = variant::build(self.workspace, &solution, &id, name)?;
        Subject::named(&id, label, launch, self.scratch())
    }

    /// Builds the ceiling, which does the same read with as little as possible around it; its id is `ceiling`.
    ///
    /// # Errors
    /// When it does not build.
    pub fn yardstick(&self) -> anyhow::Result<Subject> {
        println!("building {} for release", paint(Style::Strong, ceiling::ID));
        let launch = ceiling::build(self.workspace, Profile::Measure)?;
        Subject::named(ceiling::ID, "axum, tokio-postgres", launch, self.scratch())
    }

    /// The database's own statistics, where the server keeps them.
    pub async fn statements(&self) -> Option<Statements> {
        if !self.server.counts_statements() {
            return None;
        }
        let connection = self.server.connect_for_maintenance().await.ok()?;
        Statements::open(connection, &self.database_url).await
    }

    /// The database's ceiling by pgbench, where that is here.
    pub async fn ceiling(
        &self,
        clients: u16,
        duration: std::time::Duration,
    ) -> Option<anyhow::Result<f64>> {
        let pgbench = find_binaries(self.workspace)
            .and_then(|binaries| binaries.has("pgbench"))
            .or_else(|| tools::look(self.workspace, "pgbench"))?;
        let ids = ids::of(self.seeded.set);
        Some(
            database::ceiling(
                &pgbench,
                &self.database_url,
                ids,
                clients,
                duration,
                self.scratch(),
            )
            .await,
        )
    }

    /// The conditions, as far as the lab knows them; what the blocks know is filled in by [`complete`].
    pub fn manifest(&self, subjects: &[Subject]) -> Manifest {
        let mut versions =
            BTreeMap::from([("postgresql".to_owned(), self.server.version().to_owned())]);
        for subject in subjects {
            let name = match subject.side.language {
                Language::Kotlin => "jdk",
                Language::Rust => "rustc",
            };
            versions.insert(name.to_owned(), subject.side.runtime.clone());
        }
        for tool in ["oha", "hyperfine"] {
            let path = tools::look(self.workspace, tool);
            if let Some(said) =
                path.and_then(|path| machine::said(&path.to_string_lossy(), &["--version"]))
            {
                versions.insert(tool.to_owned(), said);
            }
        }
        let git = |arguments: &[&str]| {
            let output = Command::new("git")
                .arg("-C")
                .arg(self.workspace.root())
                .args(arguments)
                .output()
                .ok()?;
            output
                .status
                .success()
                .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        };
        let flags = [
            "RUSTFLAGS",
            "CARGO_BUILD_RUSTFLAGS",
            "CARGO_PROFILE_RELEASE_LTO",
        ]
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?)))
        .chain([("cargo profile".to_owned(), "release".to_owned())])
        .collect();
        Manifest {
            commit: git(&["rev-parse", "--short=12", "HEAD"]).filter(|commit| !commit.is_empty()),
            // The results themselves are no change of what was measured.
            dirty: git(&[
                "status",
                "--porcelain",
                "--",
                ".",
                ":!book/reference-results",
            ])
            .map(|changes| !changes.is_empty()),
            machine: machine::look(),
            versions,
            flags,
            database: format!("{:?}", self.server.provider()).to_lowercase(),
            data_set: self.seeded.set.to_string(),
            rows: u64::from(self.seeded.rows),
            fingerprint: self.seeded.fingerprint.clone(),
            pool_size: crate::protocol::plan::POOL_SIZE,
            connections: 0,
            blocks: 0,
            order: Vec::new(),
            round_trips: BTreeMap::new(),
            rates: BTreeMap::new(),
            took_s: 0.0,
        }
    }
}

/// Fills in what only the blocks know.
pub fn complete(manifest: &mut Manifest, records: &[BlockRecord], took: std::time::Duration) {
    manifest.order = records.iter().map(|record| record.side.clone()).collect();
    manifest.blocks = records.iter().map(|record| record.round).max().unwrap_or(0);
    manifest.took_s = took.as_secs_f64().round();
}

/// Now, in UTC, to the second: `2025-11-21T09:30:00Z`.
pub fn now() -> String {
    jiff::Timestamp::now()
        .strftime("%Y-%m-%dT%H:%M:%SZ")
        .to_string()
}
