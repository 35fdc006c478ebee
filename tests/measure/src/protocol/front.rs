//! A service measured through nginx, with the Kotlin service beside it for all other routes.

use std::path::PathBuf;

use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;
use workshop_harness::build::Launch;
use workshop_harness::front::Front;
use workshop_harness::service::{Service, Settings};

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

impl FrontLaunch {
    /// Puts both into place; from then on the service is reached through them.
    pub async fn start(
        &self,
        workspace: &Workspace,
        settings: &Settings,
        service: &mut Service,
    ) -> anyhow::Result<Front> {
        let kotlin = &self.kotlin;
        let front = Front::start(workspace, &self.configuration, kotlin, settings, service).await?;
        front.switch(STAGE, service).await?;
        service.reach_through(
            front.nginx.address(),
            vec![front.nginx.pid(), front.kotlin.pid()],
        );
        Ok(front)
    }
}

/// Stops what is in front of a service, where something is. An error when Kotlin has answered instead of the service.
pub async fn stop(front: Option<Front>) -> anyhow::Result<()> {
    let Some(front) = front else {
        return Ok(());
    };
    let by_kotlin = front.nginx.served_by(KOTLIN);
    front.stop().await;
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
