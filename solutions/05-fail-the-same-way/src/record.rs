//! The record: a row in the table `records`, sent to clients as a JSON object.

use serde::Serialize;
use sqlx::FromRow;

// ANCHOR: record
/// One record. Its fields, the table's columns and the JSON members have the same names.
#[derive(FromRow, Serialize)]
pub struct Record {
    id: i32,
    value: String,
    odd: bool,
    divisible_by_3: bool,
    visited: bool,
}
// ANCHOR_END: record
