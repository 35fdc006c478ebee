//! The spare server: one more of the same provider, for the tests that stop a server and start it again. Nobody else's data is
//! on it, and it runs only as long as such a test.

use crate::docker;

use crate::Lock;
use crate::Provider;
use crate::Server;
use crate::Settings;
use crate::docker::Containers;
use crate::embedded;
use crate::embedded::Embedded;
use workshop_base::workspace::Workspace;

/// A server that may be stopped. Call [`Spare::stop`] at the end; a container that is not stopped goes with `just clean`.
pub struct Spare {
    server: Server,
    source: Source,
    /// There is one a checkout: whoever needs it at the same time waits.
    _turn: Lock,
}

enum Source {
    Embedded(embedded::Spare),
    Container(Box<docker::Spare>),
}

impl Spare {
    /// Makes it when it is not there, and starts it. `None` beside a server that the user runs: that one is not ours to
    /// stop, and we have no second one.
    ///
    /// # Errors
    /// When it cannot be made or does not start.
    pub async fn ensure(workspace: &Workspace, main: &Server) -> anyhow::Result<Option<Spare>> {
        let settings = Settings::from_env()?;
        let turn = Lock::take(workspace, "spare", "stops and starts a database").await?;
        let (source, server) = match main.provider() {
            Provider::Url => return Ok(None),
            Provider::Embedded => {
                let (spare, server) = Embedded::new(&settings).spare(workspace).await?;
                (Source::Embedded(spare), server)
            }
            Provider::Docker => {
                let (spare, server) = Containers::new(&settings).spare(workspace, main).await?;
                (Source::Container(Box::new(spare)), server)
            }
        };
        Ok(Some(Spare {
            server,
            source,
            _turn: turn,
        }))
    }

    /// Where it is, and how to reach it.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Stops it: sessions are told and ended, connections are refused. No error when it is stopped already.
    ///
    /// # Errors
    /// When it does not end.
    pub async fn stop(&self) -> anyhow::Result<()> {
        match &self.source {
            Source::Embedded(spare) => spare.stop().await,
            Source::Container(spare) => spare.stop().await,
        }
    }

    /// Starts it again at the same address, and waits until it answers.
    ///
    /// # Errors
    /// When it does not get there.
    pub async fn start(&self) -> anyhow::Result<()> {
        match &self.source {
            Source::Embedded(spare) => spare.start().await,
            Source::Container(spare) => spare.start().await,
        }
    }
}
