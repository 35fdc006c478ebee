//! Kata 6, `Result`, `?` and `From`: the errors that occur before the database is queried.

use std::num::ParseIntError;

#[derive(Debug)]
enum ReadError {
    BadId(ParseIntError),
    NotFound(i32),
}

impl From<ParseIntError> for ReadError {
    fn from(error: ParseIntError) -> Self {
        ReadError::BadId(error)
    }
}

/// Parses the id in a path; `BadId` if not a number, `NotFound` if not from 1 to 10 000.
fn existing_id(text: &str) -> Result<i32, ReadError> {
    let id = text.parse()?;
    if (1..=10_000).contains(&id) {
        Ok(id)
    } else {
        Err(ReadError::NotFound(id))
    }
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
