//! The messages between peers: what a peer says, what arrives at another one, and what is wrong with a
//! message.

use std::sync::Arc;

use rocket::serde::json::{json, serde_json};
use serde::Deserialize;

use crate::object::Object;

/// The longest text of a message, in bytes.
pub const MAX_TEXT_BYTES: usize = 1024;
/// The longest message, in bytes. In JSON a byte of a text can take six: `\u0007`.
pub const MAX_MESSAGE_BYTES: usize = 8192;

// ANCHOR: message
/// A message from a peer to another one, or to all others. Other members are ignored.
#[derive(Deserialize)]
pub struct Message {
    pub to: Option<String>,
    pub text: String,
}

/// Reads what a peer has sent. The error is what it is told.
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

/// What arrives.
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
