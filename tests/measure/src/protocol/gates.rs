//! The gate before a comparison: do the services do the same work?
//!
//! Two hundred records must come back byte for byte the same, failures as well, with the same pool size; how many round trips
//! to the database each side makes per read is counted at the socket and goes into the result.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::Duration;

use futures_util::future::join_all;
use rand::RngExt;

use crate::protocol::plan::POOL_SIZE;
use crate::protocol::subject::Subject;
use workshop_base::outcome::Trouble;
use workshop_base::wait;
use workshop_base::workspace::Workspace;
use workshop_harness::failure::Failure;
use workshop_harness::http::{Answer, Client};
use workshop_harness::proxy::DatabaseProxy;
use workshop_harness::service::{Service, Settings};
use workshop_postgres::datasets::DataSet;

/// Records that are compared.
const COMPARED: usize = 200;
/// Requests at the same time that must not open more connections than the pool allows.
const BURST: usize = 64;
/// How long a service may take from its first answer to its first record.
const READY_LIMIT: Duration = Duration::from_secs(15);
/// How many services are compared at a time: each of them opens a pool, and the database has so many connections.
const AT_ONCE: usize = 5;

/// What the gate found out about services that do the same work.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SameWork {
    /// Round trips to the database per read, by side id.
    pub round_trips: BTreeMap<String, f64>,
    /// Differences that are allowed, as sentences: they belong to the result.
    pub declared: Vec<String>,
}

/// One service behind its own database proxy.
pub struct Stage {
    /// The side's id.
    pub id: String,
    checks_keys: bool,
    /// Asks it, with the key.
    pub client: Client,
    proxy: DatabaseProxy,
    service: Service,
}

/// Compares the services with the first one, which is the oracle.
pub async fn same_work(
    workspace: &Workspace,
    subjects: &[Subject],
    database_url: &str,
    data_set: DataSet,
) -> anyhow::Result<SameWork> {
    let mut same = SameWork::default();
    let (oracle, others) = subjects.split_at(subjects.len().min(1));
    // One by itself is compared with nothing, but what it does is counted.
    let casts: Vec<&[Subject]> = match others {
        [] => vec![others],
        others => others.chunks(AT_ONCE - 1).collect(),
    };
    for cast in casts {
        let cast = oracle.iter().chain(cast);
        let judge = async |stages: &[Stage]| judge(stages, data_set, &mut same).await;
        on_stages(workspace, cast, database_url, judge).await?;
    }
    same.declared.sort();
    same.declared.dedup();
    // Where none of them checks keys, they don't differ in that.
    if same.declared.len() == subjects.len() {
        same.declared.clear();
    }
    let words = round_trips_in_words(&same.round_trips);
    same.declared.extend(words);
    Ok(same)
}

/// Starts the services, each behind a proxy of its own, and stops them whatever comes of it.
pub async fn on_stages<T>(
    workspace: &Workspace,
    subjects: impl IntoIterator<Item = &Subject>,
    database_url: &str,
    judge: impl AsyncFnOnce(&[Stage]) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let mut stages = Vec::new();
    for subject in subjects {
        let proxy = DatabaseProxy::start(database_url).await?;
        let settings = Settings {
            pool_size: POOL_SIZE,
            ..Settings::new(proxy.url())
        };
        let service = Service::start(workspace, &subject.launch, &settings).await?;
        let key = settings.api_keys.first().map(String::as_str);
        stages.push(Stage {
            id: subject.id().to_owned(),
            checks_keys: subject.checks_keys,
            proxy,
            client: Client::new(service.base_url(), key)?,
            service,
        });
    }
    let verdict = judge(&stages).await;
    join_all(stages.into_iter().map(|stage| {
        // The client's idle connections go first: a graceful shutdown waits for connections.
        drop(stage.client);
        stage.service.stop()
    }))
    .await;
    verdict
}

/// Services that do different work, as an error for people.
pub fn not_the_same(suspect: &str, reason: impl Display) -> anyhow::Error {
    Trouble::new(format!("invalid: {reason}"))
        .expected("services that do the same work; nothing else can be compared")
        .next(format!("just check {suspect}"))
        .failed()
        .into()
}

async fn judge(stages: &[Stage], data_set: DataSet, same: &mut SameWork) -> anyhow::Result<()> {
    for stage in stages {
        stage.is_ready("/read/1").await?;
    }
    let ids = random_ids(data_set);
    for id in &ids {
        same_answers(stages, &format!("/read/{id}")).await?;
    }
    let beyond = format!("/read/{}", data_set.rows() + 1);
    for path in [beyond.as_str(), "/read/x", "/health"] {
        same_answers(stages, path).await?;
    }
    for stage in stages {
        same.declared.extend(stage.lacks_keys().await?);
        let reads = async || {
            for id in &ids {
                stage.read(*id).await?;
            }
            Ok(())
        };
        let round_trips = stage.round_trips(ids.len(), reads).await?;
        same.round_trips.insert(stage.id.clone(), round_trips);
        stage.keeps_to_its_pool(&ids).await?;
    }
    Ok(())
}

/// A service answers before its pool has connections; what is compared comes after that.
pub async fn await_200(client: &Client, path: &str) -> Result<(), String> {
    let ask = async || match client.get(path).await {
        Ok(answer) if answer.status() == 200 => Ok(()),
        Ok(answer) => Err(format!("status {}", answer.status())),
        Err(failure) => Err(failure.actual),
    };
    let last = wait::last_within(READY_LIMIT, ask, Result::is_ok).await;
    last.map_err(|said| {
        let limit = READY_LIMIT.as_secs();
        format!("has not answered GET {path} with 200 within {limit} s: {said}")
    })
}

/// Ids of records, so many as are compared.
pub fn random_ids(data_set: DataSet) -> Vec<u32> {
    let mut random = rand::rng();
    (0..COMPARED)
        .map(|_| random.random_range(1..=data_set.rows()))
        .collect()
}

/// The answers of all of them to a path.
pub async fn ask_all(stages: &[Stage], path: &str) -> anyhow::Result<Vec<Answer>> {
    let answers = join_all(stages.iter().map(|stage| stage.get(path))).await;
    answers.into_iter().collect()
}

/// Compares all answers to a path with the first service's.
pub async fn same_answers(stages: &[Stage], path: &str) -> anyhow::Result<()> {
    let answers = ask_all(stages, path).await?;
    let oracle = &answers[0];
    for (stage, answer) in stages.iter().zip(&answers) {
        if answer.status() != oracle.status() || answer.body() != oracle.body() {
            let (first, id) = (&stages[0].id, &stage.id);
            let (oracle, answer) = (shown(oracle), shown(answer));
            let reason = format!(
                "they do not do the same work: to {path}, {first} answered {oracle}, but {id} answered {answer}"
            );
            return Err(not_the_same(id, reason));
        }
    }
    Ok(())
}

fn shown(answer: &Answer) -> String {
    let body = String::from_utf8_lossy(answer.body());
    let beginning: String = body.chars().take(160).collect();
    format!("{} {beginning}", answer.status())
}

impl Stage {
    /// What it does that the others don't, as an error for people.
    fn is_wrong(&self, does: impl Display) -> anyhow::Error {
        not_the_same(&self.id, format!("{} {does}", self.id))
    }

    fn answered(&self, answer: Result<Answer, Failure>, path: &str) -> anyhow::Result<Answer> {
        answer.map_err(|failure| {
            let said = failure.actual;
            self.is_wrong(format!("did not answer {path}: {said}"))
        })
    }

    async fn get(&self, path: &str) -> anyhow::Result<Answer> {
        self.answered(self.client.get(path).await, path)
    }

    async fn read(&self, id: u32) -> anyhow::Result<()> {
        let path = format!("/read/{id}");
        match self.get(&path).await?.status() {
            200 => Ok(()),
            other => Err(self.is_wrong(format!("answered status {other} to {path}, not 200"))),
        }
    }

    /// Waits until the service answers this path with 200.
    pub async fn is_ready(&self, path: &str) -> anyhow::Result<()> {
        let answered = await_200(&self.client, path).await;
        answered.map_err(|reason| self.is_wrong(reason))
    }

    /// The difference that is allowed: an early port has no keys yet.
    async fn lacks_keys(&self) -> anyhow::Result<Option<String>> {
        let answer = self.client.without_key().get("/read/1").await;
        match self.answered(answer, "/read/1")?.status() {
            401 => Ok(None),
            200 if !self.checks_keys => Ok(Some(format!(
                "{} does not check the key yet (a later exercise adds that), so it does a little less work",
                self.id
            ))),
            other => Err(self.is_wrong(format!("answered {other} without a key, not 401"))),
        }
    }

    /// Round trips to the database per read, of so many reads.
    pub async fn round_trips(
        &self,
        count: usize,
        reads: impl AsyncFnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<f64> {
        let before = self.proxy.round_trips();
        reads().await?;
        let per_read = (self.proxy.round_trips() - before) as f64 / count as f64;
        if per_read < 0.99 {
            return Err(self.is_wrong(format!(
                "made {per_read:.2} round trips to the database per read: it answers from somewhere else"
            )));
        }
        Ok(per_read)
    }

    async fn keeps_to_its_pool(&self, ids: &[u32]) -> anyhow::Result<()> {
        let reads = ids
            .iter()
            .take(BURST)
            .map(async |id| self.get(&format!("/read/{id}")).await);
        for answer in join_all(reads).await {
            let status = answer?.status();
            if status != 200 {
                let does = format!("answered {status} when {BURST} reads came at once");
                return Err(self.is_wrong(does));
            }
        }
        let most = self.proxy.most_open();
        if most > usize::from(POOL_SIZE) {
            return Err(self.is_wrong(format!(
                "opened {most} connections to the database; its pool was given {POOL_SIZE}"
            )));
        }
        Ok(())
    }
}

fn round_trips_in_words(round_trips: &BTreeMap<String, f64>) -> Option<String> {
    let least = round_trips.values().copied().reduce(f64::min)?;
    let most = round_trips.values().copied().reduce(f64::max)?;
    let counts = round_trips
        .iter()
        .map(|(side, count)| format!("{side} {count:.2}"));
    let counts: Vec<String> = counts.collect();
    (most - least > 0.05).then(|| {
        format!(
            "round trips to the database per read differ: {}",
            counts.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_that_differ_are_declared() {
        let same = BTreeMap::from([("kotlin".to_owned(), 2.0), ("exercise-3".to_owned(), 2.01)]);
        assert_eq!(round_trips_in_words(&same), None);
        let different =
            BTreeMap::from([("kotlin".to_owned(), 2.0), ("exercise-3".to_owned(), 1.0)]);
        let words = round_trips_in_words(&different).unwrap();
        assert_eq!(
            words,
            "round trips to the database per read differ: exercise-3 1.00, kotlin 2.00"
        );
    }
}
