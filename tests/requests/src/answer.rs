//! A whole answer, and how it is held against the contract.

use std::borrow::Cow;
use std::time::Duration;

use hyper::StatusCode;
use hyper::header::HeaderMap;
use serde::Serialize;
use serde_json::json;

use crate::failure::{Failure, TestResult};

/// How much of a body a failure shows, in characters.
const SHOWN: usize = 300;

/// A whole answer, with the request that it answers.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The request, as a curl line.
    pub(crate) curl: String,
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    pub(crate) took: Duration,
}

impl Answer {
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The body as it came.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// The body, to be shown.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }

    /// From sending the request to the last byte of the answer.
    pub fn took(&self) -> Duration {
        self.took
    }

    /// A failure of this request.
    pub fn failure(&self, expected: impl Into<String>, actual: impl Into<String>) -> Failure {
        Failure::new(expected, actual).of(&self.curl)
    }

    /// Holds this against the contract: when it does not hold, that was expected, and that has come.
    pub fn expect(
        &self,
        holds: bool,
        expected: impl Into<String>,
        got: impl Into<String>,
    ) -> Result<&Self, Failure> {
        if holds {
            return Ok(self);
        }
        Err(self.failure(expected, got))
    }

    /// Holds the status code against the contract.
    pub fn expect_status(&self, expected: u16) -> Result<&Self, Failure> {
        if self.status == expected {
            return Ok(self);
        }
        let status = self.status;
        let got = match self.shown_body().as_str() {
            "" => format!("status {status}, no body"),
            body => format!("status {status}, body {body}"),
        };
        Err(self.failure(format!("status {expected}"), got))
    }

    /// The value of a header, where there is one.
    pub fn header(&self, name: &str) -> Option<Cow<'_, str>> {
        let value = self.headers.get(name)?;
        Some(String::from_utf8_lossy(value.as_bytes()))
    }

    /// All values of a header, as one line would have them.
    pub fn headers(&self, name: &str) -> String {
        let values = self.headers.get_all(name).iter();
        let values = values.map(|value| String::from_utf8_lossy(value.as_bytes()));
        values.collect::<Vec<_>>().join(", ")
    }

    /// Holds a header against the contract.
    pub fn expect_header(&self, name: &str, expected: &str) -> Result<&Self, Failure> {
        self.expect_header_that(name, expected, |value| value == expected)
    }

    /// Holds a header against a rule of the contract, which `expected` says in words or by an example.
    pub fn expect_header_that(
        &self,
        name: &str,
        expected: &str,
        is_so: impl Fn(&str) -> bool,
    ) -> Result<&Self, Failure> {
        let (holds, got) = match self.header(name) {
            Some(value) => (is_so(&value), format!("{name}: {value}")),
            None => (false, format!("no header {name}")),
        };
        self.expect(holds, format!("header {name}: {expected}"), got)
    }

    /// Holds status, content type and body against the contract; the body byte for byte, so the order of members counts.
    pub fn expect_json(&self, status: u16, expected: &impl Serialize) -> Result<&Self, Failure> {
        self.expect_status(status)?
            .expect_media_type("application/json")?
            .expect_body(&json!(expected).to_string())
    }

    /// Holds the answer against the problem (RFC 9457) that the contract has for this status.
    pub fn expect_problem(&self, status: u16, detail: &str) -> Result<&Self, Failure> {
        self.expect_status(status)?
            .expect_media_type("application/problem+json")?
            .expect_body(&problem(status, detail))
    }

    fn expect_media_type(&self, expected: &str) -> Result<&Self, Failure> {
        let content_type = self.header("Content-Type").unwrap_or("none".into());
        let media_type = content_type.split(';').next().unwrap_or_default().trim();
        self.expect(
            media_type.eq_ignore_ascii_case(expected),
            format!("content type {expected}"),
            format!("content type {content_type}"),
        )
    }

    fn expect_body(&self, expected: &str) -> Result<&Self, Failure> {
        if self.body == expected.as_bytes() {
            return Ok(self);
        }
        let got = format!("body {}", self.shown_body());
        Err(self.failure(format!("body {expected}"), got))
    }

    fn shown_body(&self) -> String {
        let text = self.text();
        shortened(&text.split_whitespace().collect::<Vec<_>>().join(" "))
    }
}

/// A problem as the contract writes it: its title is the status's own.
pub fn problem(status: u16, detail: &str) -> String {
    let known = StatusCode::from_u16(status).ok();
    let title = known.and_then(|status| status.canonical_reason());
    json!({"type": "about:blank", "title": title, "status": status, "detail": detail}).to_string()
}

/// What holds an answer against this status.
pub fn has_status(expected: u16) -> impl Fn(&Answer) -> Result<&Answer, Failure> {
    move |answer| answer.expect_status(expected)
}

/// What holds an answer against this header.
pub fn has_header(name: &str, expected: &str) -> impl Fn(&Answer) -> Result<&Answer, Failure> {
    move |answer| answer.expect_header(name, expected)
}

/// What holds an answer against the problem that the contract has for this status.
pub fn is_problem(status: u16, detail: &str) -> impl Fn(&Answer) -> Result<&Answer, Failure> {
    move |answer| answer.expect_problem(status, detail)
}

/// Holds each of these answers against the contract.
pub fn expect_each<'a>(
    answers: impl IntoIterator<Item = &'a Result<Answer, Failure>>,
    check: impl Fn(&Answer) -> Result<&Answer, Failure>,
) -> TestResult {
    for answer in answers {
        check(answer.as_ref().map_err(Clone::clone)?)?;
    }
    Ok(())
}

/// The beginning of a text, as much as a failure shows.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.to_owned(),
    }
}
