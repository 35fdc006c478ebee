//! The errors that WebDAV names: preconditions and postconditions (RFC 4918, section 16).

use axum::{
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};

use crate::markup::{self, NAMESPACES};

// ANCHOR: dav-error
/// A WebDAV rule that a request breaks. The response names the rule in an element of its body.
#[derive(Debug)]
pub enum DavError {
    /// PROPFIND asks for everything below the path.
    FiniteDepth,
    /// REPORT asks for a report that isn't supported.
    SupportedReport,
    /// A query filters by something that isn't supported.
    SupportedFilter,
    /// A query asks for a collation that isn't supported.
    SupportedCollation,
    /// The sync token is from another incarnation of the book or from the future, or isn't one.
    ValidSyncToken,
    /// The client asks for an infinitely deep sync, but there is nothing below the book.
    SyncTraversal,
    /// A vCard isn't declared as one, its version isn't 3.0 or 4.0, or another format is requested.
    SupportedAddressData,
    /// The body is not exactly one vCard with a version and a UID.
    ValidAddressData,
    /// The vCard is larger than the limit.
    MaxResourceSize,
    /// The contact at this path already has the UID, or has a different UID, which must not change.
    NoUidConflict(String),
}

impl DavError {
    /// The status of the answer.
    pub fn status(&self) -> StatusCode {
        match self {
            DavError::SupportedAddressData => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            DavError::MaxResourceSize => StatusCode::PAYLOAD_TOO_LARGE,
            DavError::NoUidConflict(_) => StatusCode::CONFLICT,
            _ => StatusCode::FORBIDDEN,
        }
    }

    /// The element that names the rule.
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

    /// The answer.
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
