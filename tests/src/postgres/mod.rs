//! PostgreSQL under the exercises: one server a checkout, from one of three providers.

use crate::workspace::Workspace;

/// Where the server comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// A server that the user runs, named by `WORKSHOP_DATABASE_URL`.
    Url,
    /// A container, by testcontainers.
    Docker,
    /// A server started from binaries, without Docker.
    Embedded,
}

/// A running server.
#[derive(Debug, Clone)]
pub struct Server {
    provider: Provider,
}

impl Server {
    /// The server of this checkout: found running, restarted, or made.
    ///
    /// # Errors
    /// When the chosen provider cannot give one; a [`crate::outcome::Trouble`] that names what to do.
    pub async fn ensure(workspace: &Workspace) -> anyhow::Result<Server> {
        let _ = workspace;
        anyhow::bail!("not here yet")
    }

    /// The provider that gave the server.
    pub fn provider(&self) -> Provider {
        self.provider
    }

    /// One line for people: provider, version, address.
    pub fn describe(&self) -> String {
        format!("{:?}", self.provider)
    }

    /// The URL of one of its databases, with user and password: `postgres://user:password@host:port/database`.
    pub fn url(&self, database: &str) -> String {
        database.to_owned()
    }
}
