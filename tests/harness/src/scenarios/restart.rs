//! One restart of the database, watched: its sessions end and its port refuses connections while reads come in, and it is back
//! while they still do.

use std::time::Duration;

use futures_util::future::join_all;
use sqlx::Executor;

use super::outage::works;
use super::silence::{ANSWER_LIMIT_IN_TROUBLE, Answers, SHORT_TIMEOUT, asking_during};
use super::{Context, Scenario, When};
use crate::service::proxy::DatabaseProxy;
use workshop_base::{process, wait};
use workshop_requests::failure::Failure;
use workshop_requests::http::{Answer, Client};

pub use super::judged as test;

/// How many clients read at the same time: more than the pool has connections, so that some wait for one.
const READERS: usize = 8;
/// The maximum time after the database's return until every reader has a record again.
pub const RECOVERY_LIMIT: Duration = Duration::from_secs(8);
/// The maximum time for a service to release the resources that the outage has cost it.
const RELEASE_LIMIT: Duration = Duration::from_secs(5);

pub static SCENARIO: Scenario = Scenario::new("restart", When::Waiting, 2, |place, tests| {
    Box::pin(place.watched(SHORT_TIMEOUT, Restart::watch, tests))
});

/// Ends all sessions in the database except its own.
pub const END_ITS_SESSIONS: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid()";

/// Ends the service's sessions like a stopping server, and then is away: the proxy's port refuses connections.
async fn stop_the_database(stage: &Context) -> sqlx::Result<()> {
    let mut database = stage.database.lock().await;
    database.execute(END_ITS_SESSIONS).await?;
    stage.proxy.cut().await;
    Ok(())
}

/// The resources that a process holds; `None` without a `/proc`.
#[derive(Debug, Clone, Copy)]
pub struct Footprint {
    /// Open files and sockets, without the connections to the database: a pool opens these as it needs them.
    pub files: usize,
    pub threads: usize,
}

impl Footprint {
    fn of(pid: u32, proxy: &DatabaseProxy) -> Option<Footprint> {
        Some(Footprint {
            files: process::open_files(pid)?.saturating_sub(proxy.open()),
            threads: process::threads(pid)?,
        })
    }
}

/// The behavior of a service while its database was restarted.
#[derive(Debug)]
pub struct Restart {
    /// Reads while the database stopped and while it started: some of them could still, or already, succeed.
    pub at_the_edges: Answers,
    /// Reads that were sent while the database was stopped.
    pub while_stopped: Answers,
    /// The first answer with a record, or else the last one within [`RECOVERY_LIMIT`] of the database's return; one per reader.
    pub after: Answers,
    /// The connections to the database that were open in the end.
    pub connections: usize,
    /// How many the service may have.
    pub pool_size: usize,
    /// The resources that the service held before.
    pub before: Option<Footprint>,
    /// The resources that it holds afterwards.
    pub afterwards: Option<Footprint>,
}

impl Restart {
    async fn watch(stage: &Context) -> sqlx::Result<Restart> {
        let client = &stage.client.within(ANSWER_LIMIT_IN_TROUBLE);
        let (proxy, pid) = (&stage.proxy, stage.service.pid());
        let pool_size = stage.pool_size();
        // The service has used the whole of its pool before, as it would have in production.
        readers(async || read_until_it_works(client).await).await;
        let before = Footprint::of(pid, proxy);

        let reading = async |_: usize| read(client).await;
        let (stopped, mut at_the_edges) =
            asking_during(READERS, &reading, stop_the_database(stage)).await;
        stopped?;
        let while_stopped = readers(async || read(client).await).await;
        let ((), answers) = asking_during(READERS, reading, proxy.restore()).await;
        at_the_edges.extend(answers);
        let after = readers(async || read_until_it_works(client).await).await;

        let footprint = async || Footprint::of(pid, proxy);
        let released = |now: &Option<Footprint>| {
            let more_files = now
                .zip(before)
                .is_some_and(|(now, before)| now.files > before.files);
            proxy.open() <= pool_size && !more_files
        };
        let afterwards = wait::last_within(RELEASE_LIMIT, footprint, released).await;
        Ok(Restart {
            at_the_edges,
            while_stopped,
            after,
            connections: proxy.open(),
            pool_size,
            before,
            afterwards,
        })
    }
}

/// The results of all readers.
async fn readers<T>(reader: impl AsyncFn() -> T) -> Vec<T> {
    join_all((0..READERS).map(|_| reader())).await
}

async fn read(client: &Client) -> Result<Answer, Failure> {
    client.get("/read/1").await
}

/// Reads again until there is a record, at most until the limit.
async fn read_until_it_works(client: &Client) -> Result<Answer, Failure> {
    wait::last_within(RECOVERY_LIMIT, async || read(client).await, works).await
}
