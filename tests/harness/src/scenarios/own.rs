//! For tests that start the service their own way: with another program or library below it, or with a crate that fails.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use workshop_base::scratch;
use workshop_base::target::Target;
use workshop_base::workspace::Workspace;
use workshop_postgres::datasets::RunDatabase;

use super::{LOG_LINES, Place, Played, Scenario, When, status_of};
use crate::build::copies::Copy;
use crate::build::launch::{BuildError, Launch, Profile};
use crate::build::{self, nginx};
use crate::scenarios::ContractTest;
use crate::service::{Service, Settings};
use workshop_requests::failure::{Failure, TestError};
use workshop_requests::http::Client;

pub use super::asked as test;

pub static SCENARIO: Scenario = Scenario {
    of_the_contract: false,
    ..Scenario::new("own", When::Waiting, 10, |place, tests| {
        Box::pin(play(place, tests))
    })
};

async fn play(place: &Place<'_>, tests: &[&ContractTest]) -> anyhow::Result<Played> {
    let database = RunDatabase::create(place.server).await?;
    let bench = Workbench {
        workspace: place.workspace.clone(),
        launch: place.launch.clone(),
        settings: Settings::new(database.url()),
        // Scripts in it are run, which a system may not allow in its folder for temporary files.
        folder: scratch::folder_in_checkout(place.workspace, "own")?,
        services: Mutex::default(),
        redrawn: tokio::sync::Mutex::default(),
    };
    let mut statuses = Vec::new();
    for test in tests {
        for (_, own) in bench.services().iter() {
            own.process.begin_log();
        }
        let result = (test.judge)(&bench).await;
        statuses.push(status_of(test, result, || bench.log_tail())?);
    }
    Ok(Played {
        statuses,
        leaving: Vec::new(),
    })
}

/// The given file of every crate of the ladder that draws the code.
const DRAWING: &str = "src/qr.rs";

/// The context of such a test.
pub struct Workbench {
    workspace: Workspace,
    launch: Launch,
    settings: Settings,
    folder: scratch::Folder,
    /// The started services, the most recently used one at the end.
    services: Mutex<Vec<(Launch, Arc<OwnService>)>>,
    /// What was built with another drawing, by that drawing. A copy stays where its services run.
    redrawn: tokio::sync::Mutex<Vec<(String, Copy, Launch)>>,
}

/// A service that a test has started, with a client for it.
pub struct OwnService {
    /// Sends requests without a key: `/qrcode` needs none.
    pub client: Client,
    pub process: Service,
}

impl Workbench {
    /// A folder for a test's own files; it is removed with the workbench.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The build result of the crate: the program, the module or the library.
    pub fn part(&self) -> anyhow::Result<&Path> {
        let part = self.launch.parts.first();
        Ok(part.context("this target has no part of its own")?)
    }

    /// The nginx configuration that comes with the crate.
    pub fn nginx_configuration(&self) -> PathBuf {
        self.launch.directory.join(nginx::FOLDER)
    }

    /// The Kotlin service. Later calls get the same one.
    pub async fn kotlin(&self) -> Result<Arc<OwnService>, TestError> {
        let launch = build::build(&self.workspace, Target::Kotlin, Profile::Check).await;
        let launch = launch.map_err(anyhow::Error::new)?;
        self.started(&launch, &[]).await
    }

    /// The target, started with these variables on top of its own. Later calls with the same variables get the same service.
    pub async fn service(&self, env: &[(&str, &str)]) -> Result<Arc<OwnService>, TestError> {
        self.started(&self.launch, env).await
    }

    /// The target with another `src/qr.rs` in its crate, built and started with these variables. This plants a fault, and needs
    /// no switch in any crate.
    pub async fn service_with_drawing(
        &self,
        drawing: &str,
        env: &[(&str, &str)],
    ) -> Result<Arc<OwnService>, TestError> {
        let launch = self.launch_with_drawing(drawing).await?;
        self.started(&launch, env).await
    }

    async fn launch_with_drawing(&self, drawing: &str) -> Result<Launch, TestError> {
        let mut redrawn = self.redrawn.lock().await;
        if let Some((_, _, launch)) = redrawn.iter().find(|(built, ..)| built == drawing) {
            return Ok(launch.clone());
        }
        let package = format!("{}-with-fault-{}", self.launch.label, redrawn.len() + 1);
        let (member, folder) = (&self.launch.member, &self.launch.directory);
        let copy = Copy::in_place_of(member, &self.workspace, folder, &package, None).await?;
        copy.replace(DRAWING, drawing)?;
        let launch = build::launch(
            &self.workspace,
            self.launch.calls,
            copy.krate(),
            Profile::Check,
        )
        .await;
        let launch = launch.map_err(|error| match error {
            BuildError::DoesNotCompile { .. } => TestError::Failed(Failure::new(
                format!("a crate that calls qr::png of {DRAWING}, and nothing else in it"),
                "with another drawing in its place it does not compile; see the compiler's messages above",
            )),
            BuildError::CouldNotBuild(error) => TestError::CouldNotJudge(error),
        })?;
        redrawn.push((drawing.to_owned(), copy, launch.clone()));
        Ok(launch)
    }

    async fn started(
        &self,
        launch: &Launch,
        env: &[(&str, &str)],
    ) -> Result<Arc<OwnService>, TestError> {
        let mut launch = launch.clone();
        let env = env
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()));
        launch.env.extend(env);
        if let Some(service) = self.again(&launch) {
            return Ok(service);
        }
        let process = Service::start(&self.workspace, &launch, &self.settings)
            .await
            .map_err(|error| {
                let expected =
                    "a service that starts and answers GET /health, whatever is below it";
                Failure::new(expected, error.to_string())
            })?;
        let client = Client::new(process.base_url(), None)?;
        let service = Arc::new(OwnService { client, process });
        self.services().push((launch, Arc::clone(&service)));
        Ok(service)
    }

    fn again(&self, launch: &Launch) -> Option<Arc<OwnService>> {
        let mut services = self.services();
        let place = services.iter().position(|(started, _)| started == launch)?;
        let found = services.remove(place);
        let service = Arc::clone(&found.1);
        services.push(found);
        Some(service)
    }

    /// The last lines in the log of the most recently used service.
    fn log_tail(&self) -> String {
        let services = self.services();
        let last = services.last();
        last.map_or_else(String::new, |(_, last)| last.process.log_tail(LOG_LINES))
    }

    fn services(&self) -> std::sync::MutexGuard<'_, Vec<(Launch, Arc<OwnService>)>> {
        self.services.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
