//! The case *wrong*, watched: a gateway sends scans, and its frames come in halves, with ticks of the service in between.

use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

use sqlx::postgres::PgConnection;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::outage::PATIENCE;
use super::reproduction::{QUIET, Reproduction};
use super::stage::database_trouble;
use super::{Context, Place, Played, Scenario, When, stage};
use crate::scenarios::ContractTest;
use crate::service::Settings;
use workshop_base::wait;

pub use super::judged as test;

/// `DATABASE_TIMEOUT_MS`.
const TIMEOUT: Duration = Duration::from_secs(2);
/// How many times the gateway sends the end of one frame, a whole one, and the beginning of another.
const ROUNDS: i32 = 4;

pub static SCENARIO: Scenario = Scenario {
    of_the_contract: false,
    ..Scenario::new("wrong", When::Waiting, 4, |place, tests| {
        Box::pin(play(place, tests))
    })
};

async fn play(place: &Place<'_>, tests: &[&ContractTest]) -> anyhow::Result<Played> {
    let (stage, wrong) = watched(place, QUIET).await?;
    stage.judged(&wrong, tests).await
}

/// The scans of a gateway, and the records that were marked.
#[derive(Debug)]
pub struct Wrong {
    /// The ids in its frames.
    pub sent: BTreeSet<i32>,
    /// The records that were marked meanwhile.
    pub marked: BTreeSet<i32>,
    /// The service's final answer.
    pub answer: String,
    /// The bytes, in the pieces in which they were sent.
    pieces: Vec<String>,
}

async fn watched(place: &Place<'_>, log_level: &str) -> anyhow::Result<(Context, Wrong)> {
    let settings = Settings {
        log_level: log_level.to_owned(),
        ..stage::settings(TIMEOUT)
    };
    let stage = place.stage_with(settings).await?;
    let wrong = Wrong::watch(&stage).await;
    let wrong = wrong.map_err(|error| database_trouble(error.into()))?;
    Ok((stage, wrong))
}

impl Wrong {
    async fn watch(stage: &Context) -> sqlx::Result<Wrong> {
        let database = &mut *stage.database.lock().await;
        let before = marked(database).await?;
        let mut wrong = Wrong {
            sent: BTreeSet::new(),
            marked: BTreeSet::new(),
            answer: String::new(),
            pieces: Vec::new(),
        };
        let frames = frames(stage.service.pid());
        let mut gateway = Gateway::connect(stage).await?;
        let mut seen = before.len();
        let mut half: Vec<u8> = Vec::new();
        for two in frames.chunks(2) {
            // The end of the frame that was begun, a whole one, and the beginning of the next one.
            let bytes: Vec<u8> = two
                .iter()
                .flatten()
                .flat_map(|word| word.to_be_bytes())
                .collect();
            let (piece, rest) = bytes.split_at(bytes.len() - 4);
            let piece = [half.as_slice(), piece].concat();
            rest.clone_into(&mut half);
            wrong.send(&mut gateway, &piece).await;
            // The next piece is sent when this one has had an effect: the service has had a tick by then.
            seen = wait::last_within(
                PATIENCE,
                async || marked(&mut *database).await.map(|marked| marked.len()),
                |now: &sqlx::Result<usize>| !matches!(now, Ok(now) if *now == seen),
            )
            .await?;
        }
        wrong.send(&mut gateway, &half).await;
        wrong.answer = gateway.end().await.unwrap_or_default();
        wrong.sent = frames.iter().map(|[id, _]| *id).collect();
        wrong.marked = &marked(database).await? - &before;
        Ok(wrong)
    }

    /// Sends a piece, if the service still reads: the marked records show the rest.
    async fn send(&mut self, gateway: &mut Gateway, piece: &[u8]) {
        let words: Vec<String> = piece.chunks(4).map(hex).collect();
        self.pieces.push(words.join(" "));
        let _ = gateway.send(piece).await;
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Frames of an id and a minute, all different, and different in each run. A minute is a tag's id as well.
fn frames(pid: u32) -> Vec<[i32; 2]> {
    let seed = (pid % 97).cast_signed();
    (0..2 * ROUNDS)
        .map(|number| [5000 + 41 * seed + 3 * number, 400 + 7 * seed + 37 * number])
        .collect()
}

/// The ids of the records that are marked as visited.
async fn marked(database: &mut PgConnection) -> sqlx::Result<BTreeSet<i32>> {
    let ids = sqlx::query_scalar("SELECT id FROM records WHERE visited");
    let ids: Vec<i32> = ids.fetch_all(database).await?;
    Ok(ids.into_iter().collect())
}

/// A gateway whose request is open.
struct Gateway {
    connection: TcpStream,
}

impl Gateway {
    async fn connect(stage: &Context) -> io::Result<Gateway> {
        let address = stage.service.address();
        let key = stage.settings.api_keys.first().cloned().unwrap_or_default();
        let mut connection = TcpStream::connect(address).await?;
        let head = format!(
            "POST /scans HTTP/1.1\r\nHost: {address}\r\nX-API-Key: {key}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        );
        connection.write_all(head.as_bytes()).await?;
        Ok(Gateway { connection })
    }

    async fn send(&mut self, piece: &[u8]) -> io::Result<()> {
        let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
        chunk.extend_from_slice(piece);
        chunk.extend_from_slice(b"\r\n");
        self.connection.write_all(&chunk).await
    }

    /// Ends the request, and returns the answer's body; an empty one if none comes in time.
    async fn end(mut self) -> io::Result<String> {
        self.connection.write_all(b"0\r\n\r\n").await?;
        let mut answer = Vec::new();
        let all = self.connection.read_to_end(&mut answer);
        if tokio::time::timeout(PATIENCE, all).await.is_err() {
            return Ok(String::new());
        }
        let answer = String::from_utf8_lossy(&answer);
        let body = answer.split("\r\n\r\n").nth(1).unwrap_or_default();
        Ok(body.to_owned())
    }
}

/// Plays the case, and leaves the service as it is then.
pub(super) async fn reproduce(place: &Place<'_>, log_level: &str) -> anyhow::Result<Reproduction> {
    let (stage, wrong) = watched(place, log_level).await?;
    let mut seen = vec![
        "no record was marked as visited, and a gateway sent these pieces to POST /scans, in hex:"
            .to_owned(),
    ];
    seen.extend(wrong.pieces.iter().map(|piece| format!("  {piece}")));
    seen.push(format!(
        "each piece was sent once the one before had marked something; then the answer: {}",
        wrong.answer
    ));
    let evidence = wrong.marked.difference(&wrong.sent);
    let evidence = evidence.map(i32::to_string).collect();
    Ok(Reproduction {
        stage,
        seen,
        evidence,
    })
}
