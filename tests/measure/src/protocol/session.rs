//! A session: what all blocks of a measurement share.

use std::time::Duration;

use crate::protocol::ids;
use crate::protocol::lab::Lab;
use crate::protocol::neighbors::Neighbors;
use crate::protocol::plan::{CONNECTIONS, DUET_RATE, Plan, TIMEOUT};
use crate::protocol::progress::Progress;
use crate::tools::database::Watch;
use crate::tools::oha::{Call, Load, Oha, Order};
use workshop_base::workspace::Workspace;
use workshop_harness::service::{PriceSettings, Service, Settings};
use workshop_postgres::datasets::DataSet;

/// What blocks need.
pub struct Session<'a> {
    /// The checkout.
    pub workspace: &'a Workspace,
    /// The load generator.
    pub oha: Oha,
    /// How much of everything.
    pub plan: Plan,
    /// The database that all sides read from.
    pub database_url: String,
    /// `DATABASE_TIMEOUT_MS` of the services.
    pub timeout: Duration,
    /// What the services are told about the service of prices, where there is one.
    pub prices: Option<PriceSettings>,
    /// What is in the database.
    pub data_set: DataSet,
    /// The database's own statistics, where it keeps them.
    pub statements: Option<Watch>,
    /// The database's connections, where they are counted.
    pub activity: Option<Watch>,
    /// The header by which requests are let in.
    pub header: String,
    /// The most that each side of a duet is offered, in requests per second.
    pub duet_rate: f64,
    /// What else the machine did.
    pub neighbors: Neighbors,
    /// Where it is.
    pub progress: Progress,
}

impl<'a> Session<'a> {
    /// One that reads the lab's data set, as most measurements do.
    pub fn new(lab: &Lab<'a>, plan: Plan, progress: Progress) -> Self {
        Session {
            workspace: lab.workspace,
            oha: Oha::of(lab.workspace),
            plan,
            database_url: lab.database_url.clone(),
            timeout: TIMEOUT,
            prices: None,
            data_set: lab.seeded.set,
            statements: None,
            activity: None,
            header: header(&key()),
            duet_rate: DUET_RATE,
            neighbors: Neighbors::default(),
            progress,
        }
    }

    /// The database's execution time so far, where it is known.
    pub async fn database_time(&mut self) -> Option<Duration> {
        self.statements.as_mut()?.execution_time().await
    }

    /// The path of random records, as a regular expression.
    pub fn records(&self) -> String {
        format!("/read/{}", ids::of(self.data_set).pattern)
    }

    /// A load on random paths, which this regular expression describes.
    pub fn order(&self, path: &str, service: &Service, duration: Duration, load: Load) -> Order {
        Order {
            url: format!("{}{path}", service.base_url()),
            header: self.header.clone(),
            call: Call::default(),
            connections: CONNECTIONS,
            duration,
            load,
        }
    }
}

/// The key that services are asked with.
pub fn key() -> String {
    Settings::new("").api_keys.swap_remove(0)
}

/// The header that brings this key.
pub fn header(key: &str) -> String {
    format!("X-API-Key: {key}")
}
