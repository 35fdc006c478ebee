//! XML: parses request bodies into a tree with roxmltree.
//!
//! Bodies aren't trusted. DTDs are refused: they could declare entities that expand to gigabytes or refer to files on
//! this machine. Limits keep a body from occupying the parser longer than a WebDAV request needs.

use axum::{body::Body, http::HeaderMap};
use roxmltree::{Document, Node, ParsingOptions};

use crate::{
    error::Error,
    http::{
        body,
        content_type::{self, ContentType},
    },
};

/// The maximum size of a body, in bytes: enough for the paths of 5,000 contacts.
const MAX_BYTES: usize = 1 << 20;
/// The maximum number of elements, texts and comments: room for 5,000 paths, three nodes each.
const MAX_NODES: u32 = 20_000;
/// The maximum number of attributes per element: roxmltree compares each with the others.
const MAX_ATTRIBUTES: usize = 100;
/// The maximum number of declared prefixes: each declaration is compared with all in scope.
const MAX_PREFIXES: usize = 100;
/// The maximum nesting depth of elements.
const MAX_DEPTH: usize = 32;

/// Reads the body of a request as a string; `None` if it is empty.
///
/// # Errors
/// The type isn't XML in UTF-8 (415), or the body is too large (413) or isn't UTF-8 (400).
pub async fn read_body(headers: &HeaderMap, body: Body) -> Result<Option<String>, Error> {
    let bytes = body::read(headers, body, MAX_BYTES).await?;
    if bytes.trim_ascii().is_empty() {
        return Ok(None);
    }
    let is_xml = ContentType::of(headers).is_none_or(|content_type| {
        content_type.is_one_of(&MEDIA_TYPES) && content_type.is_utf8(&bytes)
    });
    if !is_xml || bytes.starts_with(&[0xFE, 0xFF]) || bytes.starts_with(&[0xFF, 0xFE]) {
        return Err(NOT_UTF8);
    }
    String::from_utf8(bytes).map(Some).map_err(|_| MALFORMED)
}

/// The media types that clients use for XML. Some clients declare it as plain text.
const MEDIA_TYPES: [&str; 3] = ["application/xml", "text/xml", "text/plain"];

const MALFORMED: Error = Error::BadRequest("the body must be well-formed XML in UTF-8");
const HAS_DTD: Error = Error::BadRequest("the body must not have a DTD");
const TOO_DEEP: Error = Error::BadRequest("the body must not nest more than 32 elements");
const TOO_MUCH: Error = Error::BadRequest(
    "the body must not have more than 20000 nodes, 100 prefixes, or 100 attributes of an element",
);
const NOT_UTF8: Error = Error::UnsupportedMediaType("the body must be XML in UTF-8");

// ANCHOR: read
/// Parses a document, with all names resolved to their namespaces.
///
/// # Errors
/// The document isn't well-formed, has a DTD, declares another encoding, or is too complex.
pub fn read(text: &str) -> Result<Document<'_>, Error> {
    let text = text.trim_start_matches('\u{FEFF}');
    refuse_excess(text)?;
    let options = ParsingOptions {
        allow_dtd: false,
        nodes_limit: MAX_NODES,
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(text, options).map_err(|error| match error {
        roxmltree::Error::DtdDetected => HAS_DTD,
        roxmltree::Error::NodesLimitReached => TOO_MUCH,
        _ => MALFORMED,
    })?;
    if document.descendants().any(|node| takes_back_prefix(&node)) {
        return Err(MALFORMED);
    }
    let is_too_deep = |node: Node| {
        let mut around = node.ancestors().filter(Node::is_element);
        around.nth(MAX_DEPTH).is_some()
    };
    if document.descendants().any(is_too_deep) {
        return Err(TOO_DEEP);
    }
    Ok(document)
}
// ANCHOR_END: read

/// Whether a node undeclares a prefix (`xmlns:a=""`): forbidden, but roxmltree accepts it.
fn takes_back_prefix(node: &Node) -> bool {
    node.namespaces()
        .any(|namespace| namespace.name().is_some() && namespace.uri().is_empty())
}

/// Refuses documents that would keep roxmltree comparing or copying for too long. A tag cannot contain a `<`, so each
/// piece between two of these characters contains at most one tag.
fn refuse_excess(text: &str) -> Result<(), Error> {
    let crowded = |tag: &str| tag.matches('=').count() > MAX_ATTRIBUTES;
    if text.split('<').any(crowded) || text.matches("xmlns:").count() > MAX_PREFIXES {
        return Err(TOO_MUCH);
    }
    match encoding(text) {
        Some(other) if !content_type::is_utf8(other, text.as_bytes()) => Err(NOT_UTF8),
        _ => Ok(()),
    }
}

/// The encoding in a document's XML declaration, such as `<?xml version="1.0" encoding="utf-8"?>`.
fn encoding(text: &str) -> Option<&str> {
    let (declaration, _) = text.strip_prefix("<?xml")?.split_once("?>")?;
    let (_, value) = declaration.split_once("encoding")?;
    let value = value.trim_start().strip_prefix('=')?.trim();
    value.split(['"', '\'']).nth(1)
}

/// The first child element with this name.
pub fn child<'a, 'input>(
    node: Node<'a, 'input>,
    namespace: &'a str,
    name: &'a str,
) -> Option<Node<'a, 'input>> {
    node.children()
        .find(|child| child.has_tag_name((namespace, name)))
}

/// The trimmed text of an element, without the text of its child elements.
pub fn text(node: Node) -> String {
    let texts = node.children().filter(Node::is_text);
    let text: String = texts.filter_map(|text| text.text()).collect();
    text.trim().to_owned()
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
        for same in [
            r#"<D:prop xmlns:D="DAV:"><D:getetag>1 &lt; 2 <![CDATA[& ]]>&#x41;<!-- not this --></D:getetag></D:prop>"#,
            "\u{FEFF}<prop xmlns=\"DAV:\"><getetag> 1 &lt; 2 &amp; A </getetag></prop>",
        ] {
            let document = read(same).unwrap();
            let tag = child(document.root_element(), DAV, "getetag").unwrap();
            assert_eq!(text(tag), "1 < 2 & A");
        }
    }

    #[test]
    fn what_could_harm_is_refused() {
        let entity = r#"<!DOCTYPE a [<!ENTITY e "eee">]><a>&e;</a>"#;
        assert_eq!(detail(entity), HAS_DTD.to_string());
        assert_eq!(detail("<a>&e;</a>"), MALFORMED.to_string());
        let deep = |depth: usize| "<a>".repeat(depth) + &"</a>".repeat(depth);
        assert!(read(&deep(MAX_DEPTH)).is_ok());
        assert_eq!(detail(&deep(MAX_DEPTH + 1)), TOO_DEEP.to_string());
        let attributes = |number: usize| {
            let attributes: String = (0..number)
                .map(|number| format!(" a{number} = ''"))
                .collect();
            format!("<a{attributes}/>")
        };
        assert!(read(&attributes(MAX_ATTRIBUTES)).is_ok());
        let prefixes = "<a xmlns:a='b'>".repeat(MAX_PREFIXES + 1);
        for excess in [
            attributes(MAX_ATTRIBUTES + 1),
            prefixes,
            format!("<a>{}</a>", "<b/>".repeat(20_000)),
        ] {
            assert_eq!(detail(&excess), TOO_MUCH.to_string());
        }
        for encoding in ["utf-16", "ISO-8859-1"] {
            let declared = format!("<?xml version='1.0' encoding = '{encoding}'?><a>\u{eb}</a>");
            assert_eq!(detail(&declared), NOT_UTF8.to_string());
        }
        for malformed in [
            "",
            "a",
            "<a>",
            "<a></b>",
            "<a/><a/>",
            "<a/>b",
            "<D:a/>",
            "<a xmlns:D=''/>",
            "</a>",
            "<a>\u{1}</a>",
        ] {
            assert_eq!(detail(malformed), MALFORMED.to_string(), "{malformed}");
        }
    }
}
