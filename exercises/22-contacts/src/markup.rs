//! Markup: the parts that all written XML needs.

/// The namespaces of WebDAV, of CardDAV and of Apple's calendar server, which many clients ask for.
pub const DAV: &str = "DAV:";
pub const CARDDAV: &str = "urn:ietf:params:xml:ns:carddav";
pub const CALENDAR_SERVER: &str = "http://calendarserver.org/ns/";

/// The beginning of a document, the declarations of its root element, and its content type.
pub const DECLARATION: &str = r#"<?xml version="1.0" encoding="utf-8"?>"#;
pub const NAMESPACES: &str = concat!(
    r#" xmlns:D="DAV:""#,
    r#" xmlns:C="urn:ietf:params:xml:ns:carddav""#,
    r#" xmlns:S="http://calendarserver.org/ns/""#
);
pub const CONTENT_TYPE: &str = "application/xml; charset=utf-8";

/// A text as it can be put between two tags or into an attribute. An XML parser would turn a carriage return into a line feed,
/// so it is written as a reference: a vCard keeps its line breaks.
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

/// Whether an XML document may have this character in it, and a vCard too.
pub fn is_text(character: char) -> bool {
    match character {
        '\t' | '\r' | '\n' => true,
        '\u{FFFE}' | '\u{FFFF}' => false,
        other => other >= ' ',
    }
}
