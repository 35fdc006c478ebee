//! `GET /peers/<name>`: lets a peer into the room, over a WebSocket.

use rocket::{Shutdown, State, get, head};
use rocket_ws::{Channel, Config, WebSocket};

use crate::{
    api_key::ApiKey, conversation::converse, error::Error, message::MAX_MESSAGE_BYTES, room::Room,
};

/// The longest name, in bytes.
const MAX_NAME_BYTES: usize = 32;

// ANCHOR: peers
/// Upgrades the connection to a WebSocket. Else 400 for a name that cannot be one, 409 for one that
/// another peer has, and 426 when the request asks for no upgrade.
#[get("/peers/<name>")]
pub fn peers<'r>(
    _key: ApiKey,
    name: &str,
    socket: Option<WebSocket>,
    room: &'r State<Room>,
    shutdown: Shutdown,
) -> Result<Channel<'r>, Error> {
    if !is_name(name) {
        return Err(Error::BadRequest(
            "name must be 1 to 32 letters, digits, hyphens and underscores",
        ));
    }
    let socket = socket.ok_or(Error::UpgradeRequired)?;
    let peer = room.enter(name).ok_or(Error::NameInUse)?;
    let conversation = |stream| {
        Box::pin(async {
            converse(peer, stream, shutdown).await;
            Ok(())
        }) as _
    };
    Ok(socket.config(limits()).channel(conversation))
}

/// A WebSocket begins with a GET. Without this route Rocket would answer a HEAD like one.
#[head("/peers/<_>")]
pub fn peers_head(_key: ApiKey) -> Error {
    Error::UpgradeRequired
}

fn is_name(name: &str) -> bool {
    (1..=MAX_NAME_BYTES).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

/// What one connection may take of the memory. By default the library gathers 64 MB for a message,
/// and has no limit for what a peer does not take.
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
