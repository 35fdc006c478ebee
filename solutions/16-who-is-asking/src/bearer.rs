//! Reads the bearer token from the header `Authorization: Bearer …`.

use rocket::Request;

use crate::refused::Refused;

// ANCHOR: bearer
/// The bearer token, or `None` if the `Authorization` header is missing or uses another scheme.
///
/// # Errors
/// There are several `Authorization` headers, or the header has no token.
pub fn bearer<'r>(request: &'r Request<'_>) -> Result<Option<&'r str>, Refused> {
    let mut headers = request.headers().get("Authorization");
    let Some(header) = headers.next() else {
        return Ok(None);
    };
    if headers.next().is_some() {
        return Err(Refused::Unclear);
    }
    let (scheme, token) = header.split_once(' ').unwrap_or((header, ""));
    match token.trim() {
        _ if !scheme.eq_ignore_ascii_case("Bearer") => Ok(None),
        "" => Err(Refused::Unclear),
        token => Ok(Some(token)),
    }
}
// ANCHOR_END: bearer
