//! `GET /metrics`: the metrics in Prometheus's format, the same that a collector gets.

use prometheus::{TEXT_FORMAT, TextEncoder};
use rocket::{get, http::ContentType};

use crate::error::Error;

// ANCHOR: metrics
/// Answers all metrics. Like `/health` it needs no key: nginx doesn't expose it.
#[get("/metrics")]
pub fn metrics() -> Result<(ContentType, String), Error> {
    let text = TextEncoder::new().encode_to_string(&prometheus::gather())?;
    let version = ContentType::parse_flexible(TEXT_FORMAT).unwrap_or(ContentType::Plain);
    Ok((version, text))
}
// ANCHOR_END: metrics
