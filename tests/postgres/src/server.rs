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
    Here,
    /// In the container with this id.
    Container(String),
}

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
        let counting = match provider {
            // The user's server: only the course's own databases are made there, so the view counts where it is.
            Provider::Url => "SELECT FROM pg_stat_statements LIMIT 1",
            // Both or nothing: the view fails where the server does not preload the library.
            Provider::Docker | Provider::Embedded => {
                "CREATE EXTENSION IF NOT EXISTS pg_stat_statements; SELECT FROM pg_stat_statements LIMIT 1"
            }
        };
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
    pub fn host(&self) -> &str {
        self.address.host()
    }

    /// The URL of one of its databases, with user and password: `postgres://user:password@host:port/database`.
    pub fn url(&self, database: &str) -> String {
        self.address.url(database)
    }

    /// The same for people: without the password where the server is the user's own. That of a server of ours is made up, and only
    /// enters it from this machine.
    pub fn shown_url(&self, database: &str) -> String {
        match self.provider {
            Provider::Url => self.address.shown(database),
            Provider::Docker | Provider::Embedded => self.url(database),
        }
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
            let connected = connection::connect(&self.url(database)).await;
            connected.map_err(|error| match connection::is_full(&error) {
                true => self.full().into(),
                false => anyhow::Error::new(error).context(format!(
                    "cannot connect to the database {database} on {place}"
                )),
            })
        })
    }

    /// A connection to the database that is there anyway.
    pub fn connect_for_maintenance<'f>(&'f self) -> BoxFuture<'f, anyhow::Result<PgConnection>> {
        Box::pin(async move {
            let connected = connection::connect(&self.maintenance_url()).await;
            connected.map_err(|error| match connection::is_full(&error) {
                true => self.full().into(),
                false => anyhow::Error::new(error)
                    .context(format!("cannot connect to {:?}", self.address)),
            })
        })
    }

    fn full(&self) -> Trouble {
        Trouble::new(format!("the server on {} takes no more connections", self.address.place()))
            .expected("some 40 connections that are free: tests play several services side by side")
            .next("WORKSHOP_SIDE_BY_SIDE=1 and the same command again; or there: ALTER SYSTEM SET max_connections = 100, and start it again")
    }

    /// How many more connections it takes; `None` for a server of ours, which has enough.
    pub async fn free_connections(&self) -> anyhow::Result<Option<usize>> {
        if self.provider != Provider::Url {
            return Ok(None);
        }
        let mut connection = self.connect_for_maintenance().await?;
        let free: i64 = sqlx::query_scalar(
            "SELECT current_setting('max_connections')::bigint
                  - current_setting('superuser_reserved_connections')::bigint
                  - (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid())",
        )
        .fetch_one(&mut connection)
        .await
        .context("the server does not say how many connections it takes")?;
        connection::close(connection).await;
        Ok(Some(usize::try_from(free).unwrap_or_default()))
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
