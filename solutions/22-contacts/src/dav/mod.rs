//! WebDAV: authenticates the user, finds the resource at the path, and calls a handler.

mod delete;
mod get;
mod multistatus;
mod paths;
mod properties;
mod propfind;
mod proppatch;
mod put;
mod report;
mod since;
pub mod well_known;
mod xml;

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::{StatusCode, header::ALLOW},
    response::{IntoResponse, Response},
};

use self::paths::Resource;
use crate::{error::Error, service::Service};

// ANCHOR: methods
/// Handles requests that match no other route: authenticates the user, then checks the path.
pub async fn serve(
    State(service): State<Arc<Service>>,
    request: Request,
) -> Result<Response, Error> {
    let user = service.users.admit(request.headers())?;
    let resource = Resource::at(request.uri().path(), &user)?;
    let method = request.method().clone();
    match (method.as_str(), &resource) {
        ("OPTIONS", _) => Ok(options(&resource)),
        ("PROPFIND", _) => propfind::propfind(&service, &user, resource, request).await,
        ("PROPPATCH", _) => proppatch::proppatch(&service, &user, request).await,
        ("REPORT", Resource::Book) => report::report(&service, &user, request).await,
        ("GET" | "HEAD", Resource::Contact { name }) => {
            get::get(&service, &user, name, request.headers()).await
        }
        ("PUT", Resource::Contact { name }) => put::put(&service, &user, name, request).await,
        ("DELETE", Resource::Contact { name }) => {
            delete::delete(&service, &user, name, request.headers()).await
        }
        _ => Err(Error::MethodNotAllowed(resource.allow())),
    }
}
// ANCHOR_END: methods

/// Announces the compliance classes: 1 and 3 (RFC 4918), and `addressbook` (RFC 6352).
fn options(resource: &Resource) -> Response {
    let headers = [
        ("dav", "1, 3, addressbook"),
        (ALLOW.as_str(), resource.allow()),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}
