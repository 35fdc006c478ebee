//! Kata 6, `Result`, `?` and `From`: the errors that occur before the database is queried.

use std::num::ParseIntError;

#[derive(Debug)]
enum ReadError {
    BadId(ParseIntError),
    NotFound(i32),
}

/// Parses the id in a path; `BadId` if not a number, `NotFound` if not from 1 to 10 000.
fn existing_id(text: &str) -> Result<i32, ReadError> {
    todo!("parse {text}, hand a failure on with `?`, and look whether the id is in the range")
}

#[test]
fn text_that_is_not_a_number_is_a_bad_id() {
    assert!(matches!(existing_id("seven"), Err(ReadError::BadId(_))));
}

#[test]
fn only_a_number_from_1_to_10_000_is_found() {
    assert!(matches!(existing_id("7"), Ok(7)));
    assert!(matches!(existing_id("10000"), Ok(10_000)));
    assert!(matches!(existing_id("0"), Err(ReadError::NotFound(0))));
}
