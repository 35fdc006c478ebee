//! A stand-in for a service behind nginx: it says what it was asked, and answers with its name when it is let.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context;
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::sync::{Mutex, mpsc, watch};

use super::port::Port;
use super::upstream::{answer, next_head};
use workshop_requests::failure::{Failure, TestError};

/// The longest that a test waits for a request to arrive.
const PATIENCE: Duration = Duration::from_secs(5);

/// The stand-in; it is gone when this is dropped.
pub struct StandIn {
    name: &'static str,
    port: Port,
    answers: watch::Sender<bool>,
    asked: Mutex<mpsc::UnboundedReceiver<String>>,
}

impl StandIn {
    /// One that answers at once.
    pub fn ready(name: &'static str) -> anyhow::Result<StandIn> {
        StandIn::start(name, true)
    }

    /// One that takes requests and answers none, until it is let.
    pub fn silent(name: &'static str) -> anyhow::Result<StandIn> {
        StandIn::start(name, false)
    }

    fn start(name: &'static str, ready: bool) -> anyhow::Result<StandIn> {
        let (answers, may_answer) = watch::channel(ready);
        let (heard, asked) = mpsc::unbounded_channel();
        let port = Port::free(move |connection| {
            serve(connection, name, heard.clone(), may_answer.clone())
        });
        Ok(StandIn {
            name,
            port: port.context("there is no free port")?,
            answers,
            asked: Mutex::new(asked),
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.port.address()
    }

    /// Lets it answer what it was asked so far, and all that comes.
    pub fn answer(&self) {
        self.answers.send_replace(true);
    }

    /// The head of the next request that it was asked.
    pub async fn asked(&self) -> Result<String, TestError> {
        let mut asked = self.asked.lock().await;
        match tokio::time::timeout(PATIENCE, asked.recv()).await {
            Ok(Some(head)) => Ok(head),
            _ => {
                let expected = format!("a request at the {} service", self.name);
                let got = format!("none within {} s", PATIENCE.as_secs());
                Err(Failure::new(expected, got).into())
            }
        }
    }
}

/// Answers the requests of one connection, one after the other.
async fn serve(
    connection: TcpStream,
    name: &str,
    heard: mpsc::UnboundedSender<String>,
    mut may_answer: watch::Receiver<bool>,
) -> io::Result<()> {
    let mut connection = BufReader::new(connection);
    while let Some(head) = next_head(&mut connection).await? {
        // Both channels are gone at the end of a test.
        let _ = heard.send(head);
        if may_answer.wait_for(|may| *may).await.is_err() {
            break;
        }
        connection.write_all(&answer("200 OK", name)).await?;
    }
    Ok(())
}
