//! A service with more records than fit between the database and a client that takes none. The tests run one after the other on
//! it.

use std::time::Duration;

use super::{Context, Place, Scenario, When};
use workshop_postgres::Provider;

pub use super::asked as test;

/// `DATABASE_TIMEOUT_MS`: tests wait for it, and each export opens a connection and comes to its first record in that time, on a
/// slow machine too.
pub const TIMEOUT: Duration = Duration::from_millis(1500);
/// Adds records of 4 KiB each, 24 MiB in all: more than sockets and buffers hold between a database and a client. Stored they are
/// small, since PostgreSQL compresses them.
pub const MANY_RECORDS: &str = "\
    INSERT INTO records (id, value, odd, divisible_by_3) \
    SELECT id, repeat(md5(id::text), 128), id % 2 = 1, id % 3 = 0 \
    FROM generate_series((SELECT max(id) + 1 FROM records), (SELECT max(id) + 6144 FROM records)) AS id";

/// How many times as many there are in a container: Docker's own proxy takes up to 36 MiB ahead.
const IN_DOCKER: usize = 3;

pub static SCENARIO: Scenario = Scenario::new("large", When::Waiting, |place, tests| {
    Box::pin(async { stage(place, TIMEOUT).await?.ask(tests).await })
});

/// A service with that many records.
pub async fn stage(place: &Place<'_>, timeout: Duration) -> anyhow::Result<Context> {
    let stage = place.stage(timeout).await?;
    let mut database = stage.database.lock().await;
    let rounds = match place.server.provider() {
        Provider::Docker => IN_DOCKER,
        _ => 1,
    };
    for _ in 0..rounds {
        sqlx::query(MANY_RECORDS).execute(&mut *database).await?;
    }
    drop(database);
    Ok(stage)
}
