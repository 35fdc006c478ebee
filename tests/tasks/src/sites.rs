//! Services that each have data of their own, and are asked for one thing after the other: each request is a load, and is warmed up for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;

use workshop_measure::protocol::block::{Block, Turn};
use workshop_measure::protocol::gates::{self, Stage};
use workshop_measure::protocol::load::{Reading, Seen};
use workshop_measure::protocol::session::Session;
use workshop_measure::protocol::subject::Subject;
use workshop_measure::protocol::warmup;
use workshop_measure::tools::oha::{Call, Load, Order};
use workshop_postgres::datasets::RunDatabase;
use workshop_results::file::BlockRecord;
use workshop_results::key::{At, Key, ROUND_TRIPS, THREADS, UNSTEADY};

/// What a service is asked again and again.
#[derive(Debug, Clone)]
pub struct SiteRequest {
    /// What it is called.
    pub at: At,
    /// The path, as a regular expression.
    pub path: String,
    /// The rest of it.
    pub call: Call,
    /// How requests are offered.
    pub load: Load,
    /// How long, at most.
    pub length: Duration,
    /// What is noted of the load, and the metric that it is a value of.
    pub readings: Vec<(Reading, Key)>,
}

/// Where a service has its data, and what it is asked.
pub struct MeasuredSite {
    /// Its database; one that uses none has an empty one.
    pub database: RunDatabase,
    /// The requests of a block, in their order.
    pub requests: Vec<SiteRequest>,
}

/// What was made in a service's database.
pub struct Made {
    /// What the service is asked.
    pub requests: Vec<SiteRequest>,
    /// How many round trips to the database a read takes, where they were counted.
    pub round_trips: Option<f64>,
}

/// Gives every service a database of its own, and has its data made there, through the service, and looked at; by its id.
pub async fn open(
    session: &Session<'_>,
    subjects: &mut [Subject],
    what: &str,
    make: impl AsyncFn(&Stage, &Subject) -> anyhow::Result<Made>,
) -> anyhow::Result<BTreeMap<String, MeasuredSite>> {
    let (mut sites, lab) = (BTreeMap::new(), session.lab);
    for subject in subjects {
        let id = subject.id().to_owned();
        session
            .progress
            .part(&format!("{id}: {what}, and the same work?"));
        let database = RunDatabase::durable(&lab.server).await?;
        subject.database_url = Some(database.url().to_owned());
        let on_stage = async |stages: &[Stage]| make(&stages[0], subject).await;
        let made = gates::on_stages(lab.workspace, [&*subject], database.url(), on_stage).await?;
        let round_trips = made.round_trips.map(|count| (ROUND_TRIPS, count));
        subject.constants.extend(round_trips);
        let requests = made.requests;
        sites.insert(id, MeasuredSite { database, requests });
    }
    Ok(sites)
}

/// Removes what was made.
pub async fn close(sites: BTreeMap<String, MeasuredSite>) -> anyhow::Result<()> {
    for site in sites.into_values() {
        site.database.remove().await?;
    }
    Ok(())
}

/// A file with what a request sends.
pub fn kept(folder: &Path, name: &str, text: &str) -> anyhow::Result<PathBuf> {
    let path = folder.join(name);
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

impl SiteRequest {
    /// The metrics that it speaks for.
    pub fn keys(&self) -> impl Iterator<Item = Key> {
        self.readings.iter().map(|(_, key)| key.at(self.at))
    }

    /// As a load.
    pub fn order(&self, session: &Session<'_>, base_url: &str) -> Order {
        Order {
            url: format!("{base_url}{}", self.path),
            header: session.header.clone(),
            call: self.call.clone(),
            connections: session.connections,
            duration: self.length,
            load: self.load,
        }
    }
}

/// A block of a service: warmed up with its first request, and then for each of the others. `watch` runs a load and says what was seen.
pub async fn block(
    session: &mut Session<'_>,
    turn: &Turn<'_>,
    site: &MeasuredSite,
    mut watch: impl AsyncFnMut(&Session<'_>, &Block<'_>, &Order, At) -> anyhow::Result<Seen>,
) -> anyhow::Result<BlockRecord> {
    let mut block = Block::start(session, turn).await?;
    let base_url = block.service().base_url().to_owned();
    let first = site.requests[0].order(session, &base_url);
    let keys = site.requests.iter().flat_map(SiteRequest::keys).collect();
    if block.warm_up(session, &first, keys).await? {
        for (place, request) in site.requests.iter().enumerate() {
            let (at, order) = (request.at, request.order(session, &base_url));
            if place > 0 {
                warm_up_again(session, &mut block, &order, at).await?;
            }
            block.phase(session, format!("{}, {}", at.words(), order.load));
            let seen = watch(session, &block, &order, at).await?;
            if seen.note(&order, &request.readings, Some(at), &mut block.observed) {
                block.observed.most(THREADS, seen.of(Reading::Threads));
            }
        }
        // What the writes have left behind is nothing for the next block.
        let mut connection = site.database.connect().await?;
        sqlx::query("VACUUM").execute(&mut connection).await?;
    }
    block.end(session).await
}

/// A JVM has compiled what it needs for the first request, and nothing of the others.
async fn warm_up_again(
    session: &Session<'_>,
    block: &mut Block<'_>,
    order: &Order,
    at: At,
) -> anyhow::Result<()> {
    block.phase(session, format!("warming up for {}", at.words()));
    let (runs_as, pids) = (block.subject().runs_as, block.service().pids());
    let limits = session.plan.short_warm_up_of(runs_as);
    // A warm-up that breaks a gate is followed by a load that does.
    let warmed_up = warmup::run(&session.oha, order, &pids, &limits).await?;
    let unsteady = warmed_up.is_ok_and(|warmed_up| warmed_up.steady_after_s.is_none());
    if unsteady && runs_as.compiles_under_load() {
        block.observed.value(UNSTEADY, Some(1.0));
    }
    Ok(())
}
