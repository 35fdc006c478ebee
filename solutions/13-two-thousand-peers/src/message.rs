//! The messages between peers: as they are sent, as they are delivered, and the answers to invalid
//! ones.

use std::sync::Arc;

use rocket::serde::json::{json, serde_json};
use serde::Deserialize;

use crate::object::Object;

/// The maximum length of a message's text, in bytes.
pub const MAX_TEXT_BYTES: usize = 1024;
/// The maximum size of a message, in bytes. In JSON, a byte of text can take six: `\u0007`.
pub const MAX_MESSAGE_BYTES: usize = 8192;

// ANCHOR: message
/// A message from a peer to another one, or to all others. Other members are ignored.
#[derive(Deserialize)]
pub struct Message {
    pub to: Option<String>,
    pub text: String,
}

/// Parses a message from a peer. The error is the answer to the peer.
pub fn read(json: &str) -> Result<Message, Arc<str>> {
    let Ok(Object(message)) = serde_json::from_str::<Object<Message>>(json) else {
        return Err(complaint("a message must be a JSON object with a text"));
    };
    if message.text.len() > MAX_TEXT_BYTES {
        let too_long = format!("text must not be longer than {MAX_TEXT_BYTES} bytes");
        return Err(complaint(&too_long));
    }
    Ok(message)
}

/// The message as it is delivered.
pub fn delivered(from: &str, text: &str) -> Arc<str> {
    json!({"from": from, "text": text}).to_string().into()
}

/// The answer to a peer whose message wasn't delivered.
pub fn nobody(name: &str) -> Arc<str> {
    complaint(&format!("there is no peer with the name {name}"))
}

fn complaint(error: &str) -> Arc<str> {
    json!({"error": error}).to_string().into()
}
// ANCHOR_END: message
