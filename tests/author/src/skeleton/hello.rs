//! `GET /hello`: a greeting.

use rocket::{
    get,
    serde::json::{Value, json},
};

/// Greets the world, without the database.
#[get("/hello")]
pub async fn hello() -> Value {
    json!({"hello": "world"})
}
