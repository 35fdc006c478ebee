//! `Content-Type`: the media type of a body, and its encoding.

use axum::http::{HeaderMap, header::CONTENT_TYPE};
use encoding_rs::{Encoding, UTF_8};

/// The value of the `Content-Type` header.
pub struct ContentType<'a>(&'a str);

impl<'a> ContentType<'a> {
    /// Reads the header; `None` if it is missing.
    pub fn of(headers: &'a HeaderMap) -> Option<ContentType<'a>> {
        let content_type = headers.get(CONTENT_TYPE)?;
        Some(ContentType(content_type.to_str().unwrap_or_default()))
    }

    /// Whether the media type is one of these.
    pub fn is_one_of(&self, media_types: &[&str]) -> bool {
        let media_type = self.0.split(';').next().unwrap_or_default().trim();
        media_types
            .iter()
            .any(|other| other.eq_ignore_ascii_case(media_type))
    }

    /// Whether this body can be read as UTF-8, given the declared encoding, if any.
    pub fn is_utf8(&self, body: &[u8]) -> bool {
        let parameters = self.0.split(';').skip(1);
        let mut parameters = parameters.filter_map(|parameter| parameter.split_once('='));
        parameters.all(|(name, value)| {
            !name.trim().eq_ignore_ascii_case("charset") || is_utf8(value, body)
        })
    }
}

/// Whether text in this encoding can be read as UTF-8. Clients write `utf8`, `us-ascii` and
/// more, so names are looked up as in browsers. ASCII is the same in nearly all encodings.
pub fn is_utf8(encoding: &str, text: &[u8]) -> bool {
    let name = encoding.trim().trim_matches(['"', '\'']);
    match Encoding::for_label(name.as_bytes()) {
        // Browsers decode `us-ascii` as windows-1252. Here it is a subset of UTF-8.
        _ if name.eq_ignore_ascii_case("us-ascii") => true,
        Some(encoding) if encoding == UTF_8 => true,
        Some(other) => other.is_ascii_compatible() && text.is_ascii(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encoding_is_known_by_all_its_names() {
        for (name, ascii, other) in [
            ("UTF-8", true, true),
            ("utf8", true, true),
            ("\"utf-8\"", true, true),
            ("US-ASCII", true, true),
            ("latin1", true, false),
            ("gbk", true, false),
            ("utf-16", false, false),
            ("nonsense", false, false),
            ("", false, false),
        ] {
            assert_eq!(is_utf8(name, b"Zoe"), ascii, "{name}");
            assert_eq!(is_utf8(name, "Zo\u{eb}".as_bytes()), other, "{name}");
        }
    }
}
