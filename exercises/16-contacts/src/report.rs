//! REPORT: which of the three reports of an address book it is.

use axum::{
    extract::Request,
    response::{IntoResponse, Response},
};

use crate::{
    dav_error::DavError,
    error::Error,
    markup::{CARDDAV, DAV},
    multiget, query,
    service::Service,
    sync_report,
    users::User,
    xml::{self, Element},
};

/// Answers a report on the user's address book.
pub async fn report(service: &Service, user: &User, request: Request) -> Result<Response, Error> {
    let (head, body) = request.into_parts();
    let body = xml::read_body(&head.headers, body).await?;
    let body = body.ok_or(Error::BadRequest("a report must have a body"))?;
    let name = &body.name;
    let answer = match (name.namespace.as_str(), name.local.as_str()) {
        (CARDDAV, "addressbook-multiget") => multiget::multiget(service, user, &body).await?,
        (CARDDAV, "addressbook-query") => query::query(service, user, &body).await?,
        (DAV, "sync-collection") => {
            sync_report::sync_collection(service, user, &head.headers, &body).await?
        }
        _ => return Err(DavError::SupportedReport.into()),
    };
    Ok(answer.into_response())
}

/// The most resources that a report asks for: `limit`, and `nresults` in it, whose namespace is that of the report.
///
/// # Errors
/// It is no number, or 0.
pub fn limit(report: &Element, namespace: &str) -> Result<Option<usize>, Error> {
    let Some(limit) = report.child(namespace, "limit") else {
        return Ok(None);
    };
    let most = limit.child(namespace, "nresults");
    let most = most.and_then(|most| most.text.trim().parse().ok());
    match most {
        Some(most @ 1..) => Ok(Some(most)),
        _ => Err(Error::BadRequest(
            "nresults must be a whole number, 1 or more",
        )),
    }
}
