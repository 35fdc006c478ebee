//! The provider `url`: a server that the user runs, named by `WORKSHOP_DATABASE_URL`. We only make and drop our own
//! databases there.

use std::path::PathBuf;

use anyhow::Context;
use sqlx::PgConnection;

use crate::connection::{self, Address};
use crate::databases;
use crate::identity::checkout_id;
use crate::server::{Files, Server};
use crate::settings::Provider;
use workshop_base::files;
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;

/// Where the host and port of the last server are kept, so that `just clean` can name it when the variable is gone.
/// The password is never written.
pub(crate) fn note(workspace: &Workspace) -> PathBuf {
    workspace.state().join("postgres/url-server")
}

/// The server at this URL, when its user may create databases.
pub(crate) async fn ensure(url: &str, workspace: &Workspace) -> anyhow::Result<Server> {
    let (address, mut connection) = connect(url).await?;
    let may_create: bool = sqlx::query_scalar(
        "SELECT rolcreatedb OR rolsuper FROM pg_roles WHERE rolname = current_user",
    )
    .fetch_one(&mut connection)
    .await
    .context("the server does not say what the user may do")?;
    if !may_create {
        let user = address.user();
        let fix = format!("as an administrator of that server: ALTER ROLE \"{user}\" CREATEDB");
        return Trouble::new(format!("the user {user} may not create databases"))
            .expected("a user that may: each run gets its own database")
            .next(fix)
            .err();
    }
    files::write_atomically(
        &note(workspace),
        format!("{}\n", address.place()).as_bytes(),
    )?;
    let files = Files::OutOfSight;
    let server = Server::found(Provider::Url, workspace, address, connection, files).await?;
    Ok(server.noted("where the course's databases stay until just clean"))
}

/// Drops this checkout's databases; one line for each.
pub(crate) async fn clean(url: &str, workspace: &Workspace) -> anyhow::Result<Vec<String>> {
    let (address, mut connection) = connect(url).await?;
    let dropped = databases::drop_all(&mut connection, &checkout_id(workspace)).await?;
    connection::close(connection).await;
    files::remove(&note(workspace))?;
    let place = address.place();
    Ok(dropped
        .into_iter()
        .map(|name| format!("the database {name} on {place}"))
        .collect())
}

async fn connect(url: &str) -> anyhow::Result<(Address, PgConnection)> {
    let address = Address::parse(url).map_err(|why| {
        Trouble::new(format!("WORKSHOP_DATABASE_URL {why}"))
            .expected("postgres://user:password@host:port/database")
            .next("correct the variable, or unset it: the course brings its own server")
    })?;
    match connection::connect(&address.maintenance_url()).await {
        Ok(connection) => Ok((address, connection)),
        Err(error) => {
            let why = connection::words(&error);
            let what =
                format!("the server that WORKSHOP_DATABASE_URL names refuses the login: {why}");
            let (place, user) = (address.place(), address.user());
            Trouble::new(what)
                .expected(format!(
                    "PostgreSQL on {place}, without TLS, for the user {user}"
                ))
                .next(
                    "start it or correct the variable; without it the course brings its own server",
                )
                .err()
        }
    }
}
