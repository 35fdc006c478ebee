//! Connecting: without TLS, with a limit on the wait, and with the errors that people meet put into words.

use std::time::{Duration, Instant};

use anyhow::Context;
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use sqlx::{ConnectOptions, Connection, PgConnection};

use crate::server::Address;
use workshop_base::outcome::Trouble;

/// The oldest major version that the course runs on: `bit_xor` and `DROP DATABASE … WITH (FORCE)` are there from it on.
pub(super) const OLDEST_MAJOR: u32 = 14;

/// How long one attempt to connect may take.
const ATTEMPT: Duration = Duration::from_secs(10);

/// How long a server that was just started may need; an SD card in a Raspberry Pi is slow.
pub(super) const START_LIMIT: Duration = Duration::from_secs(120);

/// The options to connect to a database; no TLS, since the services of the course are built without it.
pub(super) fn options(address: &Address, database: &str) -> PgConnectOptions {
    let options = PgConnectOptions::new_without_pgpass()
        .host(&address.host)
        .port(address.port)
        .username(&address.user)
        .database(database)
        .ssl_mode(PgSslMode::Disable)
        .application_name("workshop");
    if address.password.is_empty() {
        options
    } else {
        options.password(&address.password)
    }
}

/// Connects, or gives up after ten seconds.
pub(super) async fn connect(options: &PgConnectOptions) -> Result<PgConnection, sqlx::Error> {
    match tokio::time::timeout(ATTEMPT, options.connect()).await {
        Ok(result) => result,
        Err(_) => Err(sqlx::Error::Io(std::io::Error::new(
            std::io::ErrorKind::TimedOut,
            "no answer within ten seconds",
        ))),
    }
}

/// Connects as soon as the server answers. `alive` is asked between attempts and ends the wait with its error; a
/// message appears when it takes longer than a few seconds.
///
/// Log lines are no sign of readiness: an image that is already initialised prints others than a new one.
///
/// # Errors
/// What `alive` says, or a trouble after [`START_LIMIT`].
pub(super) async fn wait_until_it_answers(
    options: &PgConnectOptions,
    mut alive: impl AsyncFnMut() -> anyhow::Result<()>,
) -> anyhow::Result<PgConnection> {
    let start = Instant::now();
    let mut said = false;
    loop {
        let last = match connect(options).await {
            Ok(connection) => return Ok(connection),
            Err(error) if is_refusal(&error) => {
                return Err(error).context("the database refuses the tool");
            }
            Err(error) => error,
        };
        alive().await?;
        if start.elapsed() > START_LIMIT {
            return Err(Trouble::new(format!(
                "the database does not answer after {} s: {}",
                START_LIMIT.as_secs(),
                words(&last)
            ))
            .expected("an answer to a connection")
            .next("just clean, then try again; just doctor shows what is here")
            .into());
        }
        if !said && start.elapsed() > Duration::from_secs(3) {
            said = true;
            eprintln!(
                "waiting for the database, up to {} s",
                START_LIMIT.as_secs()
            );
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// True for answers that waiting does not change: wrong password, unknown role, no permission.
fn is_refusal(error: &sqlx::Error) -> bool {
    error
        .as_database_error()
        .and_then(|error| error.code())
        .is_some_and(|code| code.starts_with("28") || code == "42501")
}

/// What a server says of itself.
#[derive(Debug, Clone)]
pub(super) struct Facts {
    /// `15.18`.
    pub version: String,
    /// The folder of its data, where it tells (superusers and members of `pg_read_all_settings`).
    pub data_directory: Option<String>,
    /// True when it preloads `pg_stat_statements`.
    pub statements: bool,
}

/// Asks a server who it is, and refuses one that is too old.
///
/// # Errors
/// When it is too old or does not answer.
pub(super) async fn facts(connection: &mut PgConnection) -> anyhow::Result<Facts> {
    let (version, number, data_directory, preloaded): (String, String, Option<String>, Option<String>) =
        sqlx::query_as(
            "SELECT split_part(current_setting('server_version'), ' ', 1),
                    current_setting('server_version_num'),
                    CASE WHEN pg_has_role('pg_read_all_settings', 'MEMBER') THEN current_setting('data_directory') END,
                    CASE WHEN pg_has_role('pg_read_all_settings', 'MEMBER')
                         THEN current_setting('shared_preload_libraries') END",
        )
        .fetch_one(connection)
        .await
        .context("the database does not say which version it is")?;
    let major = number.parse::<u32>().unwrap_or_default() / 10_000;
    if major < OLDEST_MAJOR {
        return Err(
            Trouble::new(format!("the database is PostgreSQL {version}"))
                .expected(format!("version {OLDEST_MAJOR} or later"))
                .next("name another server or image, or unset WORKSHOP_POSTGRES")
                .into(),
        );
    }
    let statements = preloaded.is_some_and(|list| list.contains("pg_stat_statements"));
    Ok(Facts {
        version,
        data_directory,
        statements,
    })
}

/// Makes the view of `pg_stat_statements` available in the connection's database; false when that is not possible.
pub(super) async fn count_statements(connection: &mut PgConnection) -> bool {
    let there = sqlx::query_scalar::<_, bool>(
        "SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_stat_statements')",
    )
    .fetch_one(&mut *connection)
    .await
    .unwrap_or(false);
    there
        || sqlx::raw_sql("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
            .execute(connection)
            .await
            .is_ok()
}

/// What the server said, without the place in its source that said it.
pub fn words(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(refusal) => refusal.message().to_owned(),
        sqlx::Error::Io(error) => error.to_string(),
        other => other.to_string(),
    }
}

/// Says goodbye; a connection that is lost already is as good.
pub(super) async fn close(connection: PgConnection) {
    let _ = connection.close().await;
}
