//! A running server: where it is, how to reach it, how much room it has.

use std::path::{Path, PathBuf};

use anyhow::Context;
use futures_util::future::BoxFuture;
use sqlx::PgConnection;

use crate::connection::{self, Address, OLDEST_MAJOR};
use crate::engine;
use crate::identity::checkout_id;
use crate::settings::Provider;
use workshop_base::files;
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;

/// Where the server's files are, as far as the tool can see them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Files {
    /// On a machine that the tool cannot look into.
    OutOfSight,
    /// On this machine.
    Here,
    /// In the container with this id.
    Container(String),
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
    /// The folder of its data; empty where the user may not see it.
    data: String,
    /// More for people, each after a comma: the image, why this provider.
    notes: String,
    statements: bool,
}

impl Server {
    /// The server of a checkout, found at this address: asks it over the connection who it is and what it can do, and closes that.
    /// Refuses one that is too old.
    pub(crate) async fn found(
        provider: Provider,
        workspace: &Workspace,
        address: Address,
        mut connection: PgConnection,
        files: Files,
    ) -> anyhow::Result<Server> {
        let (version, number, data): (String, i64, String) = sqlx::query_as(
            "SELECT split_part(current_setting('server_version'), ' ', 1),
                    current_setting('server_version_num')::bigint,
                    CASE WHEN pg_has_role('pg_read_all_settings', 'MEMBER') THEN current_setting('data_directory') ELSE '' END",
        )
        .fetch_one(&mut connection)
        .await
        .context("the database does not say which version it is")?;
        if number / 10_000 < i64::from(OLDEST_MAJOR) {
            return Trouble::new(format!("the database is PostgreSQL {version}"))
                .expected(format!("version {OLDEST_MAJOR} or later"))
                .next("name another server or image, or unset WORKSHOP_POSTGRES")
                .err();
        }
        // Both or nothing: the view fails where the server does not preload the library.
        let counting = "CREATE EXTENSION IF NOT EXISTS pg_stat_statements; SELECT FROM pg_stat_statements LIMIT 1";
        let statements = sqlx::raw_sql(counting)
            .execute(&mut connection)
            .await
            .is_ok();
        connection::close(connection).await;
        Ok(Server {
            provider,
            checkout: checkout_id(workspace),
            claims: workspace.state().join("postgres/claims"),
            address,
            version,
            files,
            data,
            notes: String::new(),
            statements,
        })
    }

    /// With one more note for people.
    #[must_use]
    pub(crate) fn noted(mut self, note: &str) -> Server {
        self.notes += &format!(", {note}");
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
        let (version, provider, notes) = (&self.version, self.provider, &self.notes);
        format!(
            "PostgreSQL {version}, {provider}, on {}{notes}",
            self.address.place()
        )
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
            Files::Here => files::free_bytes(Path::new(&self.data)).map(Some),
            Files::Container(id) => engine::free_bytes(id, &self.data).await.map(Some),
        }
    }
}
