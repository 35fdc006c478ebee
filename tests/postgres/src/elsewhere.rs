//! A server of ours on another machine, whose port is one of this machine's as well: somebody else starts it, and keeps the tunnel
//! between the two ports.

use futures_util::future::LocalBoxFuture;

use workshop_base::outcome::Trouble;
use workshop_base::wait;
use workshop_base::workspace::Workspace;

use crate::configuration;
use crate::connection::{self, Address, START_LIMIT, USER};
use crate::identity;
use crate::server::{Files, Server};
use crate::settings::Provider;

/// What it is to be: its port, and who may enter.
pub struct Elsewhere {
    port: u16,
    password: String,
}

impl Elsewhere {
    /// On this port, with a new password.
    pub fn new(port: u16) -> Self {
        Elsewhere {
            port,
            password: identity::password(),
        }
    }

    /// The user that `initdb` makes.
    pub fn user(&self) -> &'static str {
        USER
    }

    /// That user's password.
    pub fn password(&self) -> &str {
        &self.password
    }

    /// What its `postgresql.conf` ends with, on a machine with so many bytes of memory.
    pub fn configuration(&self, memory: Option<u64>) -> String {
        configuration::at_port(self.port, memory, false)
            .map(|(name, value)| format!("{name} = '{value}'\n"))
            .collect()
    }

    /// The server, once it answers at the end of the tunnel; `place` is where it runs, for people.
    pub fn server<'f>(
        &'f self,
        workspace: &'f Workspace,
        place: &'f str,
    ) -> LocalBoxFuture<'f, anyhow::Result<Server>> {
        Box::pin(async move {
            let address = Address::ours("127.0.0.1", self.port, &self.password)?;
            let url = address.maintenance_url();
            let what = format!("the database on {place}");
            let connected = wait::within_saying(START_LIMIT, &what, async || {
                connection::connect(&url).await.ok()
            });
            let Some(connection) = connected.await else {
                return Trouble::new(format!("the database on {place} does not answer"))
                    .expected("PostgreSQL at the other end of a tunnel through ssh")
                    .next("run it again")
                    .err();
            };
            let files = Files::OutOfSight;
            let server = Server::found(Provider::Url, workspace, address, connection, files);
            Ok(server.await?.noted(&format!("through ssh from {place}")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_listens_to_its_own_machine_only_and_a_small_one_gives_it_little_memory() {
        let text = Elsewhere::new(4711).configuration(Some(1 << 30));
        for line in [
            "listen_addresses = '127.0.0.1'",
            "port = '4711'",
            "unix_socket_directories = ''",
            "shared_buffers = '128MB'",
        ] {
            assert!(text.lines().any(|said| said == line), "{text}");
        }
    }
}
