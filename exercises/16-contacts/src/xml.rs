//! XML: the bodies of requests, read into a small tree.
//!
//! A body comes from somebody else. So it may not bring a DTD, which could declare entities that grow to gigabytes or name files
//! of this machine, and its elements may not be nested more deeply than any request of WebDAV needs.

use axum::{
    body::Body,
    http::{HeaderMap, header},
};
use quick_xml::{
    NsReader, XmlVersion,
    events::{BytesDecl, BytesRef, BytesStart, Event},
    name::ResolveResult,
};

use crate::{body, error::Error, markup::is_text};

/// The largest body, in bytes.
const MAX_BYTES: usize = 64 * 1024;
/// How deeply elements may be nested.
const MAX_DEPTH: usize = 32;

// ANCHOR: element
/// A name: its namespace, which is empty where there is none, and its local part.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Name {
    pub namespace: String,
    pub local: String,
}

impl Name {
    /// Whether it is this one.
    pub fn is(&self, namespace: &str, local: &str) -> bool {
        self.namespace == namespace && self.local == local
    }
}

/// An element with all that is in it.
#[derive(Debug, Default)]
pub struct Element {
    pub name: Name,
    pub children: Vec<Element>,
    /// The text in it, without that of its children.
    pub text: String,
    attributes: Vec<(String, String)>,
}

impl Element {
    /// The first child with this name.
    pub fn child(&self, namespace: &str, local: &str) -> Option<&Element> {
        let mut children = self.children.iter();
        children.find(|child| child.name.is(namespace, local))
    }

    /// The children with this name.
    pub fn children<'a>(
        &'a self,
        namespace: &'a str,
        local: &'a str,
    ) -> impl Iterator<Item = &'a Element> {
        let children = self.children.iter();
        children.filter(move |child| child.name.is(namespace, local))
    }

    /// The value of an attribute.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let mut attributes = self.attributes.iter();
        let (_, value) = attributes.find(|(other, _)| other == name)?;
        Some(value)
    }
}
// ANCHOR_END: element

/// Reads the body of a request; `None` when it has none.
///
/// # Errors
/// 415 when it is said to be something else than XML in UTF-8, 413 when it is too large, 400 when it is not well-formed, has a
/// DTD, or is nested too deeply.
pub async fn read_body(headers: &HeaderMap, body: Body) -> Result<Option<Element>, Error> {
    let bytes = body::read(headers, body, MAX_BYTES).await?;
    if bytes.is_empty() {
        return Ok(None);
    }
    if !is_xml(headers) || bytes.starts_with(&[0xFE, 0xFF]) || bytes.starts_with(&[0xFF, 0xFE]) {
        return Err(NOT_UTF8);
    }
    let text = str::from_utf8(&bytes).map_err(|_| MALFORMED)?;
    read(text).map(Some)
}

/// Whether the body is said to be XML in UTF-8, or nothing is said of it.
fn is_xml(headers: &HeaderMap) -> bool {
    let Some(content_type) = headers.get(header::CONTENT_TYPE) else {
        return true;
    };
    let content_type = content_type.to_str().unwrap_or_default();
    is_utf8_of(content_type, &["application/xml", "text/xml"])
}

/// Whether a content type is one of these media types, in UTF-8 if it says in what.
pub fn is_utf8_of(content_type: &str, media_types: &[&str]) -> bool {
    let mut parts = content_type.split(';').map(str::trim);
    let media_type = parts.next().unwrap_or_default();
    let other_charset = parts.any(|parameter| {
        let (name, value) = parameter.split_once('=').unwrap_or_default();
        name.eq_ignore_ascii_case("charset")
            && !value.trim_matches('"').eq_ignore_ascii_case("utf-8")
    });
    !other_charset
        && media_types
            .iter()
            .any(|other| other.eq_ignore_ascii_case(media_type))
}

const MALFORMED: Error = Error::BadRequest("the body must be well-formed XML in UTF-8");
const HAS_DTD: Error = Error::BadRequest("the body must not have a DTD");
const TOO_DEEP: Error = Error::BadRequest("the body must not nest more than 32 elements");
const NOT_UTF8: Error = Error::UnsupportedMediaType("the body must be XML in UTF-8");

// ANCHOR: read
/// Reads a document into a tree.
fn read(text: &str) -> Result<Element, Error> {
    if !text.chars().all(is_text) {
        return Err(MALFORMED);
    }
    let mut reader = NsReader::from_str(text.trim_start_matches('\u{FEFF}'));
    reader.config_mut().expand_empty_elements = true; // <a/> comes as <a></a>
    // The elements that are open, the outermost first: it holds the document when it is closed.
    let mut open = vec![Element::default()];
    loop {
        let (namespace, event) = reader.read_resolved_event().map_err(|_| MALFORMED)?;
        let depth = open.len();
        let Some(innermost) = open.last_mut() else {
            return Err(MALFORMED);
        };
        match event {
            Event::Start(start) if depth <= MAX_DEPTH => {
                open.push(element(namespace, &start)?);
            }
            Event::Start(_) => return Err(TOO_DEEP),
            Event::End(_) => {
                let closed = open.pop().ok_or(MALFORMED)?;
                open.last_mut().ok_or(MALFORMED)?.children.push(closed);
            }
            Event::Text(text) => innermost.text += &text.decode().map_err(|_| MALFORMED)?,
            Event::CData(data) => innermost.text += &data.decode().map_err(|_| MALFORMED)?,
            Event::GeneralRef(reference) => innermost.text.push(character(&reference)?),
            Event::Decl(declaration) => refuse_other_encodings(&declaration)?,
            Event::DocType(_) => return Err(HAS_DTD),
            Event::Eof => break,
            Event::Comment(_) | Event::PI(_) | Event::Empty(_) => {}
        }
    }
    let [document] = open.as_mut_slice() else {
        return Err(MALFORMED); // something is still open
    };
    let root = document.children.pop().ok_or(MALFORMED)?;
    match document.children.is_empty() && document.text.trim().is_empty() {
        true => Ok(root),
        false => Err(MALFORMED), // something is beside the root
    }
}
// ANCHOR_END: read

fn element(namespace: ResolveResult, start: &BytesStart) -> Result<Element, Error> {
    let namespace = match namespace {
        ResolveResult::Bound(namespace) => text(namespace.into_inner())?,
        ResolveResult::Unbound => String::new(),
        ResolveResult::Unknown(_) => return Err(MALFORMED), // a prefix that nobody has declared
    };
    let attributes = start.attributes().map(|attribute| {
        let attribute = attribute.map_err(|_| MALFORMED)?;
        let value = attribute
            .normalized_value(XmlVersion::Implicit1_0)
            .map_err(|_| MALFORMED)?;
        Ok((text(attribute.key.into_inner())?, value.into_owned()))
    });
    Ok(Element {
        name: Name {
            namespace,
            local: text(start.local_name().into_inner())?,
        },
        attributes: attributes.collect::<Result<_, Error>>()?,
        ..Element::default()
    })
}

fn text(bytes: &[u8]) -> Result<String, Error> {
    String::from_utf8(bytes.to_owned()).map_err(|_| MALFORMED)
}

/// The character that a reference means: `&#xE4;`, or one of the five that XML itself knows. All others need a DTD.
fn character(reference: &BytesRef) -> Result<char, Error> {
    if let Some(character) = reference.resolve_char_ref().map_err(|_| MALFORMED)? {
        return Ok(character);
    }
    match reference.decode().map_err(|_| MALFORMED)?.as_ref() {
        "amp" => Ok('&'),
        "lt" => Ok('<'),
        "gt" => Ok('>'),
        "quot" => Ok('"'),
        "apos" => Ok('\''),
        _ => Err(MALFORMED),
    }
}

fn refuse_other_encodings(declaration: &BytesDecl) -> Result<(), Error> {
    match declaration.encoding() {
        Some(Ok(encoding)) if !encoding.eq_ignore_ascii_case(b"utf-8") => Err(NOT_UTF8),
        Some(Err(_)) => Err(MALFORMED),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::DAV;

    fn detail(text: &str) -> String {
        read(text).expect_err(text).to_string()
    }

    #[test]
    fn names_are_known_by_their_namespaces_and_not_by_their_prefixes() {
        let one =
            read(r#"<D:prop xmlns:D="DAV:"><D:getetag/><x xmlns="urn:x" a="1&amp;2"/></D:prop>"#);
        let one = one.unwrap();
        assert!(one.name.is(DAV, "prop"));
        assert!(one.child(DAV, "getetag").is_some());
        assert_eq!(one.children[1].attribute("a"), Some("1&2"));
        assert!(one.children[1].name.is("urn:x", "x"));
        let same = read(r#"<prop xmlns="DAV:"><getetag></getetag></prop>"#).unwrap();
        assert!(same.child(DAV, "getetag").is_some());
    }

    #[test]
    fn text_is_what_it_means() {
        let text = read("<a>1 &lt; 2 <![CDATA[& ]]>&#x41;<!-- not this --></a>")
            .unwrap()
            .text;
        assert_eq!(text, "1 < 2 & A");
    }

    #[test]
    fn what_could_harm_is_refused() {
        let entity = r#"<!DOCTYPE a [<!ENTITY e "eee">]><a>&e;</a>"#;
        assert_eq!(detail(entity), HAS_DTD.to_string());
        assert_eq!(detail("<a>&e;</a>"), MALFORMED.to_string());
        let deep = |depth: usize| "<a>".repeat(depth) + &"</a>".repeat(depth);
        assert!(read(&deep(MAX_DEPTH)).is_ok());
        assert_eq!(detail(&deep(MAX_DEPTH + 1)), TOO_DEEP.to_string());
        assert_eq!(
            detail(r#"<?xml version="1.0" encoding="utf-16"?><a/>"#),
            NOT_UTF8.to_string()
        );
        for malformed in [
            "",
            "a",
            "<a>",
            "<a></b>",
            "<a/><a/>",
            "<a/>b",
            "<D:a/>",
            "</a>",
            "<a>\u{1}</a>",
        ] {
            assert_eq!(detail(malformed), MALFORMED.to_string(), "{malformed}");
        }
    }
}
