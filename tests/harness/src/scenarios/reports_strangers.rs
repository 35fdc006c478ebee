//! A service, and clients that it doesn't know: they begin a request and never end it, send nothing, read no answer, or send what
//! is refused. A service with a folder `nginx` beside it is asked through that.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use workshop_postgres::datasets::RunDatabase;

use super::{Place, Played, Scenario, When, stage};
use crate::front::in_words;
use crate::nginx::{FOLDER, Nginx};
use crate::scenarios::ContractTest;
use workshop_requests::failure::Failure;
use workshop_requests::http::{Answer, Body, Client};

pub use super::judged as test;

/// `DATABASE_TIMEOUT_MS`: longer than any answer takes here.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum time that a stranger may keep a connection, and what a slow machine adds.
const PATIENCE: Duration = Duration::from_secs(10 + 5);
/// How many connections each kind of them has.
const MANY: usize = 300;
const FEW: usize = 20;
/// The number of requested pages that are not read: more than the buffers between two processes hold.
const PAGES: usize = 300;
/// The size of a refused upload, and how often it is sent: an answer is only lost now and then.
const UPLOAD: usize = 5_000_000;
const UPLOADS: usize = 50;

pub static SCENARIO: Scenario = Scenario {
    of_the_contract: false,
    ..Scenario::new("reports_strangers", When::Waiting, 18, |place, tests| {
        Box::pin(play(place, tests))
    })
};

/// What happened to the strangers, and to other clients.
pub struct ReportsStrangers {
    /// The connections still open at the end, and all of them: with half a head, after a whole request, and without one.
    pub half_heads: [usize; 2],
    pub idle: [usize; 2],
    /// The answer to `/health` meanwhile.
    pub health: Result<Answer, Failure>,
    /// The pages that reached a client that did not read for a while, and all of them.
    pub pages: [usize; 2],
    /// The first bytes of the answers to large bodies: without a key, with one, and not declared as JSON.
    pub uploads: [(Upload, Vec<String>); 3],
}

/// Why an upload is refused.
#[derive(Debug, Clone, Copy)]
pub enum Upload {
    WithoutKey,
    TooLarge,
    NoJson,
}

async fn play(place: &Place<'_>, tests: &[&ContractTest]) -> anyhow::Result<Played> {
    let database = RunDatabase::empty(place.server).await?;
    let mut stage = place.stage_on(database, stage::settings(TIMEOUT)).await?;
    let configuration = place.launch.directory.join(FOLDER);
    let mut nginx = None;
    if configuration.is_dir() {
        let service = stage.service.address();
        let front = Nginx::start(&configuration, service, service).await;
        let front = front.map_err(|error| in_words(error, &stage.service))?;
        let pids = vec![front.pid()];
        stage.service.reach_through(front.address(), pids);
        let key = stage.settings.api_keys.first().map(String::as_str);
        stage.client = Client::new(stage.service.base_url(), key)?;
        nginx = Some(front);
    }
    let address = nginx
        .as_ref()
        .map_or_else(|| stage.service.address(), Nginx::address);
    let seen = watch(&stage.client, address).await;
    let played = stage.judged(&seen, tests).await;
    drop(nginx);
    played
}

async fn watch(client: &Client, address: SocketAddr) -> ReportsStrangers {
    for number in 0..100 {
        let text = "ä".repeat(500);
        let report = format!(r#"{{"tag": 8001, "kind": "other", "text": "{text}"}}"#);
        let client = client.with("Idempotency-Key", Some(&format!("page-{number}")));
        let _ = client.post_body("/reports", Body::json(&report)).await;
    }
    let (half_heads, idle, health, pages, without_key, too_large, no_json) = tokio::join!(
        still_open(address, MANY, "GET /health HTTP/1.1\r\nHost: loc"),
        still_open(
            address,
            FEW,
            "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
        ),
        async {
            sleep(Duration::from_secs(1)).await;
            client.get("/health").await
        },
        pages_that_come(address),
        uploads(address, Upload::WithoutKey),
        uploads(address, Upload::TooLarge),
        uploads(address, Upload::NoJson),
    );
    ReportsStrangers {
        half_heads: [half_heads, MANY],
        idle: [idle, FEW],
        health,
        pages: [pages, PAGES],
        uploads: [
            (Upload::WithoutKey, without_key),
            (Upload::TooLarge, too_large),
            (Upload::NoJson, no_json),
        ],
    }
}

/// Sends this on a number of connections, and then nothing; returns how many are open after the limit.
async fn still_open(address: SocketAddr, count: usize, sent: &str) -> usize {
    let open = join_all((0..count).map(async |_| {
        let closed = timeout(PATIENCE, async {
            let mut connection = TcpStream::connect(address).await?;
            connection.write_all(sent.as_bytes()).await?;
            connection.read_to_end(&mut Vec::new()).await
        });
        closed.await.is_err()
    }));
    open.await.into_iter().filter(|is_open| *is_open).count()
}

/// The pages that reach a client that requests all of them, and reads none until the limit is over.
async fn pages_that_come(address: SocketAddr) -> usize {
    let ask = "GET /reports?tag=8001&limit=100 HTTP/1.1\r\nHost: localhost\r\nX-API-Key: valid_key\r\n\r\n";
    let Ok(mut connection) = TcpStream::connect(address).await else {
        return PAGES;
    };
    // Some of the requests may not be read, either.
    let _ = timeout(PATIENCE, connection.write_all(ask.repeat(PAGES).as_bytes())).await;
    sleep(PATIENCE).await;
    let mut bytes = Vec::new();
    let mut part = vec![0; 1 << 16];
    while let Ok(Ok(count @ 1..)) = timeout(TIMEOUT, connection.read(&mut part)).await {
        bytes.extend_from_slice(&part[..count]);
    }
    String::from_utf8_lossy(&bytes)
        .matches("HTTP/1.1 200")
        .count()
}

/// The beginnings of the answers to large bodies, sent as most clients do: the whole body first, then the answer is read.
async fn uploads(address: SocketAddr, upload: Upload) -> Vec<String> {
    let (key, media_type) = match upload {
        Upload::WithoutKey => ("", "application/json"),
        Upload::TooLarge => ("X-API-Key: valid_key\r\n", "application/json"),
        Upload::NoJson => ("X-API-Key: valid_key\r\n", "text/plain"),
    };
    let head = format!(
        "POST /reports HTTP/1.1\r\nHost: localhost\r\nIdempotency-Key: upload\r\n{key}Content-Type: {media_type}\r\n\
         Content-Length: {UPLOAD}\r\n\r\n"
    );
    let body = vec![b' '; UPLOAD];
    let mut answers = Vec::new();
    for _ in 0..UPLOADS {
        let mut beginning = [0; 12];
        let answered = timeout(PATIENCE, async {
            let mut connection = TcpStream::connect(address).await?;
            connection.write_all(head.as_bytes()).await?;
            // A client that cannot send its body to the end usually never looks for an answer.
            connection.write_all(&body).await?;
            connection.read_exact(&mut beginning).await
        });
        answers.push(match answered.await {
            Ok(Ok(_)) => String::from_utf8_lossy(&beginning).into_owned(),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no answer".to_owned(),
        });
    }
    answers
}
