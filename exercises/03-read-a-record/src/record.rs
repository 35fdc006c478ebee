//! The record: a row in the table `records`, sent to clients as a JSON object.

use serde::Serialize;

// ANCHOR: record
/// One record. Its fields, the table's columns and the JSON members have the same names.
#[derive(Serialize)]
pub struct Record {
    // Add the five fields, and derive the trait that builds a `Record` from a row.
}
// ANCHOR_END: record
