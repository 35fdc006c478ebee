//! A JSON object, and nothing else.

use rocket::serde::json::serde_json::{Map, Value};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error},
};

// ANCHOR: object
/// A `T` that was an object in the JSON. By itself serde accepts a list for a struct as well, its
/// first element for the first field: `[[1, 2]]` for `{"ids":[1,2]}`. Of members with the same name
/// the last one counts.
pub struct Object<T>(pub T);

impl<'de, T: DeserializeOwned> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Object<T>, D::Error> {
        let members: Map<String, Value> = Map::deserialize(deserializer)?;
        T::deserialize(members).map(Object).map_err(Error::custom)
    }
}
// ANCHOR_END: object
