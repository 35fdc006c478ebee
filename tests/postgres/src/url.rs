//! The provider `url`: a server that the user runs, named by `WORKSHOP_DATABASE_URL`. We only make and drop our own
//! databases there.

use anyhow::Context;

use crate::Provide;
use crate::Provider;
use crate::Server;
use crate::connection;
use crate::datasets;
use crate::server::Address;
use crate::server::Files;
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;

/// The provider; holds the URL.
pub(super) struct Url<'a> {
    url: &'a str,
}

impl<'a> Url<'a> {
    /// A provider for the server at this URL.
    pub(super) fn new(url: &'a str) -> Self {
        Url { url }
    }

    /// Where the host and port of the last server stand, so that `just clean` can name it when the variable is gone.
    /// The password is never written.
    pub(super) fn note(workspace: &Workspace) -> std::path::PathBuf {
        workspace.state().join("postgres/url-server")
    }

    async fn connect(&self, workspace: &Workspace) -> anyhow::Result<(Server, sqlx::PgConnection)> {
        let address = parse(self.url)?;
        let mut connection = connection::connect(&address.options(&address.maintenance))
            .await
            .map_err(|error| {
                Trouble::new(format!(
                    "the server that WORKSHOP_DATABASE_URL names does not let us in: {}",
                    connection::words(&error)
                ))
                .expected(format!(
                    "PostgreSQL on {}, without TLS, for the user {}",
                    address.place(),
                    address.user
                ))
                .next(
                    "start it or correct the variable; without it the course brings its own server",
                )
            })?;
        let facts = connection::facts(&mut connection).await?;
        let statements = facts.statements && connection::count_statements(&mut connection).await;
        let server = Server {
            provider: Provider::Url,
            checkout: crate::checkout_id(workspace),
            address,
            version: facts.version,
            files: Files::OutOfSight,
            notes: Vec::new(),
            statements,
        };
        Ok((server, connection))
    }
}

impl Provide for Url<'_> {
    async fn ensure(&self, workspace: &Workspace) -> anyhow::Result<Server> {
        let (server, mut connection) = self.connect(workspace).await?;
        let may_create: bool = sqlx::query_scalar(
            "SELECT rolcreatedb OR rolsuper FROM pg_roles WHERE rolname = current_user",
        )
        .fetch_one(&mut connection)
        .await
        .context("the server does not say what the user may do")?;
        connection::close(connection).await;
        if !may_create {
            let user = &server.address.user;
            return Err(
                Trouble::new(format!("the user {user} may not create databases"))
                    .expected("a user that may: each run gets its own database")
                    .next(format!(
                        "as an administrator of that server: ALTER ROLE \"{user}\" CREATEDB"
                    ))
                    .into(),
            );
        }
        let note = Self::note(workspace);
        if let Some(folder) = note.parent() {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("cannot make {}", folder.display()))?;
        }
        std::fs::write(&note, format!("{}\n", server.address.place()))
            .with_context(|| format!("cannot write {}", note.display()))?;
        Ok(server)
    }

    async fn clean(&self, workspace: &Workspace) -> anyhow::Result<Vec<String>> {
        let (server, mut connection) = self.connect(workspace).await?;
        let dropped = datasets::drop_everything(&mut connection, server.checkout()).await?;
        connection::close(connection).await;
        match std::fs::remove_file(Self::note(workspace)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        Ok(dropped
            .into_iter()
            .map(|name| format!("the database {name} on {}", server.address.place()))
            .collect())
    }
}

/// Takes a URL apart.
fn parse(text: &str) -> Result<Address, Trouble> {
    let refuse = |why: &str| {
        Trouble::new(format!("WORKSHOP_DATABASE_URL {why}"))
            .expected("postgres://user:password@host:port/database")
            .next("correct the variable, or unset it: the course brings its own server")
    };
    let url = reqwest::Url::parse(text).map_err(|error| refuse(&format!("is no URL: {error}")))?;
    if !matches!(url.scheme(), "postgres" | "postgresql") {
        return Err(refuse(&format!("begins with {}://", url.scheme())));
    }
    let host = url
        .host_str()
        .map(|host| host.trim_start_matches('[').trim_end_matches(']'))
        .unwrap_or_default();
    let host = percent_decode(host).filter(|host| !host.is_empty() && !host.starts_with('/'));
    let host = host.ok_or_else(|| {
        refuse("names no host; a socket's folder will not do, services connect by TCP")
    })?;
    let user = percent_decode(url.username()).filter(|user| !user.is_empty());
    let user = user.ok_or_else(|| refuse("names no user"))?;
    let password = percent_decode(url.password().unwrap_or_default());
    let password =
        password.ok_or_else(|| refuse("has a password that is no UTF-8 after decoding"))?;
    let database = percent_decode(url.path().trim_start_matches('/'));
    let database =
        database.ok_or_else(|| refuse("has a database name that is no UTF-8 after decoding"))?;
    let maintenance = if database.is_empty() {
        user.clone()
    } else {
        database
    };
    Ok(Address {
        host,
        port: url.port().unwrap_or(5432),
        user,
        password,
        maintenance,
    })
}

/// `%XX` becomes the byte it stands for; `None` when the result is no UTF-8.
fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let escaped = (first == b'%')
            .then(|| {
                tail.get(..2)
                    .and_then(|digits| std::str::from_utf8(digits).ok())
            })
            .flatten()
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(escaped.unwrap_or(first));
        rest = if escaped.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_apart_and_decoded() {
        let address =
            parse("postgres://anna%40home:p%40ss@db.example:6543/course").expect("a good URL");
        assert_eq!(address.host, "db.example");
        assert_eq!(address.port, 6543);
        assert_eq!(address.user, "anna@home");
        assert_eq!(address.password, "p@ss");
        assert_eq!(address.maintenance, "course");
    }

    #[test]
    fn port_and_database_have_postgresqls_defaults() {
        let address = parse("postgresql://anna@[::1]").expect("a good URL");
        assert_eq!(
            (
                address.host.as_str(),
                address.port,
                address.maintenance.as_str()
            ),
            ("::1", 5432, "anna")
        );
    }

    #[test]
    fn anything_else_is_refused_with_the_form_that_would_be_right() {
        for text in [
            "localhost:5432",
            "mysql://anna@host/db",
            "postgres://host/db",
            "postgres:///db",
            "postgres://a@%2Fvar%2Frun/db",
        ] {
            let refusal = parse(text).expect_err(text).to_string();
            assert!(
                refusal.contains("postgres://user:password@host:port/database"),
                "{refusal}"
            );
        }
    }

    #[test]
    fn a_refusal_does_not_repeat_the_password() {
        let refusal = parse("mysql://anna:secret@host/db")
            .expect_err("the wrong scheme")
            .to_string();
        assert!(!refusal.contains("secret"), "{refusal}");
    }
}
