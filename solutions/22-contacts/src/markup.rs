//! Markup: the parts shared by all XML documents that the service writes.

/// The namespaces of WebDAV, CardDAV and Apple's calendar server (which many clients use).
pub const DAV: &str = "DAV:";
pub const CARDDAV: &str = "urn:ietf:params:xml:ns:carddav";
pub const CALENDAR_SERVER: &str = "http://calendarserver.org/ns/";

/// The XML declaration, the namespace declarations of the root element, and the content type.
pub const DECLARATION: &str = r#"<?xml version="1.0" encoding="utf-8"?>"#;
pub const NAMESPACES: &str = concat!(
    r#" xmlns:D="DAV:""#,
    r#" xmlns:C="urn:ietf:params:xml:ns:carddav""#,
    r#" xmlns:S="http://calendarserver.org/ns/""#
);
pub const CONTENT_TYPE: &str = "application/xml; charset=utf-8";

/// Escapes a string for an element or an attribute. Carriage returns become references: an
/// XML parser would turn them into line feeds, but a vCard has to keep its line breaks.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\r' => escaped += "&#13;",
            other => escaped.push(other),
        }
    }
    escaped
}

/// Whether this character is allowed in both XML documents and vCards.
pub fn is_text(character: char) -> bool {
    match character {
        '\t' | '\r' | '\n' => true,
        '\u{FFFE}' | '\u{FFFF}' => false,
        other => other >= ' ',
    }
}
