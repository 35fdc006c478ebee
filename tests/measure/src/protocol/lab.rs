//! The lab: the server, the seeded data and a scratch folder that a measurement works with, and the manifest that says so.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use sqlx::{Connection, PgConnection};

use crate::protocol::builder::{self, Cast};
use crate::protocol::plan::POOL_SIZE;
use crate::protocol::rows::Asked;
use crate::protocol::subject::Subject;
use crate::protocol::{gates, ids, machine};
use crate::tools;
use crate::tools::database::{self, Watch};
use workshop_base::exercise::Catalogue;
use workshop_base::outcome::Trouble;
use workshop_base::probe;
use workshop_base::scratch;
use workshop_base::target::{Language, Target};
use workshop_base::workspace::Workspace;
use workshop_harness::build::Profile;
use workshop_harness::http::Client;
use workshop_harness::service::{Service, Settings, StartError};
use workshop_postgres::Server;
use workshop_postgres::datasets::{self, DataSet, Seeded};
use workshop_postgres::find_binaries;
use workshop_results::manifest::Manifest;

/// A data set of more bytes than this is not made without a question.
const LARGE: u64 = 1_000_000_000;

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
    /// The first process of PostgreSQL, where it is known: what CPU time is the database's.
    pub first_process: Option<u32>,
    scratch: scratch::Folder,
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
    /// Sees to the server and the data. A usual data set that nobody has chosen, that takes gigabytes and isn't there yet is made only
    /// when somebody agrees.
    pub fn open(
        workspace: &'a Workspace,
        chosen: Option<DataSet>,
        usual: DataSet,
    ) -> LocalBoxFuture<'a, anyhow::Result<Lab<'a>>> {
        Box::pin(async move {
            let server = Server::ensure(workspace).await?;
            if chosen.is_none() && datasets::needed(usual) > LARGE {
                let url = datasets::shared_url(&server, usual);
                if PgConnection::connect(&url).await.is_err() {
                    agreed(usual).await?;
                }
            }
            Lab::on(workspace, server, chosen.unwrap_or(usual)).await
        })
    }

    /// As [`Lab::open`], on this server, without a question.
    pub fn on(
        workspace: &'a Workspace,
        server: Server,
        data_set: DataSet,
    ) -> LocalBoxFuture<'a, anyhow::Result<Lab<'a>>> {
        Box::pin(async move {
            let seeded = datasets::seed(&server, workspace, data_set).await?;
            println!("data set {data_set} on {}", server.describe());
            datasets::forget_migrations(&server, data_set).await?;
            let database_url = datasets::shared_url(&server, data_set);
            let scratch = scratch::Folder::below(&workspace.state().join("measure"), "run")?;
            let first_process = match server.connect_for_maintenance().await {
                Ok(mut connection) => database::first_process(&mut connection).await,
                Err(_) => None,
            };
            Ok(Lab {
                workspace,
                server,
                seeded,
                database_url,
                first_process,
                scratch,
            })
        })
    }

    /// A reader's service must answer this path, with this database, before anybody waits for its release build.
    pub fn is_worth_a_release<'f>(
        &'f self,
        target: Target,
        path: &'f str,
        database_url: &'f str,
    ) -> LocalBoxFuture<'f, anyhow::Result<()>> {
        Box::pin(async move {
            let Target::Exercise(number) = target else {
                return Ok(());
            };
            if !Catalogue::read(self.workspace)?.get(number)?.is_crate() {
                return Ok(());
            }
            let launch = builder::built(self.workspace, target, Profile::Check).await?;
            let settings = Settings::new(database_url);
            let service = Service::start(self.workspace, &launch, &settings)
                .await
                .map_err(|error| match error.downcast::<StartError>() {
                    Ok(start) => {
                        let trouble = start.trouble().next(format!("just check {target}"));
                        trouble.failed().into()
                    }
                    Err(error) => error,
                })?;
            let key = settings.api_keys.first().map(String::as_str);
            let client = Client::new(service.base_url(), key)?;
            let answered = gates::await_200(&client, path).await;
            drop(client);
            service.stop().await;
            answered.map_err(|reason| {
                let expected = format!("200 from GET {path}; the release build would take minutes");
                Trouble::new(format!(
                    "{target} isn't ready to be measured: {target} {reason}"
                ))
                .expected(expected)
                .next(format!("just check {target}"))
                .failed()
                .into()
            })
        })
    }

    /// A folder that is removed at the end.
    pub fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    /// Builds those who are measured, as they would be shipped.
    pub fn subjects<'f>(&'f self, asked: &'f Asked) -> LocalBoxFuture<'f, anyhow::Result<Cast>> {
        Box::pin(async move { builder::subjects(self.workspace, asked, self.scratch()).await })
    }

    /// The database's own statistics, where the server keeps them.
    pub async fn statements(&self) -> Option<Watch> {
        if !self.server.counts_statements() {
            return None;
        }
        let connection = self.server.connect_for_maintenance().await.ok()?;
        let mut watch = Watch::of(connection, &self.database_url).ok()?;
        watch.execution_time().await?;
        Some(watch)
    }

    /// What the database reads per second without a service, by pgbench where that is here.
    pub async fn pgbench(&self, clients: u16, duration: Duration) -> Option<anyhow::Result<f64>> {
        let pgbench = find_binaries(self.workspace)
            .and_then(|binaries| binaries.has("pgbench"))
            .or_else(|| tools::look(self.workspace, "pgbench"))?;
        let (ids, scratch) = (ids::of(self.seeded.set), self.scratch());
        let url = &self.database_url;
        Some(
            database::pgbench(
                &pgbench,
                url,
                ids.first..=ids.last,
                clients,
                duration,
                scratch,
            )
            .await,
        )
    }

    /// The conditions, as far as the lab knows them; what the blocks know is filled in at the end.
    pub fn manifest(&self, subjects: &[Subject]) -> Manifest {
        let mut versions = BTreeMap::from([
            ("course".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
            ("postgresql".to_owned(), self.server.version().to_owned()),
        ]);
        for subject in subjects {
            let name = match subject.side.language {
                Language::Kotlin => "jdk",
                Language::Rust => "rustc",
                Language::JavaScript => "node",
                Language::Python => "python",
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
            rows: u64::from(self.seeded.set.rows()),
            fingerprint: self.seeded.set.fingerprint().to_owned(),
            pool_size: POOL_SIZE,
            ..Manifest::default()
        }
    }
}

/// Asks whether a large data set shall be made; without a terminal, nobody can agree.
async fn agreed(data_set: DataSet) -> anyhow::Result<()> {
    let gigabytes = datasets::needed(data_set) as f64 / 1e9;
    let question = format!(
        "this measurement reads the data set {data_set}, which isn't there yet: {} million rows, {gigabytes:.1} GB of disk while it is made",
        data_set.rows() / 1_000_000
    );
    if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        eprint!("{question}\nmake it now? [y/N] ");
        let typed = || {
            let mut answer = String::new();
            std::io::stdin().read_line(&mut answer).map(|_| answer)
        };
        // On a thread of its own, so that Ctrl-C is an answer, too.
        let answer = probe::on_a_thread(typed).await.transpose()?;
        if answer
            .unwrap_or_default()
            .trim()
            .to_lowercase()
            .starts_with('y')
        {
            return Ok(());
        }
    }
    Err(Trouble::new(question)
        .expected("your consent, or a smaller data set")
        .next(format!(
            "just seed {data_set}; or measure with --data-set pi, which has a million rows"
        ))
        .into())
}

/// Now, in UTC, to the second: `2025-11-21T09:30:00Z`.
pub fn now() -> String {
    jiff::Timestamp::now()
        .strftime("%Y-%m-%dT%H:%M:%SZ")
        .to_string()
}
