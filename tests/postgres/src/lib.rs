//! PostgreSQL under the exercises: one server a checkout, from one of three providers.
//!
//! [`Server::ensure`] is the door: it takes the checkout's lock, asks the provider, and answers with a server that
//! accepts connections. Which provider that is decides [`choice`].

pub mod binaries;
pub mod datasets;
pub mod image;

mod account;
mod choice;
mod clean;
mod configuration;
mod connection;
mod docker;
mod embedded;
mod identity;
mod lock;
mod maven;
mod server;
mod settings;
mod spare;
mod url;

pub use choice::file as choice_file;
pub use clean::{Cleaned, clean};
pub use connection::words;
pub use docker::OFFICIAL as OFFICIAL_IMAGE;
pub use identity::checkout_id;
pub use identity::short_hash;
pub use lock::Lock;
pub use server::{Provider, Server};
pub use settings::{BinariesFrom, Settings};
pub use spare::Spare;

use std::net::TcpListener;

use anyhow::Context;

use workshop_base::workspace::Workspace;

/// One way to come to a server: found running, restarted, or made.
trait Provide {
    /// Gives a server that answers.
    ///
    /// # Errors
    /// When it cannot; a [`workshop_base::outcome::Trouble`] that says why and what to do.
    async fn ensure(&self, workspace: &Workspace) -> anyhow::Result<Server>;

    /// Stops and removes what `ensure` and the data sets made; one line for each thing that is gone. Calling it again
    /// finds nothing to remove.
    ///
    /// # Errors
    /// When something of ours is still there afterwards.
    async fn clean(&self, workspace: &Workspace) -> anyhow::Result<Vec<String>>;
}

/// A port that is free now. PostgreSQL knows no port 0, so this is a guess that may lose a race.
fn free_port() -> anyhow::Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).context("no port is free on 127.0.0.1")?;
    Ok(listener.local_addr()?.port())
}
