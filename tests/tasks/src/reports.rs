//! Trail reports (exercise 24): writes that fight for one report, the same writes over many, and a report that is sent again and again
//! with its key. What does a lock cost, and what does a retry?
//!
//! Ids are the service's own, so the load asks for those that it was given when the reports were made.

use std::time::Duration;

use serde_json::{Value, json};

use crate::sites::{self, Made, SiteRequest};
use workshop_harness::failure::Failure;
use workshop_harness::http::{Answer, Body, Client, Method};
use workshop_measure::protocol::block::{Block, turns};
use workshop_measure::protocol::gates::{Stage, not_the_same};
use workshop_measure::protocol::lab::Lab;
use workshop_measure::protocol::load::{self, Reading};
use workshop_measure::protocol::metrics;
use workshop_measure::protocol::plan::CONNECTIONS;
use workshop_measure::protocol::rows::Asked;
use workshop_measure::protocol::session::Session;
use workshop_measure::protocol::subject::Subject;
use workshop_measure::tools::oha::{Call, Load, Order};
use workshop_results::file::ResultFile;
use workshop_results::key::{At, CPU, Key, MEMORY, P50, P99, SIZE, START_UP, THREADS, THROUGHPUT};
use workshop_results::metrics::Definition;

/// How many reports there are: several per connection of the load, so that two writes rarely meet.
const REPORTS: usize = 100;
/// The key that is sent again and again.
const KEY: &str = "Idempotency-Key: the-same-again";
/// The time limit of the services. A write waits for all that came before it, and none of them is to be refused.
const NO_LIMIT: Duration = Duration::from_secs(30);

/// The loads of a block, in their order. The first decides.
const MANY: At = At::Load("many", "many reports");
const ONE: At = At::Load("one", "one report");
const AGAIN: At = At::Load("again", "the same key again");
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
    let (mut session, mut subjects) = Session::begin(lab, asked, &asked.task).await?;
    session.timeout = NO_LIMIT;
    for subject in &mut subjects {
        subject.first_path = Some("/ready".to_owned());
    }
    let make = async |stage: &Stage, _: &Subject| {
        Ok(Made {
            requests: requests(&session, &made(stage).await?)?,
            round_trips: None,
        })
    };
    let what = format!("{REPORTS} reports");
    let sites = sites::open(&session, &mut subjects, &what, make).await?;
    for request in sites.values().take(1).flat_map(|site| &site.requests) {
        let typed = request.order(&session, "http://127.0.0.1:PORT").typed();
        let third = typed.match_indices('|').nth(1);
        let some = third.map_or(typed.clone(), |(at, _)| format!("{}|…)'", &typed[..at]));
        println!("the load:  {some}");
    }

    let mut rounds = Vec::new();
    for turn in turns(&session.plan, &subjects) {
        let watch = async |session: &Session<'_>, block: &Block<'_>, order: &Order, _| {
            load::watched(session, order, &block.service().pids(), false).await
        };
        let site = &sites[turn.subject.id()];
        rounds.push(sites::block(&mut session, &turn, site, watch).await?);
    }
    session.notes.push(format!(
        "{REPORTS} reports; {CONNECTIONS} connections change any of them, then only one, each with If-Match: *; then all of them send the \
         same report with the same key"
    ));
    let own = "each service has a database of its own on the same PostgreSQL, whose commits wait for the disk";
    session.notes.push(own.to_owned());
    let found = session
        .judged(&definitions()?, &subjects, rounds, None)
        .decided_by(&THROUGHPUT.at(MANY), &subjects);

    let mut result = session.finish(&subjects, found).await?;
    result.manifest.data_set = "reports".to_owned();
    result.manifest.rows = REPORTS as u64;
    sites::close(sites).await?;
    Ok(result)
}

/// The metrics, those of the loads first.
fn definitions() -> anyhow::Result<Vec<Definition>> {
    let mut definitions = metrics::of("reports", [MANY, ONE, AGAIN])?;
    definitions.extend(metrics::closed_with("load", &BESIDES)?);
    Ok(definitions)
}

/// A report as a client sends it.
fn report() -> Value {
    json!({ "tag": 4711, "kind": "fallen-tree", "text": "Across the path, 200 m after the bridge" })
}

/// A change that each of many clients may send.
fn change() -> Value {
    json!({ "text": "Across the path, 200 m after the second bridge" })
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

/// What a service is asked that has its reports at these paths. The first of them is fought for.
fn requests(session: &Session<'_>, paths: &[String]) -> anyhow::Result<Vec<SiteRequest>> {
    let json = "Content-Type: application/json".to_owned();
    let file =
        |name: &str, value: Value| sites::kept(session.lab.scratch(), name, &value.to_string());
    let many = SiteRequest {
        at: MANY,
        path: format!("({})", paths.join("|")),
        call: Call {
            method: "PATCH",
            headers: vec![json.clone(), "If-Match: *".to_owned()],
            body: Some(file("change.json", change())?),
            status: 200,
        },
        load: Load::Closed,
        length: Duration::from_secs_f64(session.plan.saturation),
        readings: READINGS.to_vec(),
    };
    let one = SiteRequest {
        at: ONE,
        path: paths[0].clone(),
        ..many.clone()
    };
    let again = SiteRequest {
        at: AGAIN,
        path: "/reports".to_owned(),
        call: Call {
            method: "POST",
            headers: vec![json, KEY.to_owned()],
            body: Some(file("report.json", report())?),
            status: 201,
        },
        ..many.clone()
    };
    Ok(vec![many, one, again])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_its_definition() {
        let defined = definitions().unwrap();
        let loads = [MANY, ONE, AGAIN];
        let of_loads = loads.map(|at| READINGS.map(|(_, key)| key.at(at))).concat();
        for key in of_loads.into_iter().chain(BESIDES) {
            assert!(defined.iter().any(|known| known.key == key), "{key}");
        }
    }
}
