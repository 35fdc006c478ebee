//! `GET /hello`: a greeting.

use rocket::{get, serde::json::Value};

/// Greets the world, without the database.
#[get("/hello")]
pub async fn hello() -> Value {
    todo!("answer the greeting")
}
