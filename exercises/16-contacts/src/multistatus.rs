//! The multistatus: one answer about many resources, by RFC 4918, section 13.

use axum::{
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};

use crate::{
    markup::{self, CALENDAR_SERVER, CARDDAV, DAV, NAMESPACES},
    properties::Asked,
    xml::Name,
};

// ANCHOR: multistatus
/// The body of a 207, as far as it is written.
pub struct Multistatus {
    xml: String,
}

impl Multistatus {
    /// One that says nothing yet.
    pub fn new() -> Multistatus {
        let xml = format!("{}<D:multistatus{NAMESPACES}>", markup::DECLARATION);
        Multistatus { xml }
    }

    /// Says what was asked of the resource at this path. `value_of` gives the content of a property's element, or nothing when
    /// the resource has no such property.
    pub fn describe(
        &mut self,
        path: &str,
        asked: &Asked,
        value_of: impl Fn(&Name) -> Option<String>,
    ) {
        let (mut found, mut missing) = (String::new(), String::new());
        for name in asked.names() {
            match value_of(name) {
                Some(value) => found += &element(name, &asked.shown(value)),
                // Who asks for all of them asks for those that there are.
                None if asked.is_for_all() => {}
                None => missing += &element(name, ""),
            }
        }
        self.xml += &format!("<D:response><D:href>{}</D:href>", markup::escaped(path));
        if !found.is_empty() || missing.is_empty() {
            self.propstat(&found, "200 OK");
        }
        if !missing.is_empty() {
            self.propstat(&missing, "404 Not Found");
        }
        self.xml += "</D:response>";
    }

    fn propstat(&mut self, properties: &str, status: &str) {
        self.xml += &format!(
            "<D:propstat><D:prop>{properties}</D:prop><D:status>HTTP/1.1 {status}</D:status></D:propstat>"
        );
    }

    /// Says that nothing is at this path, or not any more.
    pub fn missing(&mut self, path: &str) {
        self.status(path, "404 Not Found", "");
    }

    /// Says that there is more than was asked for at most.
    pub fn more(&mut self, path: &str) {
        let reason = "<D:error><D:number-of-matches-within-limits/></D:error>";
        self.status(path, "507 Insufficient Storage", reason);
    }

    fn status(&mut self, path: &str, status: &str, reason: &str) {
        let path = markup::escaped(path);
        self.xml += &format!(
            "<D:response><D:href>{path}</D:href><D:status>HTTP/1.1 {status}</D:status>{reason}</D:response>"
        );
    }

    /// Says up to where the client knows the book now.
    pub fn sync_token(&mut self, token: &str) {
        self.xml += &format!("<D:sync-token>{}</D:sync-token>", markup::escaped(token));
    }
}

impl IntoResponse for Multistatus {
    fn into_response(self) -> Response {
        let body = self.xml + "</D:multistatus>";
        let content_type = [(CONTENT_TYPE, markup::CONTENT_TYPE)];
        (StatusCode::MULTI_STATUS, content_type, body).into_response()
    }
}
// ANCHOR_END: multistatus

/// The element of a property.
fn element(name: &Name, content: &str) -> String {
    let Name { namespace, local } = name;
    let (tag, declaration) = match namespace.as_str() {
        DAV => (format!("D:{local}"), String::new()),
        CARDDAV => (format!("C:{local}"), String::new()),
        CALENDAR_SERVER => (format!("S:{local}"), String::new()),
        "" => (local.clone(), String::new()),
        other => (
            format!("x:{local}"),
            format!(r#" xmlns:x="{}""#, markup::escaped(other)),
        ),
    };
    match content {
        "" => format!("<{tag}{declaration}/>"),
        content => format!("<{tag}{declaration}>{content}</{tag}>"),
    }
}
