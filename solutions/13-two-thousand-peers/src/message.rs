//! The JSON messages of a conversation: messages that peers
//! send, messages as recipients get them, and error replies.

use std::sync::Arc;

use rocket::serde::json::{json, serde_json};
use serde::Deserialize;

use crate::object::Object;

/// The maximum length of a message's text, in bytes.
pub const MAX_TEXT_BYTES: usize = 1024;
/// The maximum size of a message's JSON, in bytes. An escaped byte can take six: `\u0007`.
pub const MAX_MESSAGE_BYTES: usize = 8192;

// ANCHOR: message
/// A message from one peer to another, or to all others. Unknown JSON members are ignored.
#[derive(Deserialize)]
pub struct Message {
    pub to: Option<String>,
    pub text: String,
}

/// Parses a message from a peer. The `Err` is the reply to send back to the peer.
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

/// The JSON that the recipients of a message get.
pub fn delivered(from: &str, text: &str) -> Arc<str> {
    json!({"from": from, "text": text}).to_string().into()
}

/// The error reply to a message whose recipient isn't in the room.
pub fn nobody(name: &str) -> Arc<str> {
    complaint(&format!("there is no peer with the name {name}"))
}

fn complaint(error: &str) -> Arc<str> {
    json!({"error": error}).to_string().into()
}
// ANCHOR_END: message
