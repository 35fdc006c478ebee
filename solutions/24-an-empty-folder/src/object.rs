//! A JSON object of a known form, and nothing else.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The error of a body that can't be parsed, in words for a person.
pub enum Wrong {
    /// It isn't JSON.
    Malformed(String),
    /// It is JSON of another form.
    Unusable(String),
}

/// Parses the value in this text. serde alone would accept a list of the values as an object, too.
pub fn read<T: DeserializeOwned>(text: &[u8]) -> Result<T, Wrong> {
    let object: Map<String, Value> = serde_json::from_slice(text).map_err(|error| {
        if error.is_data() {
            Wrong::Unusable("the body must be a JSON object".to_owned())
        } else {
            Wrong::Malformed(format!("the body isn't JSON: {error}"))
        }
    })?;
    // This knows which member is wrong, and serde's own error doesn't.
    serde_path_to_error::deserialize(Value::Object(object))
        .map_err(|error| Wrong::Unusable(error.to_string()))
}
