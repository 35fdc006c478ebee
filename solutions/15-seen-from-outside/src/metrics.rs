//! `GET /metrics`: the same metrics that the collector gets, in the Prometheus text format.

use prometheus::{TEXT_FORMAT, TextEncoder};
use rocket::{get, http::ContentType};

use crate::error::Error;

// ANCHOR: metrics
/// Returns all metrics. Like `/health`, this route needs no key: nginx doesn't expose it.
#[get("/metrics")]
pub fn metrics() -> Result<(ContentType, String), Error> {
    let text = TextEncoder::new().encode_to_string(&prometheus::gather())?;
    let version = ContentType::parse_flexible(TEXT_FORMAT).unwrap_or(ContentType::Plain);
    Ok((version, text))
}
// ANCHOR_END: metrics
