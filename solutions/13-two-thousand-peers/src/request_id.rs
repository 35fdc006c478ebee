//! The request id, in the response and in each log line about the request, so that the id in a
//! user's report leads to the line that explains the failure.

use std::{fmt, time::Instant};

use rocket::{
    Data, Request, Response, async_trait,
    fairing::{Fairing, Info, Kind},
};
use tracing::info;
use uuid::Uuid;

use crate::request_span::request_span;

const HEADER: &str = "X-Request-Id";

// ANCHOR: request-id
/// The id of one request.
pub struct RequestId(String);

impl RequestId {
    /// The id that came with the request, for example from a proxy, or else a new one.
    pub fn of<'r>(request: &'r Request<'_>) -> &'r RequestId {
        request.local_cache(|| {
            let brought = request.headers().get_one(HEADER);
            match brought.filter(|id| is_usable(id)) {
                Some(id) => RequestId(id.to_owned()),
                None => RequestId(Uuid::new_v4().to_string()),
            }
        })
    }
}

/// An id from a client is logged, so only short ids of harmless characters are accepted.
fn is_usable(id: &str) -> bool {
    (1..=64).contains(&id.len())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
// ANCHOR_END: request-id

// ANCHOR: request-log
/// Adds the request id to each response and, with `LOG_LEVEL=info`, logs the request.
pub struct RequestLog;

/// The time when a request arrived.
struct StartedAt(Instant);

#[async_trait]
impl Fairing for RequestLog {
    fn info(&self) -> Info {
        Info {
            name: "request log",
            kind: Kind::Request | Kind::Response,
        }
    }

    async fn on_request(&self, request: &mut Request<'_>, _data: &mut Data<'_>) {
        request.local_cache(|| StartedAt(Instant::now()));
    }

    async fn on_response<'r>(&self, request: &'r Request<'_>, response: &mut Response<'r>) {
        response.set_raw_header(HEADER, RequestId::of(request).to_string());

        let StartedAt(started_at) = request.local_cache(|| StartedAt(Instant::now()));
        info!(
            parent: request_span(request),
            method = %request.method(),
            path = %request.uri().path(), // without the query, which may hold a key
            status = response.status().code,
            milliseconds = started_at.elapsed().as_secs_f64() * 1000.0,
            "answered"
        );
    }
}
// ANCHOR_END: request-log
