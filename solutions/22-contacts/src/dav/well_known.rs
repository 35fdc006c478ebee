//! `/.well-known/carddav` (RFC 6764): redirects a client that knows only the host, so that it finds the address book.

use std::sync::Arc;

use axum::{
    Router,
    http::{StatusCode, header::LOCATION},
    response::IntoResponse,
    routing::any,
};

use crate::service::Service;

// ANCHOR: well-known
/// The route, for every method and without a password: some clients use GET, others PROPFIND, and some append a slash to
/// the path.
pub fn routes() -> Router<Arc<Service>> {
    Router::new()
        .route("/.well-known/carddav", any(moved_to_the_entry))
        .route("/.well-known/carddav/", any(moved_to_the_entry))
}

/// Redirects with a 301 to the entry point at `/`.
async fn moved_to_the_entry() -> impl IntoResponse {
    (StatusCode::MOVED_PERMANENTLY, [(LOCATION, "/")])
}
// ANCHOR_END: well-known
