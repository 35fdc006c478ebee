//! Trail reports (exercise 18): writes that fight for one report, the same writes over many, and a report that is sent again and again
//! with its key. What does a lock cost, and what does a retry?
//!
//! Ids are the service's own, so the load asks for those that it was given when the reports were made.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use async_trait::async_trait;
use serde_json::{Value, json};

use workshop_harness::failure::Failure;
use workshop_harness::http::{Answer, Body, Client, Method};
use workshop_harness::service::Service;
use workshop_measure::protocol::block::{self, Loads, Observed, Reading};
use workshop_measure::protocol::experiment::{Asked, Experiment, ids, pairs};
use workshop_measure::protocol::gates::{self, Stage, not_the_same};
use workshop_measure::protocol::lab::Lab;
use workshop_measure::protocol::metrics;
use workshop_measure::protocol::plan::CONNECTIONS;
use workshop_measure::protocol::session::Session;
use workshop_measure::protocol::subject::Subject;
use workshop_measure::protocol::warmup;
use workshop_measure::tools::oha::{Call, Load, Order};
use workshop_postgres::datasets::RunDatabase;
use workshop_results::file::ResultFile;
use workshop_results::key::{At, CPU, Key, MEMORY, P50, P99, SIZE, START_UP, THREADS, THROUGHPUT};
use workshop_results::metrics::Definition;

/// How many reports there are: several per connection of the load, so that two writes rarely meet.
const REPORTS: usize = 100;
/// The key that is sent again and again.
const KEY: &str = "Idempotency-Key: the-same-again";
/// The time limit of the services. A write waits for all that came before it, and none of them is to be refused.
const NO_LIMIT: Duration = Duration::from_secs(30);

/// The loads of a block, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Many,
    One,
    Again,
}

/// What their metrics' keys end in, and how that is said.
const KINDS: [(Kind, At); 3] = [
    (Kind::Many, MANY),
    (Kind::One, At::Load("one", "one report")),
    (Kind::Again, At::Load("again", "the same key again")),
];
/// The load that decides.
const MANY: At = At::Load("many", "many reports");
/// What is read off each of them.
const READINGS: [(Reading, Key); 4] = [
    (Reading::Rate, THROUGHPUT),
    (Reading::Percentile("p99"), P99),
    (Reading::Percentile("p50"), P50),
    (Reading::Cpu, CPU),
];
/// What is noted of a block as of other services.
const BESIDES: [Key; 4] = [START_UP, MEMORY, THREADS, SIZE];

/// Measures a target beside the references.
pub async fn measure(lab: &Lab<'_>, asked: &Asked) -> anyhow::Result<ResultFile> {
    let mut experiment = Experiment::begin(lab, asked, &asked.task).await?;
    experiment.session.timeout = NO_LIMIT;
    let mut loads = Reports {
        sites: open(&mut experiment).await?,
        length: Duration::from_secs_f64(experiment.session.plan.saturation),
    };
    let subjects = experiment.subjects.clone();
    loads.show(&experiment.session, &subjects[0])?;

    let records = experiment.rounds(&subjects, &mut loads).await?;
    experiment.judge(&definitions()?, &records, &pairs(&subjects));
    experiment.decide(&THROUGHPUT.at(MANY), &ids(&subjects));
    experiment.notes.push(format!(
        "{REPORTS} reports; {CONNECTIONS} connections change any of them, then only one, each with If-Match: *; then all of them send the \
         same report with the same key"
    ));
    let own = "each service has a database of its own on the same PostgreSQL, whose commits wait for the disk";
    experiment.notes.push(own.to_owned());

    let mut result = experiment.finish().await?;
    result.manifest.data_set = "reports".to_owned();
    result.manifest.rows = REPORTS as u64;
    for site in loads.sites.into_values() {
        site.database.remove().await?;
    }
    Ok(result)
}

/// The metrics, those of the loads first.
fn definitions() -> anyhow::Result<Vec<Definition>> {
    let mut definitions = metrics::of("reports", KINDS.map(|(_, at)| at))?;
    definitions.extend(metrics::closed_with("load", &BESIDES)?);
    Ok(definitions)
}

/// The keys of all loads.
fn keys() -> Vec<Key> {
    let of_load = |(_, at)| READINGS.map(|(_, key)| key.at(at));
    KINDS.into_iter().flat_map(of_load).collect()
}

/// What the load has to know of a service.
#[derive(Debug)]
struct Site {
    database: RunDatabase,
    /// The paths of its reports, the first of which is fought for.
    paths: Vec<String>,
    /// The file with a change.
    change: PathBuf,
    /// The file with a report.
    report: PathBuf,
}

/// A report as a client sends it.
fn report() -> Value {
    json!({ "tag": 4711, "kind": "fallen-tree", "text": "Across the path, 200 m after the bridge" })
}

/// A change that each of many clients may send.
fn change() -> Value {
    json!({ "text": "Across the path, 200 m after the second bridge" })
}

/// Gives every service its reports, and looks whether it does the work.
async fn open(experiment: &mut Experiment<'_>) -> anyhow::Result<BTreeMap<String, Site>> {
    let (mut sites, lab) = (BTreeMap::new(), experiment.lab);
    let kept = |name: &str, value: Value| kept(lab.scratch(), name, &value);
    for subject in &mut experiment.subjects {
        let id = subject.id().to_owned();
        let part = format!("{id}: {REPORTS} reports, and the same work?");
        experiment.session.progress.part(&part);
        let database = RunDatabase::durable(&lab.server).await?;
        subject.database_url = Some(database.url().to_owned());
        subject.first_path = Some("/ready".to_owned());
        let judge = async |stages: &[Stage]| made(&stages[0]).await;
        let paths = gates::on_stages(lab.workspace, [&*subject], database.url(), judge).await?;
        let site = Site {
            change: kept("change.json", change())?,
            report: kept("report.json", report())?,
            database,
            paths,
        };
        sites.insert(id, site);
    }
    Ok(sites)
}

fn kept(folder: &Path, name: &str, value: &Value) -> anyhow::Result<PathBuf> {
    let path = folder.join(name);
    std::fs::write(&path, value.to_string())
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// Makes the reports and returns their paths. What the load will ask is asked once, and each answer has to be right.
async fn made(stage: &Stage) -> anyhow::Result<Vec<String>> {
    stage.is_ready("/ready").await?;
    let made = answers_right(&stage.client).await;
    made.map_err(|failure| not_the_same(&stage.id, format!("{}:\n{failure}", stage.id)))
}

async fn answers_right(client: &Client) -> Result<Vec<String>, Failure> {
    let mut paths = Vec::new();
    for number in 0..REPORTS {
        let answer = post(client, &format!("report-{number}")).await?;
        let path = answer.header("Location");
        let path = path.ok_or_else(|| answer.failure("a Location", "none"))?;
        paths.push(path.into_owned());
    }
    let again = post(client, "report-0").await?;
    again.expect_header("Location", &paths[0])?;
    let changing = client.with("If-Match", Some("*"));
    for tag in ["\"2\"", "\"3\""] {
        let change = change().to_string();
        let body = Some(Body::json(&change));
        let changed = changing.send_body(Method::PATCH, &paths[0], body).await?;
        changed.expect_status(200)?.expect_header("ETag", tag)?;
    }
    Ok(paths)
}

async fn post(client: &Client, key: &str) -> Result<Answer, Failure> {
    let client = client.with("Idempotency-Key", Some(key));
    let answer = client
        .post_body("/reports", Body::json(&report().to_string()))
        .await?;
    answer.expect_status(201)?;
    Ok(answer)
}

/// The services' reports, and the loads that are put on them.
struct Reports {
    sites: BTreeMap<String, Site>,
    length: Duration,
}

impl Reports {
    fn site(&self, subject: &Subject) -> anyhow::Result<&Site> {
        let site = self.sites.get(subject.id());
        site.with_context(|| format!("{} has no reports", subject.id()))
    }

    fn order(&self, session: &Session<'_>, site: &Site, base_url: &str, kind: Kind) -> Order {
        let json = "Content-Type: application/json".to_owned();
        let (path, call) = match kind {
            Kind::Again => {
                let call = Call {
                    method: "POST",
                    headers: vec![json, KEY.to_owned()],
                    body: Some(site.report.clone()),
                    status: 201,
                };
                ("/reports".to_owned(), call)
            }
            Kind::Many | Kind::One => {
                let call = Call {
                    method: "PATCH",
                    headers: vec![json, "If-Match: *".to_owned()],
                    body: Some(site.change.clone()),
                    status: 200,
                };
                let paths = match kind {
                    Kind::Many => format!("({})", site.paths.join("|")),
                    _ => site.paths[0].clone(),
                };
                (paths, call)
            }
        };
        Order {
            url: format!("{base_url}{path}"),
            header: session.header.clone(),
            call,
            connections: CONNECTIONS,
            duration: self.length,
            load: Load::Closed,
        }
    }

    /// Shows the raw commands.
    fn show(&self, session: &Session<'_>, subject: &Subject) -> anyhow::Result<()> {
        let site = self.site(subject)?;
        for (kind, _) in KINDS {
            let order = self.order(session, site, "http://127.0.0.1:PORT", kind);
            let all = site.paths.join("|");
            let some = format!("{}|…", site.paths[..2].join("|"));
            println!("the load:  {}", order.typed().replace(&all, &some));
        }
        Ok(())
    }
}

#[async_trait(?Send)]
impl Loads for Reports {
    fn path(&self) -> &str {
        "/reports"
    }

    fn keys(&self, _subject: &Subject) -> Vec<Key> {
        keys()
    }

    async fn put_on(
        &mut self,
        session: &mut Session<'_>,
        subject: &Subject,
        service: &Service,
        observed: &mut Observed,
        title: &str,
    ) -> anyhow::Result<()> {
        let pids = service.pids();
        let limits = session.plan.short_warm_up_of(subject.runs_as);
        for (kind, at) in KINDS {
            let (site, words) = (self.site(subject)?, at.words());
            let order = self.order(session, site, service.base_url(), kind);
            session
                .progress
                .phase(&format!("{title}: {words}, {}", order.load));
            // A warm-up that breaks a gate is followed by a load that does.
            let _ = warmup::run(&session.oha, &order, &pids, &limits).await?;
            let seen = block::watched(session, &order, &pids, false).await?;
            if seen.note(&order, &READINGS, Some(at), observed) {
                observed.most(THREADS, seen.of(Reading::Threads));
            }
        }
        // What the writes have left behind is nothing for the next block.
        let mut connection = self.site(subject)?.database.connect().await?;
        sqlx::query("VACUUM").execute(&mut connection).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_its_definition() {
        let defined = definitions().unwrap();
        for key in keys().into_iter().chain(BESIDES) {
            assert!(defined.iter().any(|known| known.key == key), "{key}");
        }
    }
}
