//! REPORT: parses the request for one of an address book's three reports, and runs the report.

mod filter;
mod listing;
mod multiget;
mod query;
mod sync_collection;

use std::sync::Arc;

use axum::{extract::Request, response::Response};
use roxmltree::Node;

use self::filter::Filter;
use crate::{
    dav::{properties::Asked, xml},
    error::{Error, dav::DavError},
    markup::{CARDDAV, DAV},
    service::Service,
    users::User,
};

/// A parsed request for a report.
enum Report {
    /// The contacts at these paths.
    Multiget(Vec<String>),
    /// The contacts that match a filter, and the maximum number of them.
    Query(Filter, Option<usize>),
    /// The changes since a sync token, and the maximum number of them.
    SyncCollection(String, Option<usize>),
}

/// Runs a report on the user's address book. `Depth` is ignored: there is nothing below a contact.
pub async fn report(
    service: &Arc<Service>,
    user: &User,
    request: Request,
) -> Result<Response, Error> {
    let (head, body) = request.into_parts();
    let body = xml::read_body(&head.headers, body).await?;
    let body = body.ok_or(Error::BadRequest("a report must have a body"))?;
    let (report, asked) = service.computing.run(move || Report::read(&body)).await?;
    match report {
        Report::Multiget(hrefs) => multiget::multiget(service, user, asked, hrefs).await,
        Report::Query(filter, limit) => query::query(service, user, asked, filter, limit).await,
        Report::SyncCollection(token, limit) => {
            sync_collection::sync_collection(service, user, asked, &token, limit).await
        }
    }
}

impl Report {
    /// Parses the body of the request.
    fn read(body: &str) -> Result<(Report, Asked), Error> {
        let document = xml::read(body)?;
        let root = document.root_element();
        let name = root.tag_name();
        let report = match (name.namespace().unwrap_or_default(), name.name()) {
            (CARDDAV, "addressbook-multiget") => Report::Multiget(hrefs(root)),
            (CARDDAV, "addressbook-query") => {
                let filter = Filter::of(xml::child(root, CARDDAV, "filter"))?;
                Report::Query(filter, limit(root, CARDDAV)?)
            }
            (DAV, "sync-collection") => {
                refuse_other_levels(root)?;
                let token = xml::child(root, DAV, "sync-token").map(xml::text);
                let token = token.ok_or(Error::BadRequest("there must be a sync-token"))?;
                Report::SyncCollection(token, limit(root, DAV)?)
            }
            _ => return Err(DavError::SupportedReport.into()),
        };
        if let Some(data) = address_data(root)
            && !is_available(data)
        {
            return Err(DavError::SupportedAddressData.into());
        }
        Ok((report, Asked::of(root)?))
    }
}

fn hrefs(report: Node) -> Vec<String> {
    let hrefs = report.children();
    let hrefs = hrefs.filter(|child| child.has_tag_name((DAV, "href")));
    hrefs.map(xml::text).collect()
}

fn refuse_other_levels(report: Node) -> Result<(), Error> {
    match xml::child(report, DAV, "sync-level")
        .map(xml::text)
        .as_deref()
    {
        // Some clients omit `sync-level`, and mean 1.
        Some("1") | None => Ok(()),
        Some("infinite") => Err(DavError::SyncTraversal.into()),
        _ => Err(Error::BadRequest("sync-level must be 1")),
    }
}

/// The element `address-data`, which requests the vCards themselves.
fn address_data<'a>(report: Node<'a, 'a>) -> Option<Node<'a, 'a>> {
    xml::child(xml::child(report, DAV, "prop")?, CARDDAV, "address-data")
}

/// Whether this format is available. vCards aren't converted between versions: the response states each card's version.
fn is_available(address_data: Node) -> bool {
    let content_type = address_data
        .attribute("content-type")
        .unwrap_or("text/vcard");
    let version = address_data.attribute("version").unwrap_or("3.0");
    content_type.eq_ignore_ascii_case("text/vcard") && ["3.0", "4.0"].contains(&version)
}

/// The maximum number of resources in the response: `nresults` in `limit`, both in the report's namespace.
///
/// # Errors
/// `nresults` is missing, or isn't a whole number from 1 to 2147483647.
fn limit(report: Node, namespace: &str) -> Result<Option<usize>, Error> {
    let Some(limit) = xml::child(report, namespace, "limit") else {
        return Ok(None);
    };
    let most = xml::child(limit, namespace, "nresults").map(xml::text);
    match most.and_then(|most| most.parse::<i32>().ok()) {
        Some(most @ 1..) => Ok(usize::try_from(most).ok()),
        _ => Err(Error::BadRequest(
            "nresults must be a whole number, 1 to 2147483647",
        )),
    }
}
