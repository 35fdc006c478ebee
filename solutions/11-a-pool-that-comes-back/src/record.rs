//! The record: a row of the table `records`, and the JSON object that clients get.

use serde::Serialize;
use sqlx::FromRow;

// ANCHOR: record
/// One record. Its fields are named like the columns they come from and the members they become.
#[derive(FromRow, Serialize)]
pub struct Record {
    pub id: i32,
    value: String,
    odd: bool,
    divisible_by_3: bool,
    visited: bool,
}
// ANCHOR_END: record
