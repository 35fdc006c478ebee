//! A wrapper that accepts only JSON objects.

use rocket::serde::json::serde_json::{Map, Value};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error},
};

// ANCHOR: object
/// A `T` deserialized from a JSON object. By default, serde also accepts an array for a struct,
/// with the first element for the first field: `[[1, 2]]` for `{"ids":[1,2]}`. If several
/// members have the same name, the last one counts.
pub struct Object<T>(pub T);

impl<'de, T: DeserializeOwned> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Object<T>, D::Error> {
        let members: Map<String, Value> = Map::deserialize(deserializer)?;
        T::deserialize(members).map(Object).map_err(Error::custom)
    }
}
// ANCHOR_END: object
