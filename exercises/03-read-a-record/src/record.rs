//! The record: a row of the table `records`, and the JSON object that clients get.

use serde::Serialize;

// ANCHOR: record
/// One record. Its fields are named like the columns they come from and the members they become.
#[derive(Serialize)]
pub struct Record {
    // Give it the five fields, and derive the trait that builds a Record from a row.
}
// ANCHOR_END: record
