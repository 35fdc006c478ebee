//! nginx in front of a service that has one route, and the Kotlin service beside it for all others.

use std::path::Path;

use crate::build::Launch;
use crate::nginx::Nginx;
use crate::service::{Service, Settings};
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;
use workshop_requests::failure::TestError;

/// What runs in front of a service, and beside it.
pub struct Front {
    pub nginx: Nginx,
    /// The service that has all other routes.
    pub kotlin: Service,
}

impl Front {
    /// Puts both around a service, with nginx at its first stage.
    pub async fn start(
        workspace: &Workspace,
        configuration: &Path,
        kotlin: &Launch,
        settings: &Settings,
        rust: &Service,
    ) -> anyhow::Result<Front> {
        let kotlin = Service::start(workspace, kotlin, settings).await?;
        let nginx = Nginx::start(configuration, kotlin.address(), rust.address())
            .await
            .map_err(|error| in_words(error, rust))?;
        Ok(Front { nginx, kotlin })
    }

    /// Takes nginx to another stage.
    pub async fn switch(&self, stage: &str, rust: &Service) -> anyhow::Result<()> {
        let switched = self.nginx.switch(stage).await;
        switched.map_err(|error| in_words(error, rust))?;
        Ok(())
    }

    /// Stops both, nginx first: it has connections to the others.
    pub async fn stop(self) {
        drop(self.nginx);
        self.kotlin.stop().await;
    }
}

/// What nginx refuses is the learner's to fix.
pub fn in_words(error: TestError, rust: &Service) -> anyhow::Error {
    match error {
        TestError::CouldNotJudge(error) => error,
        TestError::Failed(failure) => Trouble::new(failure.to_string())
            .next(format!("just check {}", rust.label()))
            .failed()
            .into(),
    }
}
