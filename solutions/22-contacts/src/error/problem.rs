//! Problem details (RFC 9457): the body of the response to a failed request. Errors for which WebDAV defines other
//! bodies are in `dav.rs`.

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use serde::Serialize;

/// The response to a failed request.
#[derive(Debug, Serialize)]
pub struct Problem {
    #[serde(rename = "type")]
    problem_type: &'static str,
    title: &'static str,
    status: u16,
    detail: String,
}

impl Problem {
    /// A problem with this status. `detail` is a sentence for the person who reads the response.
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Problem {
        Problem {
            problem_type: "about:blank", // RFC 9457: the status says it all
            title: status.canonical_reason().unwrap_or_default(),
            status: status.as_u16(),
            detail: detail.into(),
        }
    }
}

/// Lets a handler return a `Problem`.
impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let problem_json = HeaderValue::from_static("application/problem+json");
        let mut response = (status, Json(self)).into_response();
        response.headers_mut().insert(CONTENT_TYPE, problem_json);
        response
    }
}
