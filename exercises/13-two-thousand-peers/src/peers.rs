//! `GET /peers/<name>`: connects a peer to the room through a WebSocket.

use std::time::Instant;

use rocket::{Shutdown, State, get, head, http::Status};
use rocket_ws::{Channel, Config, WebSocket, frame::CloseCode};
use tracing::{Instrument, Span, info};

use crate::{
    api_key::ApiKey, conversation::converse, error::Error, message::MAX_MESSAGE_BYTES, room::Room,
};

/// The maximum length of a name, in bytes.
const MAX_NAME_BYTES: usize = 32;

// ANCHOR: peers
/// Upgrades the connection to a WebSocket. Answers 400 for an invalid name, 409 for a name that
/// is in use, and 426 if the request doesn't ask for an upgrade.
#[get("/peers/<name>")]
pub fn peers<'r>(
    _key: ApiKey,
    name: &str,
    socket: Option<WebSocket>,
    room: &'r State<Room>,
    shutdown: Shutdown,
) -> Result<(Status, Channel<'r>), Error> {
    if !is_name(name) {
        return Err(Error::BadRequest(
            "name must be 1 to 32 letters, digits, hyphens and underscores",
        ));
    }
    let socket = socket.ok_or(Error::UpgradeRequired)?;
    let peer = room.enter(name).ok_or(Error::NameInUse)?;
    // Rocket runs the conversation after the handler has returned, so pass the request's span on.
    let span = Span::current();
    let conversation = |stream| {
        let conversation = async {
            let opened_at = Instant::now();
            let code = converse(peer, stream, shutdown).await;
            log_end(opened_at, code);
            Ok(())
        };
        Box::pin(conversation.instrument(span)) as _
    };
    let channel = socket.config(limits()).channel(conversation);
    // Rocket would set this status itself, but only after the response has been logged.
    Ok((Status::SwitchingProtocols, channel))
}

/// WebSockets open with a GET. Without this route, the GET handler would also handle HEAD.
#[head("/peers/<_>")]
pub fn peers_head(_key: ApiKey) -> Error {
    Error::UpgradeRequired
}

/// Logs the end of a socket at level `info`. The request was already logged at the upgrade.
fn log_end(opened_at: Instant, code: Option<CloseCode>) {
    info!(
        milliseconds = opened_at.elapsed().as_secs_f64() * 1000.0,
        reason = reason(code),
        "the socket has ended"
    );
}

/// The reason why a socket was closed, for the log.
fn reason(code: Option<CloseCode>) -> &'static str {
    match code {
        Some(CloseCode::Away) => "the service stops",
        Some(CloseCode::Again) => "the peer does not read",
        Some(CloseCode::Unsupported) => "the peer has sent a binary message",
        Some(CloseCode::Invalid) => "the peer has sent a text that is not UTF-8",
        Some(CloseCode::Size) => "the peer has sent too large a message",
        Some(_) => "the peer has broken the protocol",
        None => "the peer is gone",
    }
}

fn is_name(name: &str) -> bool {
    (1..=MAX_NAME_BYTES).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

/// The memory limits of one connection. By default, the library buffers up to 64 MB of
/// a message, and an unlimited amount of outgoing data for a peer that doesn't read.
fn limits() -> Config {
    Config {
        max_message_size: Some(MAX_MESSAGE_BYTES),
        max_frame_size: Some(MAX_MESSAGE_BYTES),
        write_buffer_size: MAX_MESSAGE_BYTES,
        max_write_buffer_size: 4 * MAX_MESSAGE_BYTES,
        ..Config::default()
    }
}
// ANCHOR_END: peers
