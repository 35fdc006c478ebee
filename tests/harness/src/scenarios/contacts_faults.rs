//! A service with address books whose database goes away, and which is killed. The tests do that themselves, one after the other,
//! and leave it as they have found it.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::sync::Mutex;
use workshop_base::workspace::Workspace;

use super::outage::settled;
use super::{Context, Place, Played, Scenario, When, status_of};
use crate::build::launch::Launch;
use crate::scenarios::ContractTest;
use crate::service::Service;
use workshop_requests::failure::{Failure, TestError};
use workshop_requests::http::Client;

pub use super::asked as test;

/// `DATABASE_TIMEOUT_MS`: short, since a learner waits for it.
const TIMEOUT: Duration = Duration::from_millis(400);

pub static SCENARIO: Scenario = Scenario {
    of_the_contract: false,
    ..Scenario::new("contacts_faults", When::Brief, 2, |place, tests| {
        Box::pin(play(place, tests))
    })
};

async fn play(place: &Place<'_>, tests: &[&ContractTest]) -> anyhow::Result<Played> {
    let stage = place.stage(TIMEOUT).await?;
    let faults = Faults {
        client: stage.client.clone(),
        workspace: place.workspace.clone(),
        launch: place.launch.clone(),
        stage: Mutex::new(stage),
    };
    let mut statuses = Vec::new();
    for test in tests {
        faults.stage.lock().await.service.begin_log();
        let result = (test.judge)(&faults).await;
        let stage = faults.stage.lock().await;
        statuses.push(status_of(test, result, || stage.log_tail())?);
    }
    Ok(faults.stage.into_inner().leaves_with(statuses))
}

/// The context of such a test.
pub struct Faults {
    /// Sends requests to the service, which stays at its address.
    pub client: Client,
    workspace: Workspace,
    launch: Launch,
    stage: Mutex<Context>,
}

impl Faults {
    /// Takes the database away.
    pub async fn cut(&self) {
        self.stage.lock().await.proxy.cut().await;
    }

    /// Gives the database back.
    pub async fn restore(&self) {
        self.stage.lock().await.proxy.restore().await;
    }

    /// Closes all connections, and allows no more than this many from now on.
    pub async fn give_only(&self, most: usize) {
        let stage = self.stage.lock().await;
        stage.proxy.cut().await;
        stage.proxy.allow(most);
        stage.proxy.restore().await;
    }

    /// Allows any number of connections again.
    pub async fn give_all(&self) {
        self.stage.lock().await.proxy.allow(usize::MAX);
    }

    /// How many connections to the database were refused so far.
    pub async fn refused(&self) -> usize {
        self.stage.lock().await.proxy.refused()
    }

    /// How many connections the service may have.
    pub async fn pool_size(&self) -> usize {
        self.stage.lock().await.pool_size()
    }

    /// Kills the service and starts it again, at the same address and on the same database, and waits until it is ready.
    pub async fn kill_and_start(&self) -> Result<(), Failure> {
        self.kill_and_begin().await?;
        settled(&self.client, "/ready").await.map(drop)
    }

    /// Kills the service and starts it again, without waiting.
    pub async fn kill_and_begin(&self) -> Result<(), Failure> {
        let mut stage = self.stage.lock().await;
        let (address, settings) = (stage.service.address(), stage.settings.clone());
        stage.service.kill();
        let started = Service::start_at(&self.workspace, &self.launch, &settings, address).await;
        stage.service = started.map_err(|error| {
            let expected = "a service that starts again after it was killed";
            Failure::new(expected, error.to_string())
        })?;
        Ok(())
    }

    /// Changes the schema, as a later release would.
    pub async fn alter(&self, sql: &'static str) -> Result<(), TestError> {
        let stage = self.stage.lock().await;
        let mut database = stage.database.lock().await;
        sqlx::raw_sql(sql).execute(&mut *database).await?;
        Ok(())
    }

    /// Where the service listens.
    pub async fn address(&self) -> SocketAddr {
        self.stage.lock().await.service.address()
    }
}
