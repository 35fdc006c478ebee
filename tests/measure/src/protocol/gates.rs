//! The gate before a comparison: do both services do the same work?
//!
//! Two hundred records must come back byte for byte the same, failures as well, with the same pool size; how many round trips
//! to the database each side makes per read is counted at the socket and goes into the result.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use rand::RngExt;

use crate::protocol::plan::POOL_SIZE;
use crate::protocol::subject::Subject;
use workshop_base::workspace::Workspace;
use workshop_harness::http::{Answer, Client};
use workshop_harness::proxy::DatabaseProxy;
use workshop_harness::service::{Service, Settings};
use workshop_postgres::datasets::DataSet;

/// Records that are compared.
const COMPARED: usize = 200;
/// Reads over which round trips are counted.
const COUNTED: usize = 100;
/// Requests at the same time that must not open more connections than the pool allows.
const BURST: usize = 64;
/// How long a service may take from its first answer to its first record.
const READY_LIMIT: Duration = Duration::from_secs(15);
/// The exercise from which on a port checks keys.
const KEYS_FROM: u8 = 4;

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
    pub id: String,
    proxy: DatabaseProxy,
    service: Service,
    client: Client,
}

/// Holds the services against the first one, which is the oracle.
pub async fn same_work(
    workspace: &Workspace,
    subjects: &[&Subject],
    database_url: &str,
    data_set: DataSet,
    exercise: u8,
) -> anyhow::Result<Result<SameWork, String>> {
    let stages = start(workspace, subjects, database_url).await?;
    let verdict = judge(&stages, data_set, exercise).await;
    stop(stages).await;
    Ok(verdict)
}

/// Holds the answers of `/health` and `/ready` against the first service's.
pub async fn same_probes(
    workspace: &Workspace,
    subjects: &[&Subject],
    database_url: &str,
) -> anyhow::Result<Result<(), String>> {
    let stages = start(workspace, subjects, database_url).await?;
    let verdict = judge_probes(&stages).await;
    stop(stages).await;
    Ok(verdict)
}

async fn judge_probes(stages: &[Stage]) -> Result<(), String> {
    for stage in stages {
        await_200(&stage.client, &stage.id, "/ready").await?;
    }
    for path in ["/health", "/ready"] {
        agree(stages, &ask_all(stages, path).await?, path)?;
    }
    Ok(())
}

pub async fn start(
    workspace: &Workspace,
    subjects: &[&Subject],
    database_url: &str,
) -> anyhow::Result<Vec<Stage>> {
    let mut stages = Vec::new();
    for subject in subjects {
        let proxy = DatabaseProxy::start(database_url).await?;
        let settings = Settings {
            pool_size: POOL_SIZE,
            ..Settings::new(proxy.url())
        };
        let service = Service::start(workspace, &subject.launch, &settings)
            .await
            .map_err(|error| error.into_error())?;
        let client = Client::new(
            service.base_url(),
            settings.api_keys.first().map(String::as_str),
        )?;
        stages.push(Stage {
            id: subject.id().to_owned(),
            proxy,
            service,
            client,
        });
    }
    Ok(stages)
}

pub async fn stop(stages: Vec<Stage>) {
    join_all(stages.into_iter().map(|stage| {
        // The client's idle connections go first: a graceful shutdown waits for connections.
        drop(stage.client);
        stage.service.stop()
    }))
    .await;
}

async fn judge(stages: &[Stage], data_set: DataSet, exercise: u8) -> Result<SameWork, String> {
    for stage in stages {
        await_200(&stage.client, &stage.id, "/read/1").await?;
    }
    let ids = random_ids(data_set);
    for id in &ids {
        let answers = ask_all(stages, &format!("/read/{id}")).await?;
        if answers[0].status() != 200 {
            return Err(format!(
                "{} answered status {} to /read/{id}, not 200",
                stages[0].id,
                answers[0].status()
            ));
        }
        agree(stages, &answers, &format!("/read/{id}"))?;
    }
    for path in [
        format!("/read/{}", data_set.rows() + 1),
        "/read/x".to_owned(),
        "/health".to_owned(),
    ] {
        agree(stages, &ask_all(stages, &path).await?, &path)?;
    }

    let mut same = SameWork::default();
    keys(stages, exercise, &mut same).await?;
    for stage in stages {
        let round_trips = count_round_trips(stage, &ids).await?;
        if round_trips < 0.99 {
            return Err(format!(
                "{} made {round_trips:.2} round trips to the database per read: it answers from somewhere else",
                stage.id
            ));
        }
        same.round_trips.insert(stage.id.clone(), round_trips);
    }
    same.declared
        .extend(round_trips_in_words(&same.round_trips));
    for stage in stages {
        burst(stage, &ids).await?;
    }
    Ok(same)
}

/// A service answers before its pool has connections; what is compared comes after that.
pub async fn await_200(client: &Client, id: &str, path: &str) -> Result<(), String> {
    let asked = Instant::now();
    loop {
        let said = match client.get(path).await {
            Ok(answer) if answer.status() == 200 => return Ok(()),
            Ok(answer) => format!("status {}", answer.status()),
            Err(failure) => failure.actual,
        };
        if asked.elapsed() > READY_LIMIT {
            return Err(format!(
                "{id} has not answered GET {path} with 200 within {} s: {said}",
                READY_LIMIT.as_secs()
            ));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn random_ids(data_set: DataSet) -> Vec<u32> {
    let mut random = rand::rng();
    (0..COMPARED)
        .map(|_| random.random_range(1..=data_set.rows()))
        .collect()
}

pub async fn ask_all(stages: &[Stage], path: &str) -> Result<Vec<Answer>, String> {
    let answers = join_all(stages.iter().map(|stage| stage.client.get(path))).await;
    let answers = stages.iter().zip(answers).map(|(stage, answer)| {
        answer.map_err(|failure| format!("{} did not answer {path}: {}", stage.id, failure.actual))
    });
    answers.collect()
}

fn agree(stages: &[Stage], answers: &[Answer], path: &str) -> Result<(), String> {
    let oracle = &answers[0];
    for (stage, answer) in stages.iter().zip(answers).skip(1) {
        if answer.status() != oracle.status() || answer.body() != oracle.body() {
            return Err(format!(
                "they do not do the same work: to {path}, {} answered {}, but {} answered {}",
                stages[0].id,
                shown(oracle),
                stage.id,
                shown(answer)
            ));
        }
    }
    Ok(())
}

fn shown(answer: &Answer) -> String {
    let body: String = String::from_utf8_lossy(answer.body())
        .chars()
        .take(160)
        .collect();
    format!("{} {body}", answer.status())
}

async fn keys(stages: &[Stage], exercise: u8, same: &mut SameWork) -> Result<(), String> {
    let keyless = stages
        .iter()
        .map(|stage| async { stage.client.without_key().get("/read/1").await });
    let answers = join_all(keyless).await;
    for (stage, answer) in stages.iter().zip(answers) {
        let status = answer
            .map_err(|failure| format!("{}: {}", stage.id, failure.actual))?
            .status();
        match status {
            401 => {}
            200 if exercise < KEYS_FROM => same.declared.push(format!(
                "{} does not check the key yet (exercise {KEYS_FROM} adds that), so it does a little less work",
                stage.id
            )),
            other => return Err(format!("{} answered {other} without a key, not 401", stage.id)),
        }
    }
    Ok(())
}

async fn count_round_trips(stage: &Stage, ids: &[u32]) -> Result<f64, String> {
    let before = stage.proxy.round_trips();
    for id in ids.iter().take(COUNTED) {
        stage
            .client
            .get(&format!("/read/{id}"))
            .await
            .map_err(|failure| failure.actual)?;
    }
    Ok((stage.proxy.round_trips() - before) as f64 / COUNTED.min(ids.len()) as f64)
}

fn round_trips_in_words(round_trips: &BTreeMap<String, f64>) -> Option<String> {
    let counts: Vec<String> = round_trips
        .iter()
        .map(|(side, count)| format!("{side} {count:.2}"))
        .collect();
    let (least, most) = round_trips
        .values()
        .fold((f64::MAX, 0.0_f64), |(least, most), count| {
            (least.min(*count), most.max(*count))
        });
    let differ = most - least > 0.05;
    differ.then(|| {
        format!(
            "round trips to the database per read differ: {}",
            counts.join(", ")
        )
    })
}

async fn burst(stage: &Stage, ids: &[u32]) -> Result<(), String> {
    let paths: Vec<String> = ids
        .iter()
        .take(BURST)
        .map(|id| format!("/read/{id}"))
        .collect();
    let answers = join_all(paths.iter().map(|path| stage.client.get(path))).await;
    for answer in answers {
        let status = answer
            .map_err(|failure| format!("{}: {}", stage.id, failure.actual))?
            .status();
        if status != 200 {
            return Err(format!(
                "{} answered {status} when {BURST} reads came at once",
                stage.id
            ));
        }
    }
    let most = stage.proxy.most_open();
    if most > usize::from(POOL_SIZE) {
        return Err(format!(
            "{} opened {most} connections to the database; its pool was given {POOL_SIZE}",
            stage.id
        ));
    }
    Ok(())
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

    #[test]
    fn ids_that_are_compared_exist() {
        assert!(
            random_ids(DataSet::Small)
                .iter()
                .all(|id| (1..=10_000).contains(id))
        );
    }
}
