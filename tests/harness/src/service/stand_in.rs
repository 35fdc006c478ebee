//! A stand-in for a service behind nginx: it says what it was asked, and answers with its name when it is let.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, mpsc, watch};
use tokio::task::JoinHandle;

use workshop_requests::failure::{Failure, TestError};

/// The longest that a test waits for a request to arrive.
const PATIENCE: Duration = Duration::from_secs(5);

/// The stand-in; it is gone when this is dropped.
#[derive(Debug)]
pub struct StandIn {
    name: &'static str,
    address: SocketAddr,
    answers: watch::Sender<bool>,
    asked: Mutex<mpsc::UnboundedReceiver<String>>,
    accepting: JoinHandle<()>,
}

impl StandIn {
    /// One that answers at once.
    pub async fn ready(name: &'static str) -> anyhow::Result<StandIn> {
        StandIn::start(name, true).await
    }

    /// One that takes requests and answers none, until it is let.
    pub async fn silent(name: &'static str) -> anyhow::Result<StandIn> {
        StandIn::start(name, false).await
    }

    async fn start(name: &'static str, ready: bool) -> anyhow::Result<StandIn> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .context("there is no free port")?;
        let address = listener.local_addr()?;
        let (answers, may_answer) = watch::channel(ready);
        let (heard, asked) = mpsc::unbounded_channel();
        let accepting = tokio::spawn(async move {
            let heard = Arc::new(heard);
            while let Ok((connection, _)) = listener.accept().await {
                let (heard, may_answer) = (Arc::clone(&heard), may_answer.clone());
                // A connection that breaks is nginx's to notice.
                tokio::spawn(async move {
                    let _ = serve(connection, name, &heard, may_answer).await;
                });
            }
        });
        Ok(StandIn {
            name,
            address,
            answers,
            asked: Mutex::new(asked),
            accepting,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
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

impl Drop for StandIn {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Answers the requests of one connection, one after the other.
async fn serve(
    connection: TcpStream,
    name: &str,
    heard: &mpsc::UnboundedSender<String>,
    mut may_answer: watch::Receiver<bool>,
) -> anyhow::Result<()> {
    let mut connection = BufReader::new(connection);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if connection.read_line(&mut head).await? == 0 {
                return Ok(());
            }
        }
        // The receiver is gone at the end of a test.
        let _ = heard.send(head);
        may_answer.wait_for(|may| *may).await?;
        let answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{name}",
            name.len()
        );
        connection.write_all(answer.as_bytes()).await?;
    }
}
