//! The metrics of all requests together: their number, their duration, and how many are under way.

use rocket::{
    Data, Request, Response, async_trait,
    fairing::{Fairing, Info, Kind},
};

/// The buckets that the semantic conventions advise, in seconds.
#[expect(dead_code, reason = "your histogram needs it; then delete this")]
const SECONDS: [f64; 14] = [
    0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
];

// ANCHOR: measures
/// Measures each request, by its route. By its path, each id would be a series of its own.
pub struct Measures;

impl Measures {
    /// Your task: a histogram and an up-down counter of the global meter.
    pub fn new() -> Measures {
        Measures
    }
}

#[async_trait]
impl Fairing for Measures {
    fn info(&self) -> Info {
        Info {
            name: "measures",
            kind: Kind::Request | Kind::Response,
        }
    }

    /// Your task: one more request is under way, until it ends, whichever way it ends.
    async fn on_request(&self, _request: &mut Request<'_>, _data: &mut Data<'_>) {}

    /// Your task: record the duration of the request, and how it was answered.
    async fn on_response<'r>(&self, _request: &'r Request<'_>, _response: &mut Response<'r>) {}
}
// ANCHOR_END: measures
