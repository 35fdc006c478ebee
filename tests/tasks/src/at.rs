//! A service that somebody runs, on a Raspberry Pi perhaps, under load from here: what can be seen of it from outside.

use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

use futures_util::future::LocalBoxFuture;

use workshop_base::exercise::Catalogue;
use workshop_base::outcome::Trouble;
use workshop_base::target::{Language, Target};
use workshop_base::workspace::Workspace;
use workshop_harness::failure::Failure;
use workshop_harness::http::Client;
use workshop_measure::protocol::plan::CONNECTIONS;
use workshop_measure::protocol::progress::Progress;
use workshop_measure::protocol::rows::Asked;
use workshop_measure::protocol::{gates, ids, machine, session, warmup};
use workshop_measure::tools::oha::{Call, Load, Oha, Order};
use workshop_postgres::datasets::DataSet;
use workshop_results::shown::{Cell, Table};

/// A service that is there.
pub struct ServiceAt<'a> {
    /// Where: `http://pi.local:8080`.
    pub url: &'a str,
    /// The key that lets requests in.
    pub key: &'a str,
    /// What is in its database.
    pub data_set: DataSet,
}

/// A command without the key in it: it is somebody's, and a terminal's lines end up in slides and logs.
fn without(key: &str, typed: &str) -> String {
    match key.is_empty() {
        true => typed.to_owned(),
        false => typed.replace(key, "$KEY"),
    }
}

/// Finds its throughput with random reads, and its latency at shares of that.
pub fn measure<'f>(
    workspace: &'f Workspace,
    asked: &'f Asked,
    place: &'f ServiceAt<'f>,
) -> LocalBoxFuture<'f, anyhow::Result<Table>> {
    Box::pin(async move {
        let base_url = base_url(place.url)?;
        let oha = Oha::find(workspace)?;
        let client = Client::new(&base_url, Some(place.key))?;
        let checks_keys = Catalogue::read(workspace)?.checks_keys(asked.target)?;
        let kept = keeps_the_contract(&client, checks_keys, place.data_set).await;
        kept.map_err(|failure| refused(place, &failure.to_string()))?;
        let plan = asked.plan("reads")?;
        // As long as all rounds of a comparison together.
        let all_rounds = |seconds: f64| Duration::from_secs_f64(seconds * plan.rounds as f64);
        let closed = Order {
            url: format!("{base_url}/read/{}", ids::of(place.data_set).pattern),
            header: session::header(place.key),
            call: Call::default(),
            connections: CONNECTIONS,
            duration: all_rounds(plan.saturation),
            load: Load::Closed,
        };
        println!("the load:  {}", without(place.key, &closed.typed()));
        println!("           and at shares of what it reaches, with -q RATE --latency-correction");
        // What it is written in cannot be seen, so it gets the time that a JVM needs.
        let limits = plan.warm_up_of(Language::Kotlin);
        let open_loops = all_rounds(plan.open) * plan.rates.len() as u32;
        let progress = Progress::begin(limits.shortest() + closed.duration + open_loops);
        progress.part("warming up until steady");
        let warmed_up = warmup::run(&oha, &closed, &[], &limits).await?;
        warmed_up.map_err(|reason| refused(place, &reason))?;
        progress.part("closed loop");
        let saturated = oha.run(&closed).await?;
        let gate = saturated.gate(&closed);
        gate.map_err(|reason| refused(place, &reason))?;
        let mut table = empty(asked.target, place);
        table.row("closed loop", vec![Cell::Number(saturated.rate)]);
        for percent in &plan.rates {
            let rate = (saturated.rate * f64::from(*percent) / 100.0).round();
            let open = Order {
                duration: all_rounds(plan.open),
                load: Load::Open(rate),
                ..closed.clone()
            };
            progress.part(&open.load.to_string());
            let run = oha.run(&open).await?;
            let heading = format!("{percent} % of that");
            let mut cells = vec![Cell::Number(rate)];
            match run.gate(&open) {
                Ok(()) => cells.extend([run.p50_ms.into(), run.p99_ms.into()]),
                Err(reason) => {
                    let note = format!("{heading} does not count: {reason}");
                    table.notes.push(note);
                }
            }
            table.row(heading, cells);
        }
        Ok(table)
    })
}

/// The address behind a URL, as one: oha takes names from a name server only, which knows none that end in `.local`.
fn base_url(url: &str) -> anyhow::Result<String> {
    let place = url.strip_prefix("http://").unwrap_or(url);
    let found = place.trim_end_matches('/').to_socket_addrs();
    let address = found.map(|mut addresses| addresses.find(SocketAddr::is_ipv4));
    let why = match address {
        Ok(Some(address)) => return Ok(format!("http://{address}")),
        Ok(None) => "it has no address of IPv4".to_owned(),
        Err(error) => error.to_string(),
    };
    Trouble::new(format!("{url} cannot be reached: {why}"))
        .expected("a machine and a port, such as http://pi.local:8080")
        .next("try the machine's address in place of its name: hostname -I prints it there")
        .err()
}

/// The gate that needs no look at its database: random records are there, and each status is the right one.
async fn keeps_the_contract(
    client: &Client,
    checks_keys: bool,
    set: DataSet,
) -> Result<(), Failure> {
    let ids = gates::random_ids(set).into_iter();
    let records = ids.map(|id| (format!("/read/{id}"), 200));
    let beyond = format!("/read/{}", set.rows() + 1);
    let others = [(beyond, 404), ("/read/x".to_owned(), 400)];
    for (path, status) in records.chain(others) {
        client.get(&path).await?.expect_status(status)?;
    }
    let without_key = client.without_key().get("/read/1").await?;
    if checks_keys || without_key.status() != 200 {
        without_key.expect_status(401)?;
    }
    Ok(())
}

fn refused(place: &ServiceAt<'_>, reason: &str) -> anyhow::Error {
    let (url, set) = (place.url, place.data_set);
    let expected = format!(
        "a step of the port from exercise 3 on that listens on ADDRESS=0.0.0.0, takes the key that --key names, and has the data set {set}"
    );
    Trouble::new(format!("the service at {url} cannot be measured:\n{reason}"))
        .expected(expected)
        .next("if it has other data, name them: --data-set pi or small; the page On a Raspberry Pi says how to start it")
        .failed()
        .into()
}

fn empty(target: Target, place: &ServiceAt<'_>) -> Table {
    let (url, set) = (place.url, place.data_set);
    let here = machine::label(&machine::look());
    let title = format!(
        "{target} at {url}, data set {set}, {CONNECTIONS} connections; the load from {here}"
    );
    let columns = ["requests/s", "median (ms)", "p99 (ms)"].map(Into::into);
    Table {
        corner: "load".to_owned(),
        notes: vec![
            "latency counts from when a request was due, the way there and back included"
                .to_owned(),
            format!(
                "CPU and memory can't be seen from outside, and nothing is compared: `just measure {target}` on that machine does both"
            ),
        ],
        ..Table::new("at", &title, columns.into())
    }
}
