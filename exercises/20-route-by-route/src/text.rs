//! The text to draw, read from the query string.

use rocket::{
    Request, async_trait,
    http::{RawStr, Status},
    request::{FromRequest, Outcome},
};

use crate::error::Error;

/// The maximum length of the text, in bytes of UTF-8: a character takes one to four bytes.
pub const MAX_TEXT_BYTES: usize = 512;

// ANCHOR: text
/// The query parameter `text`, decoded: neither empty nor too long.
pub struct Text(pub String);

#[async_trait]
impl<'r> FromRequest<'r> for Text {
    type Error = Error;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Text, Error> {
        match text_of(request) {
            Ok(text) => Outcome::Success(text),
            Err(error) => Outcome::Error((Status::BadRequest, error)),
        }
    }
}

fn text_of(request: &Request<'_>) -> Result<Text, Error> {
    let text = match encoded_parameter(request, "text") {
        Some(encoded) => decode_strictly(encoded)?,
        None => return Err(Error::NoText),
    };
    match text.len() {
        0 => Err(Error::NoText),
        1..=MAX_TEXT_BYTES => Ok(Text(text)),
        bytes => Err(Error::TextTooLong(bytes)),
    }
}
// ANCHOR_END: text

/// The first query parameter with this name, still percent-encoded.
fn encoded_parameter<'r>(request: &'r Request<'_>, name: &str) -> Option<&'r RawStr> {
    let query = request.uri().query()?;
    query
        .raw_segments()
        .map(|parameter| parameter.split_at_byte(b'='))
        .find(|(found, _)| found.url_decode_lossy() == name)
        .map(|(_, value)| value)
}

/// Percent-decodes strictly: Rocket would turn invalid UTF-8 into `�`, and keep stray `%`s.
fn decode_strictly(encoded: &RawStr) -> Result<String, Error> {
    let mut sequences = encoded.as_str().split('%').skip(1);
    if !sequences.all(begins_with_a_byte) {
        return Err(Error::Malformed);
    }
    match encoded.url_decode() {
        Ok(text) => Ok(text.into_owned()),
        Err(_no_utf_8) => Err(Error::Malformed),
    }
}

/// Whether the string begins with two hexadecimal digits.
fn begins_with_a_byte(text: &str) -> bool {
    let digits = text.as_bytes().get(..2);
    digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
}
