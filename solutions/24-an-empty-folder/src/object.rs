//! Parses a JSON object of a known shape, and rejects all other JSON.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The reason why a body is rejected, with a message for a human reader.
pub enum Wrong {
    /// It isn't JSON.
    Malformed(String),
    /// The body is JSON, but doesn't have the expected shape.
    Unusable(String),
}

/// Parses a JSON object. By itself, serde would also accept an array of the field values.
pub fn read<T: DeserializeOwned>(text: &[u8]) -> Result<T, Wrong> {
    let object: Map<String, Value> = serde_json::from_slice(text).map_err(|error| {
        if error.is_data() {
            Wrong::Unusable("the body must be a JSON object".to_owned())
        } else {
            Wrong::Malformed(format!("the body isn't JSON: {error}"))
        }
    })?;
    // Unlike serde's own errors, those of `serde_path_to_error` say which member is wrong.
    serde_path_to_error::deserialize(Value::Object(object))
        .map_err(|error| Wrong::Unusable(error.to_string()))
}
