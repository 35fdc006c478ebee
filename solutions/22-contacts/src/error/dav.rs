//! WebDAV's own errors: violated preconditions and postconditions (RFC 4918, section 16).

use axum::{
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};

use crate::markup::{self, NAMESPACES};

// ANCHOR: dav-error
/// A WebDAV rule that a request violates. An XML element in the response names the rule.
#[derive(Debug)]
pub enum DavError {
    /// A PROPFIND asks for everything below the path (`Depth: infinity`).
    FiniteDepth,
    /// A REPORT asks for a report that isn't supported.
    SupportedReport,
    /// A query uses a filter that isn't supported.
    SupportedFilter,
    /// A query uses a collation that isn't supported.
    SupportedCollation,
    /// The sync token is malformed, from before the database was recreated, or from the future.
    ValidSyncToken,
    /// The client asks for a sync of infinite depth, but a book contains no collections.
    SyncTraversal,
    /// The media type or version of the vCard that is sent or requested isn't supported.
    SupportedAddressData,
    /// The body is not exactly one vCard with a version and a UID.
    ValidAddressData,
    /// The vCard is larger than the limit.
    MaxResourceSize,
    /// The contact at this path already has the UID, or the request would change its fixed UID.
    NoUidConflict(String),
}

impl DavError {
    /// The HTTP status of the response.
    pub fn status(&self) -> StatusCode {
        match self {
            DavError::SupportedAddressData => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            DavError::MaxResourceSize => StatusCode::PAYLOAD_TOO_LARGE,
            DavError::NoUidConflict(_) => StatusCode::CONFLICT,
            _ => StatusCode::FORBIDDEN,
        }
    }

    /// The XML element that identifies the rule.
    fn element(&self) -> String {
        match self {
            DavError::FiniteDepth => "<D:propfind-finite-depth/>".to_owned(),
            DavError::SupportedReport => "<D:supported-report/>".to_owned(),
            DavError::SupportedFilter => "<C:supported-filter/>".to_owned(),
            DavError::SupportedCollation => "<C:supported-collation/>".to_owned(),
            DavError::ValidSyncToken => "<D:valid-sync-token/>".to_owned(),
            DavError::SyncTraversal => "<D:sync-traversal-supported/>".to_owned(),
            DavError::MaxResourceSize => "<C:max-resource-size/>".to_owned(),
            DavError::SupportedAddressData => "<C:supported-address-data/>".to_owned(),
            DavError::ValidAddressData => "<C:valid-address-data/>".to_owned(),
            DavError::NoUidConflict(path) => format!(
                "<C:no-uid-conflict><D:href>{}</D:href></C:no-uid-conflict>",
                markup::escaped(path)
            ),
        }
    }

    /// The response, with the XML element in its body.
    pub fn to_response(&self) -> Response {
        let element = self.element();
        let body = format!(
            "{}<D:error{NAMESPACES}>{element}</D:error>",
            markup::DECLARATION
        );
        let content_type = [(CONTENT_TYPE, markup::CONTENT_TYPE)];
        (self.status(), content_type, body).into_response()
    }
}
// ANCHOR_END: dav-error
