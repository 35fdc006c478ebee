//! Problem details (RFC 9457): the body of every response to a failed request.

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use serde::{Serialize, Serializer};

// ANCHOR: problem
/// The response to a failed request.
#[derive(Debug, Serialize)]
pub struct Problem {
    #[serde(rename = "type")]
    problem_type: &'static str,
    title: &'static str,
    #[serde(serialize_with = "code")]
    status: StatusCode,
    detail: String,
}

impl Problem {
    /// A problem with this status. `detail` is a sentence for the person who reads the response.
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Problem {
        Problem {
            problem_type: "about:blank", // RFC 9457: the status says it all
            title: status.canonical_reason().unwrap_or_default(),
            status,
            detail: detail.into(),
        }
    }
}

/// Lets a handler return a `Problem`.
impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let problem_json = HeaderValue::from_static("application/problem+json");
        let mut response = (self.status, Json(self)).into_response();
        response.headers_mut().insert(CONTENT_TYPE, problem_json);
        response
    }
}
// ANCHOR_END: problem

fn code<S: Serializer>(status: &StatusCode, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u16(status.as_u16())
}
