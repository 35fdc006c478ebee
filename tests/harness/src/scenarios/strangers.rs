//! A service as strangers find it: behind the nginx whose configuration comes with it, if there is one. Many connect at once, and
//! each costs as much as a connection can.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::{Context, Place, Played, Scenario, When, judge_all, large};
use crate::build::nginx as installed;
use crate::report::TestStatus;
use crate::scenarios::ContractTest;
use crate::service::nginx::{FILE, Nginx};
use crate::service::sockets;
use workshop_base::open_files;
use workshop_requests::connection::connect;
use workshop_requests::failure::{Failure, TestError};
use workshop_requests::http::{Answer, Body, Client};

pub use super::judged as test;

/// How long a connection may wait for its client: for a head, for the next request, for a body, and for an answer to be taken.
pub const LIMIT: Duration = Duration::from_secs(10);
/// How much longer it is observed.
pub const SLACK: Duration = Duration::from_secs(5);
/// The number of clients that send half of a head.
pub const HALF_HEADS: usize = 300;
/// The number of refused uploads of each kind, and how many are sent at a time.
pub const UPLOADS: usize = 25;
const AT_A_TIME: usize = 5;
const UPLOAD: usize = 5_000_000;

pub static SCENARIO: Scenario = Scenario::new("strangers", When::Waiting, 25, |place, tests| {
    Box::pin(play(place, tests))
});

/// The observations of the service meanwhile.
#[derive(Debug)]
pub struct Strangers {
    /// The answer to another client beside the half heads.
    pub health: Result<Answer, Failure>,
    /// How many of the half heads had a connection after the limit.
    pub half_heads: usize,
    /// Whether a connection that was idle for the limit was ended.
    pub idle_ended: bool,
    /// Whether a connection with an unfinished body was ended.
    pub half_body_ended: bool,
    /// Whether all connections were ended, including one with an unread export.
    pub stalled_ended: bool,
    /// The answers to uploads that are too large, with a key and without one.
    pub uploads: Vec<Result<Answer, Failure>>,
}

async fn play(place: &Place<'_>, tests: &[&ContractTest]) -> anyhow::Result<Played> {
    open_files::allow_sockets(2 * HALF_HEADS, "the connections of strangers")?;
    let configuration = place.launch.directory.join(FILE);
    let installed = match configuration.is_file() {
        true => Some(installed::needed().await),
        false => None,
    };
    if let Some(Err(lack)) = installed {
        let not_judged = TestStatus::NotJudged(lack.in_one_line());
        return Ok(Played {
            statuses: vec![not_judged; tests.len()],
            leaving: Vec::new(),
        });
    }
    let context = large::stage(place, large::TIMEOUT).await?;
    let service = context.service.address();
    let nginx = match installed {
        Some(Ok(nginx)) => Some(Nginx::before(nginx.path, &configuration, service).await),
        _ => None,
    };
    let nginx = nginx.transpose().map_err(|error| match error {
        TestError::Failed(failure) => anyhow::anyhow!("{failure}"),
        TestError::CouldNotJudge(error) => error,
    })?;
    let address = nginx.as_ref().map_or(service, Nginx::address);
    let seen = watch(&context, address).await?;
    let statuses = judge_all(&seen, &context.log_tail(), tests).await?;
    drop(nginx);
    Ok(context.leaves_with(statuses))
}

/// All of them connect at once, except for the uploads, which are first.
async fn watch(context: &Context, address: SocketAddr) -> anyhow::Result<Strangers> {
    let key = context.settings.api_keys.first().map(String::as_str);
    let client = Client::new(&format!("http://{address}"), key)?;
    let uploads = uploads(&client).await;

    let health = "GET /health HTTP/1.1\r\nHost: records\r\n";
    let key = key.unwrap_or_default();
    let export =
        format!("GET /records/export HTTP/1.1\r\nHost: records\r\nX-API-Key: {key}\r\n\r\n");
    let visits = format!(
        "POST /visits HTTP/1.1\r\nHost: records\r\nX-API-Key: {key}\r\nContent-Type: application/json\r\n\
         Content-Length: 100\r\n\r\n{{\"ids\""
    );
    let mut stalled = begun(address, &export).await?;
    stalled.read_exact(&mut [0; 1024]).await?;
    let half_heads = join_all((0..HALF_HEADS).map(|_| begun(address, health))).await;
    let half_heads: io::Result<Vec<TcpStream>> = half_heads.into_iter().collect();
    let half_heads = half_heads?;
    let idle = begun(address, &format!("{health}\r\n")).await?;
    let half_body = begun(address, &visits).await?;

    let answered = client.within(LIMIT + SLACK).get("/health").await;
    let (half_heads, idle_ended, half_body_ended) = tokio::join!(
        join_all(half_heads.into_iter().map(ends)),
        ends(idle),
        ends(half_body),
    );
    let longer = context.settings.export_timeout + SLACK;
    let stalled_ended = sockets::are_closed_within(address.port(), longer).await;
    drop(stalled);
    Ok(Strangers {
        health: answered,
        half_heads: half_heads.iter().filter(|ended| !**ended).count(),
        idle_ended,
        half_body_ended,
        stalled_ended,
        uploads,
    })
}

async fn uploads(client: &Client) -> Vec<Result<Answer, Failure>> {
    let body = vec![b' '; UPLOAD];
    let keyless = client.without_key();
    let clients = [client, &keyless].into_iter().cycle().take(2 * UPLOADS);
    let uploads = clients.map(|client| client.post_body("/visits", Body::json(&body)));
    stream::iter(uploads).buffered(AT_A_TIME).collect().await
}

/// A connection on which this was sent.
async fn begun(address: SocketAddr, request: &str) -> io::Result<TcpStream> {
    let mut connection = connect(&[address]).await?;
    connection.write_all(request.as_bytes()).await?;
    Ok(connection)
}

/// Whether the other side ends the connection within the limit, with whatever it says before.
async fn ends(mut connection: TcpStream) -> bool {
    timeout(LIMIT + SLACK, async {
        // A reset is an end as well.
        let _ = tokio::io::copy(&mut connection, &mut tokio::io::sink()).await;
    })
    .await
    .is_ok()
}
