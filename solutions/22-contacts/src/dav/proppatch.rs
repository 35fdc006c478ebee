//! PROPPATCH: refuses every change, because all properties of an address book are protected.

use std::sync::Arc;

use axum::{extract::Request, response::Response};
use roxmltree::Node;

use crate::{
    dav::{multistatus, properties::Asked, xml},
    error::Error,
    markup::DAV,
    service::Service,
    users::User,
};

/// Answers 403 for each property that the client wants to set or to remove.
pub async fn proppatch(
    service: &Arc<Service>,
    user: &User,
    request: Request,
) -> Result<Response, Error> {
    let (head, body) = request.into_parts();
    let path = head.uri.path().to_owned();
    let body = xml::read_body(&head.headers, body)
        .await?
        .unwrap_or_default();
    let asked = service.computing.run(move || read(&body)).await?;
    multistatus::answer(user, asked, move |mut answer| async move {
        answer.protect(&path);
        answer.end().await
    })
    .await
}

/// The properties that a `propertyupdate` would set or remove.
fn read(body: &str) -> Result<Asked, Error> {
    let document = xml::read(body)?;
    let root = document.root_element();
    if !root.has_tag_name((DAV, "propertyupdate")) {
        return Err(Error::BadRequest("the body must be a propertyupdate"));
    }
    let updates = root.children().filter(Node::is_element);
    let props = updates.filter_map(|update| xml::child(update, DAV, "prop"));
    Asked::named(props.flat_map(|prop| prop.children()))
}
