//! Request bodies: reads them completely, within limits on size and time.

use std::time::Duration;

use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, header::CONTENT_ENCODING},
};
use http_body_util::BodyExt;
use tokio::time::timeout;

use crate::error::Error;

/// The time limit for a client to send a body.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Reads a body of at most `limit` bytes.
///
/// # Errors
/// The body is larger, is compressed, or does not arrive in time, or the connection breaks.
pub async fn read(headers: &HeaderMap, body: Body, limit: usize) -> Result<Vec<u8>, Error> {
    let is_encoded = |coding: &HeaderValue| !coding.as_bytes().eq_ignore_ascii_case(b"identity");
    if headers.get_all(CONTENT_ENCODING).iter().any(is_encoded) {
        return Err(Error::UnsupportedMediaType("the body must not be encoded"));
    }
    timeout(PATIENCE, gather(body, limit))
        .await
        .unwrap_or(Err(Error::ClientTooSlow))
}

async fn gather(mut body: Body, limit: usize) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Error::BadRequest("the body ends in the middle"))?;
        let Some(data) = frame.data_ref() else {
            continue;
        };
        if bytes.len() + data.len() > limit {
            return Err(Error::BodyTooLarge(limit));
        }
        bytes.extend_from_slice(data);
    }
    Ok(bytes)
}
