//! The request id, in the response and in each log line about the request, so that the id in a
//! user's report leads to the line that explains the failure.

use std::fmt;

use rocket::{
    Request, Response, async_trait,
    fairing::{Fairing, Info, Kind},
};
use uuid::Uuid;

const HEADER: &str = "X-Request-Id";

// ANCHOR: request-id
/// The id of one request.
pub struct RequestId(String);

impl RequestId {
    /// A new, unique id.
    pub fn of(_request: &Request<'_>) -> RequestId {
        RequestId(Uuid::new_v4().to_string())
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
// ANCHOR_END: request-id

// ANCHOR: request-log
/// Adds the request id to each response.
pub struct RequestLog;

#[async_trait]
impl Fairing for RequestLog {
    fn info(&self) -> Info {
        Info {
            name: "request log",
            kind: Kind::Response,
        }
    }

    async fn on_response<'r>(&self, request: &'r Request<'_>, response: &mut Response<'r>) {
        response.set_raw_header(HEADER, RequestId::of(request).to_string());
    }
}
// ANCHOR_END: request-log
