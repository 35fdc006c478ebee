//! nginx in front of a service that has one route, with the Kotlin service beside it for all others.

use std::path::PathBuf;

use super::session::Session;
use crate::harness::build::Launch;
use crate::harness::failure::TestError;
use crate::harness::nginx::Nginx;
use crate::harness::service::{Service, Settings};
use crate::outcome::Trouble;

/// The stage at which the route is the service's, and no longer Kotlin's.
const STAGE: &str = "all";
/// What nginx calls the Kotlin service.
const KOTLIN: &str = "kotlin";

/// What it takes to put a service behind nginx.
#[derive(Debug, Clone)]
pub struct FrontLaunch {
    /// The folder with nginx's configuration.
    pub configuration: PathBuf,
    /// The Kotlin service, which has all other routes.
    pub kotlin: Launch,
}

/// What stands in front of a service, and beside it.
pub struct Front {
    nginx: Nginx,
    kotlin: Service,
}

impl FrontLaunch {
    /// Puts both into place; from then on the service is reached through them.
    ///
    /// # Errors
    /// When the Kotlin service or nginx does not start.
    pub async fn start(
        &self,
        session: &Session<'_>,
        settings: &Settings,
        service: &mut Service,
    ) -> anyhow::Result<Front> {
        let kotlin = Service::start(session.workspace, &self.kotlin, settings)
            .await
            .map_err(|error| error.into_trouble())?;
        let nginx = Nginx::start(&self.configuration, kotlin.address(), service.address())
            .await
            .map_err(in_words)?;
        nginx.switch(STAGE).await.map_err(in_words)?;
        service.reach_through(nginx.address(), vec![nginx.pid(), kotlin.pid()]);
        Ok(Front { nginx, kotlin })
    }
}

impl Front {
    /// Stops both, nginx first: it has connections to the others.
    ///
    /// # Errors
    /// When Kotlin has answered instead of the service.
    pub async fn stop(self) -> anyhow::Result<()> {
        let by_kotlin = self.nginx.served_by(KOTLIN);
        drop(self.nginx);
        self.kotlin.stop().await;
        if by_kotlin == 0 {
            return Ok(());
        }
        let trouble = format!("invalid: nginx has sent {by_kotlin} requests back to Kotlin");
        Err(Trouble::new(trouble)
            .expected("every request answered by the service in Rust")
            .next("run it again on a quiet machine")
            .failed()
            .into())
    }
}

fn in_words(error: TestError) -> anyhow::Error {
    match error {
        TestError::CouldNotJudge(error) => error,
        TestError::Failed(failure) => anyhow::anyhow!("{failure}"),
    }
    .context("the service cannot be put behind nginx")
}
