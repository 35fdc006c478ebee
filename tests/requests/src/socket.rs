//! The WebSocket client of the suites. It reads only when it is asked to, so it can be a peer that reads nothing.

use std::fmt;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use hyper::Method;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

use crate::failure::{Failure, TestResult};
use crate::http::{Answer, Client};
use workshop_base::wait;

pub use tokio_tungstenite::tungstenite::protocol::Message;
pub use tokio_tungstenite::tungstenite::protocol::frame::Frame;
pub use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};

/// The longest that a test waits for what comes next on a socket.
const LIMIT: Duration = Duration::from_secs(10);
/// The longest that a name may stay taken after its peer has left, a silent one too, and the status until then.
const NOTICED_WITHIN: Duration = Duration::from_secs(15);
const IN_USE: u16 = 409;
/// The key of every handshake here: it is no secret, it only shows that the other side knows the protocol.
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
/// How much of a message a failure shows, in characters.
const SHOWN: usize = 200;

/// One side of a WebSocket.
pub struct Socket {
    answer: Box<Answer>,
    stream: WebSocketStream<TokioIo<Upgraded>>,
}

/// What comes on a socket. Pings are answered and not told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Text(String),
    /// The answer to a ping.
    Pong(Vec<u8>),
    /// A message of bytes.
    Binary(Vec<u8>),
    /// The other side closes, with this code if it says one.
    Close(Option<u16>),
    /// The connection has ended, after a close or without one.
    End,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Text(text) if text.chars().count() > SHOWN => {
                let shown: String = text.chars().take(SHOWN).collect();
                write!(f, "{shown} …, {} bytes", text.len())
            }
            Event::Text(text) => f.write_str(text),
            Event::Pong(bytes) => write!(f, "a pong with {bytes:?}"),
            Event::Binary(bytes) => write!(f, "a binary message of {} bytes", bytes.len()),
            Event::Close(Some(code)) => write!(f, "a close with code {code}"),
            Event::Close(None) => f.write_str("a close without a code"),
            Event::End => f.write_str("the end of the connection"),
        }
    }
}

/// What comes of asking for a WebSocket.
pub enum Opened {
    Socket(Socket),
    /// The service has answered without an upgrade.
    Refused(Answer),
}

impl Client {
    /// The same client, asking for a WebSocket.
    #[must_use]
    pub fn for_sockets(&self) -> Client {
        self.with("Connection", Some("Upgrade"))
            .with("Upgrade", Some("websocket"))
            .with("Sec-WebSocket-Version", Some("13"))
            .with("Sec-WebSocket-Key", Some(KEY))
    }

    /// Asks for a WebSocket at this path.
    pub async fn open(&self, path: &str) -> Result<Opened, Failure> {
        let (answer, connection) = self.for_sockets().exchange(Method::GET, path, None).await?;
        let Some(connection) = connection else {
            return Ok(Opened::Refused(answer));
        };
        answer.expect_header("Sec-WebSocket-Accept", &derive_accept_key(KEY.as_bytes()))?;
        let stream =
            WebSocketStream::from_raw_socket(TokioIo::new(connection), Role::Client, None).await;
        Ok(Opened::Socket(Socket {
            answer: Box::new(answer),
            stream,
        }))
    }

    /// Opens a WebSocket under a name whose peer has left, as soon as the service has noticed.
    pub async fn socket_again(&self, path: &str) -> Result<Socket, Failure> {
        let opened = wait::within(NOTICED_WITHIN, async || match self.open(path).await {
            Ok(Opened::Refused(answer)) if answer.status() == IN_USE => None,
            opened => Some(opened),
        });
        if let Some(opened) = opened.await {
            return opened?.into_socket();
        }
        let seconds = NOTICED_WITHIN.as_secs();
        Err(Failure::new(
            format!("a name that is free within {seconds} s after its peer has left"),
            format!("{IN_USE}, and that peer gets its messages"),
        )
        .of(path))
    }

    /// Opens a WebSocket at this path, which has to work.
    pub async fn socket(&self, path: &str) -> Result<Socket, Failure> {
        self.open(path).await?.into_socket()
    }
}

impl Opened {
    fn into_socket(self) -> Result<Socket, Failure> {
        match self {
            Opened::Socket(socket) => Ok(socket),
            Opened::Refused(answer) => Err(answer.failure(
                "status 101, the upgrade to a WebSocket",
                format!("status {}, body {}", answer.status(), answer.text()),
            )),
        }
    }
}

impl Socket {
    /// A failure on this socket.
    pub fn failure(&self, expected: impl Into<String>, actual: impl Into<String>) -> Failure {
        Failure::new(expected, actual).of(&self.answer.curl)
    }

    /// The answer that has opened it.
    pub fn answer(&self) -> &Answer {
        &self.answer
    }

    pub async fn say(&mut self, text: impl fmt::Display) -> Result<(), Failure> {
        self.send(Message::Text(text.to_string())).await
    }

    /// Sends a message or a frame, as it is.
    pub async fn send(&mut self, message: Message) -> Result<(), Failure> {
        let sent = match timeout(LIMIT, self.stream.send(message)).await {
            Ok(sent) => sent.map_err(|error| error.to_string()),
            Err(_elapsed) => Err(format!("it took nothing for {} s", LIMIT.as_secs())),
        };
        sent.map_err(|error| self.failure("a service that takes a message", error))
    }

    /// Sends bytes past the protocol, as much as the service takes of them.
    pub async fn send_raw(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let connection = self.stream.get_mut();
        let sent = async {
            connection.write_all(bytes).await?;
            connection.flush().await
        };
        sent.await
            .map_err(|error| self.failure("a service that takes bytes", error.to_string()))
    }

    /// The next thing that comes.
    pub async fn next(&mut self) -> Result<Event, Failure> {
        match timeout(LIMIT, self.event()).await {
            Ok(event) => Ok(event),
            Err(_elapsed) => {
                let waited = format!("nothing within {} s", LIMIT.as_secs());
                Err(self.failure("a message, or a close", waited))
            }
        }
    }

    /// Waits until the service asks whether this side is still there. That is answered as soon as this side reads on.
    pub async fn ping(&mut self) -> Result<(), Failure> {
        let asked = async {
            while let Some(Ok(message)) = self.stream.next().await {
                if message.is_ping() {
                    return true;
                }
            }
            false
        };
        let got = match timeout(LIMIT, asked).await {
            Ok(true) => return Ok(()),
            Ok(false) => Event::End.to_string(),
            Err(_elapsed) => format!("none within {} s", LIMIT.as_secs()),
        };
        Err(self.failure("a ping", got))
    }

    async fn event(&mut self) -> Event {
        loop {
            return match self.stream.next().await {
                Some(Ok(Message::Ping(_) | Message::Frame(_))) => continue,
                Some(Ok(Message::Pong(bytes))) => Event::Pong(bytes),
                Some(Ok(Message::Text(text))) => Event::Text(text),
                Some(Ok(Message::Binary(bytes))) => Event::Binary(bytes),
                Some(Ok(Message::Close(frame))) => {
                    Event::Close(frame.map(|close| close.code.into()))
                }
                Some(Err(_)) | None => Event::End,
            };
        }
    }

    /// Holds what comes next against the contract.
    pub async fn expect(&mut self, expected: &Event) -> TestResult {
        let event = self.next().await?;
        if event == *expected {
            return Ok(());
        }
        Err(self.failure(expected.to_string(), event.to_string()).into())
    }

    /// Holds the text that comes next against the contract.
    pub async fn expect_text(&mut self, expected: impl fmt::Display) -> TestResult {
        self.expect(&Event::Text(expected.to_string())).await
    }

    /// Reads on until the connection ends, and gives the code that it was closed with, if there was one.
    pub async fn end(&mut self) -> Result<Option<u16>, Failure> {
        let mut code = None;
        loop {
            match self.next().await? {
                Event::Close(said) => code = said,
                Event::End => return Ok(code),
                _ => {}
            }
        }
    }

    /// Says goodbye, and waits until the service has confirmed it.
    pub async fn leave(mut self) -> Result<(), Failure> {
        self.send(Message::Close(None)).await?;
        self.end().await.map(drop)
    }
}
