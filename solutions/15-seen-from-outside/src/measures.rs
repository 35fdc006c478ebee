//! The request metrics: the number of requests, their duration, and how many are active.

use std::time::Instant;

use opentelemetry::{
    KeyValue, global,
    metrics::{Histogram, UpDownCounter},
};
use rocket::{
    Data, Request, Response, async_trait,
    fairing::{Fairing, Info, Kind},
};

use crate::request_span::route_of;

/// The histogram bucket boundaries that the semantic conventions recommend, in seconds.
const SECONDS: [f64; 14] = [
    0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
];

// ANCHOR: measures
/// Measures requests per route, not per path: each id in a path would add a time series.
pub struct Measures {
    duration: Histogram<f64>,
    active: UpDownCounter<i64>,
}

impl Measures {
    /// Creates the instruments with a meter from the global provider.
    pub fn new() -> Measures {
        let meter = global::meter("records");
        Measures {
            duration: meter
                .f64_histogram("http.server.request.duration")
                .with_unit("s")
                .with_description("Duration of HTTP server requests.")
                .with_boundaries(SECONDS.into())
                .build(),
            active: meter
                .i64_up_down_counter("http.server.active_requests")
                .with_unit("{request}")
                .with_description("Number of active HTTP server requests.")
                .build(),
        }
    }
}

/// A guard: the request counts as active until the guard is dropped, however the request ends.
struct UnderWay {
    since: Instant,
    active: UpDownCounter<i64>,
    attributes: [KeyValue; 2],
}

impl UnderWay {
    fn new(active: &UpDownCounter<i64>, method: &'static str) -> UnderWay {
        let attributes = of_each(method);
        active.add(1, &attributes);
        UnderWay {
            since: Instant::now(),
            active: active.clone(),
            attributes,
        }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.active.add(-1, &self.attributes);
    }
}

/// The attributes that both metrics of a request have.
fn of_each(method: &'static str) -> [KeyValue; 2] {
    [
        KeyValue::new("http.request.method", method),
        KeyValue::new("url.scheme", "http"),
    ]
}

#[async_trait]
impl Fairing for Measures {
    fn info(&self) -> Info {
        Info {
            name: "measures",
            kind: Kind::Request | Kind::Response,
        }
    }

    async fn on_request(&self, request: &mut Request<'_>, _data: &mut Data<'_>) {
        let method = request.method().as_str();
        request.local_cache(|| UnderWay::new(&self.active, method));
    }

    async fn on_response<'r>(&self, request: &'r Request<'_>, response: &mut Response<'r>) {
        let method = request.method().as_str();
        let under_way = request.local_cache(|| UnderWay::new(&self.active, method));

        let status = response.status();
        let mut attributes = of_each(method).to_vec();
        attributes.push(KeyValue::new(
            "http.response.status_code",
            i64::from(status.code),
        ));
        if let Some(route) = route_of(request) {
            attributes.push(KeyValue::new("http.route", route));
        }
        if status.class().is_server_error() {
            attributes.push(KeyValue::new("error.type", status.code.to_string()));
        }
        let seconds = under_way.since.elapsed().as_secs_f64();
        self.duration.record(seconds, &attributes);
    }
}
// ANCHOR_END: measures
