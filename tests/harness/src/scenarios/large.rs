//! A service with more records than the buffers between the database and an idle client can hold. The tests run one after the other on
//! it.

use std::time::Duration;

use workshop_postgres::datasets::RunDatabase;

use super::stage::settings;
use super::{Context, Place, Scenario, When};

pub use super::asked as test;

/// `DATABASE_TIMEOUT_MS`: tests wait for it, and each export opens a connection and comes to its first record in that time, on a
/// slow machine too.
pub const TIMEOUT: Duration = Duration::from_millis(1500);

pub static SCENARIO: Scenario = Scenario::new("large", When::Waiting, 6, |place, tests| {
    Box::pin(async { stage(place, TIMEOUT).await?.ask(tests).await })
});

/// A service with that many records.
pub async fn stage(place: &Place<'_>, timeout: Duration) -> anyhow::Result<Context> {
    let database = RunDatabase::large(place.server).await?;
    place.stage_on(database, settings(timeout)).await
}
