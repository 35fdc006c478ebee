//! A service to be tried: the Kotlin one or the newest reference, with a database of its own and the same records in it.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context;
use workshop_base::exercise::Catalogue;
use workshop_base::target::Target;
use workshop_base::workspace::Workspace;
use workshop_harness::build::{self, Launch, Profile};
use workshop_harness::http::Client;
use workshop_harness::outage::settled;
use workshop_harness::service::{PriceSettings, Service, Settings};
use workshop_harness::upstream::{Conduct, Upstream};
use workshop_postgres::Server;
use workshop_postgres::datasets::{MANY_RECORDS, RunDatabase};

use super::ingredients::KEYS;

/// Every time limit of the services: nothing here should come near it.
const TIMEOUT: Duration = Duration::from_secs(5);
/// A small heap that the JVM takes at once. How much of a heap holds objects is policy; what leaks beside it then shows in the
/// size of the process, and what leaks into it ends in an `OutOfMemoryError`.
const SMALL_HEAP: &str = "-Xms128m -Xmx128m -XX:+AlwaysPreTouch";

/// Leaves few records, those that the generator knows, so that exports are quick.
pub const FEW_RECORDS: &[&str] = &["DELETE FROM records WHERE id > 1200"];
/// Adds far more than sockets and buffers hold between a service and a client.
pub const ADDED_RECORDS: &[&str] = &[MANY_RECORDS; 3];
/// Leaves the records as they are, none of them visited.
pub const NO_VISITS: &[&str] = &["UPDATE records SET visited = false WHERE visited"];

/// A running service and its database.
pub struct Site {
    pub service: Service,
    pub client: Client,
    pub address: SocketAddr,
    database: RunDatabase,
    /// Answers while the service asks it.
    _upstream: Upstream,
}

impl Site {
    /// Starts this target on a copy of the records, changed by these statements.
    pub async fn start(
        workspace: &Workspace,
        target: Target,
        statements: &'static [&'static str],
    ) -> anyhow::Result<Site> {
        let mut launch: Launch = build::build(workspace, target, Profile::Check).await?;
        launch
            .env
            .push(("JDK_JAVA_OPTIONS".to_owned(), SMALL_HEAP.to_owned()));
        let server = Server::ensure(workspace).await?;
        let database = RunDatabase::create(&server).await?;
        let mut connection = database.connect().await?;
        for statement in statements {
            sqlx::query(*statement).execute(&mut connection).await?;
        }
        let upstream = Upstream::start(Conduct::WELL).await?;
        let settings = Settings {
            prices: Some(PriceSettings {
                wait: TIMEOUT,
                timeout: TIMEOUT,
                deadline: TIMEOUT,
                ..PriceSettings::new(upstream.url())
            }),
            timeout: TIMEOUT,
            api_keys: KEYS.map(str::to_owned).into(),
            ..Settings::new(database.url())
        };
        let service = Service::start(workspace, &launch, &settings).await?;
        let client = Client::new(service.base_url(), Some(KEYS[0]))?;
        settled(&client, "/ready")
            .await
            .map_err(anyhow::Error::msg)?;
        let address = service.base_url().trim_start_matches("http://");
        let address = address.parse().context("no address")?;
        Ok(Site {
            service,
            client,
            address,
            database,
            _upstream: upstream,
        })
    }

    /// The ids of the records that are stored as visited, in their order.
    pub async fn visited(&self) -> anyhow::Result<Vec<i32>> {
        let mut connection = self.database.connect().await?;
        let visited = sqlx::query_scalar("SELECT id FROM records WHERE visited ORDER BY id");
        Ok(visited.fetch_all(&mut connection).await?)
    }

    /// Stops the service and removes its database.
    pub async fn stop(self) -> anyhow::Result<()> {
        self.service.stop().await;
        self.database.remove().await
    }
}

/// The last state of the port: the newest reference that does everything which was shipped.
pub fn newest_reference(workspace: &Workspace) -> anyhow::Result<Target> {
    let catalogue = Catalogue::read(workspace)?;
    let shipped = catalogue
        .iter()
        .filter(|exercise| catalogue.suites_for(exercise).contains(&"ship-it"));
    let newest = shipped.map(|exercise| exercise.number).max();
    Ok(Target::Solution(newest.context("there is no reference")?))
}
