//! A running server: where it is, how to reach it, how much room it has.

use std::path::PathBuf;

use anyhow::Context;
use futures_util::future::BoxFuture;
use sqlx::PgConnection;

use crate::connection::{self, Address, Facts};
use crate::engine;
use crate::identity::checkout_id;
use crate::settings::Provider;
use workshop_base::files;
use workshop_base::workspace::Workspace;

/// Where the server's files are, as far as the tool can see them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Files {
    /// On a machine that the tool cannot look into.
    OutOfSight,
    /// In this folder.
    Folder(PathBuf),
    /// In a container: its id, and the folder inside.
    Container(String, String),
}

/// A running server.
#[derive(Debug, Clone)]
pub struct Server {
    provider: Provider,
    /// Whose databases the names of this checkout are; see [`crate::checkout_id`].
    checkout: String,
    /// The folder with a lock file for each database that is in use.
    claims: PathBuf,
    address: Address,
    /// What the server says of itself: `15.18`.
    version: String,
    files: Files,
    /// More for people: the image, why this provider.
    notes: Vec<String>,
    statements: bool,
}

impl Server {
    /// The server of a checkout, found at this address; asks it over the connection what it can do, and closes that.
    pub(crate) async fn found(
        provider: Provider,
        workspace: &Workspace,
        address: Address,
        (mut connection, facts): (PgConnection, Facts),
        files: Files,
    ) -> Server {
        let statements = facts.statements && connection::count_statements(&mut connection).await;
        connection::close(connection).await;
        Server {
            provider,
            checkout: checkout_id(workspace),
            claims: workspace.state().join("postgres/claims"),
            address,
            version: facts.version,
            files,
            notes: Vec::new(),
            statements,
        }
    }

    /// With one more note for people.
    #[must_use]
    pub(crate) fn noted(mut self, note: String) -> Server {
        self.notes.push(note);
        self
    }

    /// The provider that gave the server.
    pub fn provider(&self) -> Provider {
        self.provider
    }

    /// The id of the checkout that it serves.
    pub fn checkout(&self) -> &str {
        &self.checkout
    }

    /// The lock file that says whether the database of this name is in use.
    pub(crate) fn claim(&self, database: &str) -> PathBuf {
        self.claims.join(database)
    }

    /// The server's version as it says it, such as `15.18`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// One line for people: version, provider, address.
    pub fn describe(&self) -> String {
        let (version, provider) = (&self.version, self.provider);
        let mut line = format!(
            "PostgreSQL {version}, {provider}, on {}",
            self.address.place()
        );
        for note in &self.notes {
            line.push_str(", ");
            line.push_str(note);
        }
        line
    }

    /// Its host, as a certificate names it.
    pub(crate) fn host(&self) -> &str {
        self.address.host()
    }

    /// The URL of one of its databases, with user and password: `postgres://user:password@host:port/database`.
    pub fn url(&self, database: &str) -> String {
        self.address.url(database)
    }

    /// The URL of the database that is there anyway, for statistics and for making other databases.
    pub fn maintenance_url(&self) -> String {
        self.address.maintenance_url()
    }

    /// True when `pg_stat_statements` counts the statements; its view is in the database of
    /// [`Server::maintenance_url`].
    pub fn counts_statements(&self) -> bool {
        self.statements
    }

    /// A connection to one of its databases.
    pub fn connect<'f>(&'f self, database: &'f str) -> BoxFuture<'f, anyhow::Result<PgConnection>> {
        Box::pin(async move {
            let place = self.address.place();
            connection::connect(&self.url(database))
                .await
                .with_context(|| format!("cannot connect to the database {database} on {place}"))
        })
    }

    /// A connection to the database that is there anyway.
    pub fn connect_for_maintenance<'f>(&'f self) -> BoxFuture<'f, anyhow::Result<PgConnection>> {
        Box::pin(async move {
            connection::connect(&self.maintenance_url())
                .await
                .with_context(|| format!("cannot connect to {:?}", self.address))
        })
    }

    /// The bytes free on the disk that holds the databases; `None` when that cannot be known (the provider `url`).
    pub async fn free_bytes(&self) -> anyhow::Result<Option<u64>> {
        match &self.files {
            Files::OutOfSight => Ok(None),
            Files::Folder(folder) => files::free_bytes(folder).map(Some),
            Files::Container(id, folder) => engine::free_bytes(id, folder).await.map(Some),
        }
    }
}
