//! Metrics of all requests: their number, their duration, and how many are in flight.
//! `GET /metrics` is the endpoint that Prometheus scrapes.

use std::time::Instant;

use axum::{
    extract::{Request, State},
    http::header::CONTENT_TYPE,
    middleware::Next,
    response::{IntoResponse, Response},
};
use opentelemetry::{
    KeyValue, global,
    metrics::{Histogram, UpDownCounter},
};
use prometheus::{TEXT_FORMAT, TextEncoder};

use crate::{
    error::Error,
    request_span::{method_of, route_of},
};

/// The histogram bucket boundaries that the semantic conventions recommend, in seconds.
const SECONDS: [f64; 14] = [
    0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
];

/// The instruments.
#[derive(Clone)]
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

/// A guard that counts a request as in flight, and is dropped even if the client hangs up.
struct UnderWay<'a> {
    active: &'a UpDownCounter<i64>,
    attributes: &'a [KeyValue],
}

impl<'a> UnderWay<'a> {
    fn new(active: &'a UpDownCounter<i64>, attributes: &'a [KeyValue]) -> UnderWay<'a> {
        active.add(1, attributes);
        UnderWay { active, attributes }
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.active.add(-1, self.attributes);
    }
}

// ANCHOR: measure
/// Measures a request by its route: by path, each id would create its own time series.
pub async fn measure(State(measures): State<Measures>, request: Request, next: Next) -> Response {
    let of_each = [
        KeyValue::new("http.request.method", method_of(&request)),
        KeyValue::new("url.scheme", "http"),
    ];
    let route = route_of(&request).map(str::to_owned);
    let since = Instant::now();
    let response = {
        let _under_way = UnderWay::new(&measures.active, &of_each);
        next.run(request).await
    };
    let status = response.status();
    let mut attributes = of_each.to_vec();
    let code = i64::from(status.as_u16());
    attributes.push(KeyValue::new("http.response.status_code", code));
    attributes.extend(route.map(|route| KeyValue::new("http.route", route)));
    if status.is_server_error() {
        let code = status.as_str().to_owned();
        attributes.push(KeyValue::new("error.type", code));
    }
    let seconds = since.elapsed().as_secs_f64();
    measures.duration.record(seconds, &attributes);
    response
}
// ANCHOR_END: measure

/// `GET /metrics`: the metrics that the collector also gets, in Prometheus's text format.
/// No key is needed, as for `/health`: nginx blocks access from outside.
pub async fn page() -> Result<impl IntoResponse, Error> {
    let text = TextEncoder::new().encode_to_string(&prometheus::gather())?;
    Ok(([(CONTENT_TYPE, TEXT_FORMAT)], text))
}
