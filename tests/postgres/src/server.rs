//! A running server: where it is, how to reach it, how much room it has.

use std::fmt;
use std::path::PathBuf;

use anyhow::Context;
use sqlx::PgConnection;
use sqlx::postgres::PgConnectOptions;

use crate::Lock;

use crate::Settings;

use crate::choice;

use crate::connection;

use crate::docker;
use workshop_base::workspace::Workspace;

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

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Provider::Url => "url",
            Provider::Docker => "docker",
            Provider::Embedded => "embedded",
        })
    }
}

/// Where the server's files are, as far as the tool can see them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Files {
    /// On a machine that the tool cannot look into.
    OutOfSight,
    /// In this folder.
    Folder(PathBuf),
    /// In a container: its id, and the folder inside.
    Container(String, String),
}

/// How to reach a server: what a URL says, in parts.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Address {
    /// A name or an IP address.
    pub host: String,
    /// The TCP port.
    pub port: u16,
    /// A role that may create databases.
    pub user: String,
    /// Its password; empty when none is needed.
    pub password: String,
    /// The database that is there anyway; databases are made and dropped from it.
    pub maintenance: String,
}

impl Address {
    /// The options to connect to one of the server's databases.
    pub(super) fn options(&self, database: &str) -> PgConnectOptions {
        connection::options(self, database)
    }

    /// Host and port, without anything secret.
    pub(super) fn place(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}/{}", self.user, self.place(), self.maintenance)
    }
}

/// A running server.
#[derive(Debug, Clone)]
pub struct Server {
    pub(super) provider: Provider,
    /// Whose databases the names of this checkout are; see [`crate::checkout_id`].
    pub(super) checkout: String,
    pub(super) address: Address,
    /// What the server says of itself: `15.18`.
    pub(super) version: String,
    pub(super) files: Files,
    /// More for people: the image, the programs, why this provider.
    pub(super) notes: Vec<String>,
    pub(super) statements: bool,
}

impl Server {
    /// The server of this checkout: found running, restarted, or made.
    ///
    /// # Errors
    /// When the chosen provider cannot give one; a [`workshop_base::outcome::Trouble`] that names what to do.
    pub async fn ensure(workspace: &Workspace) -> anyhow::Result<Server> {
        Self::ensure_with(workspace, &Settings::from_env()?).await
    }

    /// As [`Server::ensure`], with settings from elsewhere than the environment.
    ///
    /// # Errors
    /// As [`Server::ensure`].
    pub async fn ensure_with(workspace: &Workspace, settings: &Settings) -> anyhow::Result<Server> {
        let _turn = Lock::take(workspace, "postgres", "starts the database").await?;
        choice::ensure(workspace, settings).await
    }

    /// The provider that gave the server.
    pub fn provider(&self) -> Provider {
        self.provider
    }

    /// The id of the checkout that it serves.
    pub fn checkout(&self) -> &str {
        &self.checkout
    }

    /// The server's version as it says it, such as `15.18`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// One line for people: version, provider, address.
    pub fn describe(&self) -> String {
        let mut line = format!(
            "PostgreSQL {}, {}, on {}",
            self.version,
            self.provider,
            self.address.place()
        );
        for note in &self.notes {
            line.push_str(", ");
            line.push_str(note);
        }
        line
    }

    /// The URL of one of its databases, with user and password: `postgres://user:password@host:port/database`.
    pub fn url(&self, database: &str) -> String {
        let Address { user, password, .. } = &self.address;
        let place = self.address.place();
        let user = percent_encode(user);
        let secret = if password.is_empty() {
            String::new()
        } else {
            format!(":{}", percent_encode(password))
        };
        format!(
            "postgres://{user}{secret}@{place}/{}",
            percent_encode(database)
        )
    }

    /// The URL of the database that is there anyway, for statistics and for making other databases.
    pub fn maintenance_url(&self) -> String {
        self.url(&self.address.maintenance)
    }

    /// True when `pg_stat_statements` counts the statements; its view is in the database of
    /// [`Server::maintenance_url`].
    pub fn counts_statements(&self) -> bool {
        self.statements
    }

    /// A connection to one of its databases.
    ///
    /// # Errors
    /// When the server does not answer or refuses.
    pub async fn connect(&self, database: &str) -> anyhow::Result<PgConnection> {
        connection::connect(&self.address.options(database))
            .await
            .with_context(|| {
                format!(
                    "cannot connect to the database {database} on {}",
                    self.address.place()
                )
            })
    }

    /// A connection to the database that is there anyway.
    ///
    /// # Errors
    /// When the server does not answer or refuses.
    pub async fn connect_for_maintenance(&self) -> anyhow::Result<PgConnection> {
        self.connect(&self.address.maintenance).await
    }

    /// The bytes free on the disk that holds the databases; `None` when that cannot be known (the provider `url`).
    ///
    /// # Errors
    /// When the disk cannot be asked.
    pub async fn free_bytes(&self) -> anyhow::Result<Option<u64>> {
        match &self.files {
            Files::OutOfSight => Ok(None),
            Files::Folder(folder) => {
                let disk = nix::sys::statvfs::statvfs(folder)
                    .with_context(|| format!("cannot ask the disk of {}", folder.display()))?;
                // The types differ by platform: 32 or 64 bits.
                #[allow(clippy::unnecessary_cast)]
                Ok(Some(
                    disk.blocks_available() as u64 * disk.fragment_size() as u64,
                ))
            }
            Files::Container(id, folder) => docker::free_bytes(id, folder).await.map(Some),
        }
    }
}

/// Everything that is not unreserved in a URL (RFC 3986) becomes `%XX`.
fn percent_encode(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
        encoded
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(host: &str, password: &str) -> Server {
        Server {
            provider: Provider::Url,
            checkout: "0123456789".to_owned(),
            address: Address {
                host: host.to_owned(),
                port: 5432,
                user: "anna@home".to_owned(),
                password: password.to_owned(),
                maintenance: "postgres".to_owned(),
            },
            version: "18.1".to_owned(),
            files: Files::OutOfSight,
            notes: Vec::new(),
            statements: false,
        }
    }

    #[test]
    fn a_url_survives_a_password_with_the_signs_of_a_url() {
        let url = server("db.example", "p@ss:w/rd?").url("small");
        assert_eq!(
            url,
            "postgres://anna%40home:p%40ss%3Aw%2Frd%3F@db.example:5432/small"
        );
    }

    #[test]
    fn an_ipv6_address_stands_in_brackets() {
        assert_eq!(
            server("::1", "").url("small"),
            "postgres://anna%40home@[::1]:5432/small"
        );
    }

    #[test]
    fn neither_the_description_nor_the_debug_output_shows_the_password() {
        let server = server("127.0.0.1", "secret");
        assert!(!format!("{server:?} {}", server.describe()).contains("secret"));
    }
}
