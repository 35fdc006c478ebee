//! Where a server is, and connecting to it: without TLS, with a limit on the wait, and with the errors that people meet put into
//! words.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgSslMode};
use sqlx::{ConnectOptions, Connection, PgConnection};
use url::Url;

/// The oldest major version that the course runs on: `bit_xor` and `DROP DATABASE … WITH (FORCE)` are there from it on.
pub(crate) const OLDEST_MAJOR: u32 = 14;

/// The superuser of the servers that we start.
pub(crate) const USER: &str = "workshop";

/// How long one attempt to connect may take.
const ATTEMPT: Duration = Duration::from_secs(10);

/// How long a server that was just started may need; an SD card in a Raspberry Pi is slow.
pub(crate) const START_LIMIT: Duration = Duration::from_secs(120);

/// Where a server is and who may enter: a URL with user, password and the database that is there anyway.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Address(Url);

impl Address {
    /// The address in a URL; the error is the end of a sentence that begins with who gave the URL.
    pub(crate) fn parse(text: &str) -> Result<Address, String> {
        let mut url = Url::parse(text).map_err(|error| format!("isn't a URL: {error}"))?;
        if !matches!(url.scheme(), "postgres" | "postgresql") {
            return Err(format!("begins with {}://", url.scheme()));
        }
        if url
            .host_str()
            .is_none_or(|host| host.is_empty() || host.starts_with("%2F"))
        {
            return Err(
                "names no host; a socket's folder won't do, services connect by TCP".to_owned(),
            );
        }
        if url.username().is_empty() {
            return Err("names no user".to_owned());
        }
        PgConnectOptions::from_url(&url).map_err(|_| "isn't UTF-8 after decoding".to_owned())?;
        if let Some(mode) = wants_tls(&url) {
            return Err(format!(
                "asks for TLS (sslmode={mode}), and the course connects without it"
            ));
        }
        // What else follows a `?` is for other clients.
        url.set_query(None);
        let _ = url.set_scheme("postgres");
        let _ = url.set_port(Some(url.port().unwrap_or(5432)));
        if url.path().trim_start_matches('/').is_empty() {
            let database = format!("/{}", url.username());
            url.set_path(&database);
        }
        Ok(Address(url))
    }

    /// The address of a server that we have started.
    pub(crate) fn ours(host: &str, port: u16, password: &str) -> anyhow::Result<Address> {
        Address::parse(&format!(
            "postgres://{USER}:{password}@{host}:{port}/postgres"
        ))
        .map_err(|why| anyhow::anyhow!("the address of the server on {host} {why}"))
    }

    /// The URL of one of the server's databases, with user and password.
    pub(crate) fn url(&self, database: &str) -> String {
        let mut url = self.0.clone();
        url.set_path(database);
        url.to_string()
    }

    /// The same without the password.
    pub(crate) fn shown(&self, database: &str) -> String {
        let mut url = self.0.clone();
        url.set_path(database);
        if url.password().is_some() {
            let _ = url.set_password(Some("***"));
        }
        url.to_string()
    }

    /// The URL of the database that is there anyway; databases are made and dropped from it.
    pub(crate) fn maintenance_url(&self) -> String {
        self.0.to_string()
    }

    /// The role that makes the databases, as the URL has it.
    pub(crate) fn user(&self) -> &str {
        self.0.username()
    }

    /// The host, as a certificate names it: an IPv6 address without brackets.
    pub(crate) fn host(&self) -> &str {
        let host = self.0.host_str().unwrap_or_default();
        host.trim_matches(['[', ']'])
    }

    /// Host and port, without anything secret.
    pub(crate) fn place(&self) -> String {
        format!(
            "{}:{}",
            self.0.host_str().unwrap_or_default(),
            self.0.port().unwrap_or(5432)
        )
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}{}", self.user(), self.place(), self.0.path())
    }
}

/// The mode by which a URL asks for TLS. It would be a silent downgrade to connect without.
fn wants_tls(url: &Url) -> Option<String> {
    let mut options = url.query_pairs();
    let (_, mode) = options.find(|(name, _)| name == "sslmode" || name == "ssl-mode")?;
    let takes_none = ["disable", "allow", "prefer"].contains(&&*mode);
    (!takes_none).then(|| mode.into_owned())
}

/// The options for a connection; no TLS, since the services of the course are built without it.
fn options(url: &str) -> Result<PgConnectOptions, sqlx::Error> {
    let options: PgConnectOptions = url.parse()?;
    // A URL has an IPv6 address in brackets.
    let host = options.get_host().trim_matches(['[', ']']).to_owned();
    Ok(options
        .host(&host)
        .ssl_mode(PgSslMode::Disable)
        .application_name("workshop"))
}

/// Connects, or gives up after ten seconds.
pub(crate) async fn connect(url: &str) -> Result<PgConnection, sqlx::Error> {
    match tokio::time::timeout(ATTEMPT, options(url)?.connect()).await {
        Ok(result) => result,
        Err(_) => Err(sqlx::Error::Io(std::io::Error::new(
            std::io::ErrorKind::TimedOut,
            "no answer within ten seconds",
        ))),
    }
}

/// True for answers that waiting does not change: wrong password, unknown role, no permission.
pub(crate) fn is_refusal(error: &sqlx::Error) -> bool {
    code(error).is_some_and(|code| code.starts_with("28") || code == "42501")
}

/// True where the server has as many connections as it takes.
pub(crate) fn is_full(error: &sqlx::Error) -> bool {
    code(error).is_some_and(|code| code == "53300")
}

/// PostgreSQL's code of an error, when it comes from the server.
pub(crate) fn code(error: &sqlx::Error) -> Option<Cow<'_, str>> {
    error.as_database_error()?.code()
}

/// What the server said, without the place in its source that said it.
pub(crate) fn words(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(refusal) => refusal.message().to_owned(),
        sqlx::Error::Io(error) => error.to_string(),
        other => other.to_string(),
    }
}

/// Says goodbye; a connection that is lost already is as good.
pub(crate) async fn close(connection: PgConnection) {
    let _ = connection.close().await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_survives_a_password_with_the_signs_of_a_url() {
        let address = Address::parse(
            "postgresql://anna%40home:p%40ss%3Aw%2Frd%3F@db.example:6543/course?sslmode=prefer",
        )
        .expect("a good URL");
        let url = "postgres://anna%40home:p%40ss%3Aw%2Frd%3F@db.example:6543/small";
        assert_eq!(address.url("small"), url);
        let options = options(url).expect("options");
        assert_eq!(
            (options.get_username(), options.get_port()),
            ("anna@home", 6543)
        );
    }

    #[test]
    fn port_and_database_have_postgresqls_defaults() {
        let address = Address::parse("postgresql://anna@[::1]").expect("a good URL");
        assert_eq!(address.maintenance_url(), "postgres://anna@[::1]:5432/anna");
        let options = options(&address.maintenance_url()).expect("options");
        assert_eq!(options.get_host(), "::1");
    }

    #[test]
    fn anything_else_is_refused_without_repeating_the_password() {
        for text in [
            "localhost:5432",
            "mysql://anna:secret@host/db",
            "postgres://host/db",
            "postgres:///db",
            "postgres://a:secret@%2Fvar%2Frun/db",
            "postgres://a:secret%FF@host/db",
            "postgres://a:secret@host/db?application_name=a&sslmode=require",
            "postgres://a:secret@host/db?sslmode=verify-full",
        ] {
            let refusal = Address::parse(text).expect_err(text);
            assert!(!refusal.contains("secret"), "{refusal}");
        }
    }

    #[test]
    fn an_address_can_be_printed_without_its_password() {
        let address = Address::ours("127.0.0.1", 5432, "secret").expect("an address");
        assert_eq!(
            address.shown("small"),
            "postgres://workshop:***@127.0.0.1:5432/small"
        );
        assert_eq!(format!("{address:?}"), "workshop@127.0.0.1:5432/postgres");
    }
}
