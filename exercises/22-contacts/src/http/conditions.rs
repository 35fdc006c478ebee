//! Conditional requests: the preconditions of a request (RFC 9110, section 13).

use std::time::UNIX_EPOCH;

use axum::http::{
    HeaderMap, HeaderName,
    header::{IF_MATCH, IF_NONE_MATCH},
};

use crate::error::Error;

// ANCHOR: condition
/// The preconditions of a request that changes a contact. Tags include their quotes, as in the header. A `*` in a list
/// matches any tag.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Condition {
    /// The contact must exist and have one of these tags. `None`: no such condition.
    pub if_match: Option<Vec<String>>,
    /// If the contact exists, it must have none of these tags.
    pub if_none_match: Vec<String>,
}

impl Condition {
    /// Reads the headers `If-Match`, `If` and `If-None-Match`.
    ///
    /// # Errors
    /// `If-Match` or `If-None-Match` is neither `*` nor a list of tags.
    pub fn of(headers: &HeaderMap) -> Result<Condition, Error> {
        Ok(Condition {
            if_match: both(tags(headers, &IF_MATCH)?, tags_in_lists(headers)),
            if_none_match: tags(headers, &IF_NONE_MATCH)?.unwrap_or_default(),
        })
    }

    /// Whether a contact with this tag meets both conditions.
    pub fn allows(&self, etag: &str) -> bool {
        let if_match = self.if_match.as_deref();
        if_match.is_none_or(|tags| names(tags, etag)) && !names(&self.if_none_match, etag)
    }
}
// ANCHOR_END: condition

/// The date in a header, in seconds since 1970. An invalid date is ignored, as RFC 9110 requires.
pub fn date(headers: &HeaderMap, name: &HeaderName) -> Option<i64> {
    let date = httpdate::parse_http_date(headers.get(name)?.to_str().ok()?).ok()?;
    let since_1970 = date.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since_1970.as_secs()).ok()
}

/// Whether a header's tags include this one; `*` matches any tag.
pub fn names(tags: &[String], etag: &str) -> bool {
    tags.iter().any(|tag| tag == "*" || tag == etag)
}

/// All tags from all headers with this name; `None` if there is no such header.
///
/// Our tag is the digest of a vCard. A proxy that compresses the response weakens the tag (`W/"…"`), which still identifies
/// the same vCard. So a weak tag counts as a strong one: otherwise a client behind such a proxy could never write.
fn tags(headers: &HeaderMap, name: &HeaderName) -> Result<Option<Vec<String>>, Error> {
    let malformed =
        || Error::BadRequest("If-Match and If-None-Match must be * or a list of entity tags");
    let mut tags = None;
    for header in headers.get_all(name) {
        let list = header.to_str().map_err(|_| malformed())?;
        let tags = tags.get_or_insert_with(Vec::new);
        tags.extend(tags_of(list).ok_or_else(malformed)?);
    }
    Ok(tags)
}

/// Parses a list of tags. A tag can contain a comma, so only the quotes delimit it.
fn tags_of(list: &str) -> Option<Vec<String>> {
    if list.trim() == "*" {
        return Some(vec!["*".to_owned()]);
    }
    let mut tags = Vec::new();
    let mut rest = list.trim_matches([' ', '\t', ',']);
    while !rest.is_empty() {
        rest = rest.strip_prefix("W/").unwrap_or(rest);
        let length = 1 + rest.strip_prefix('"')?.find('"')? + 1;
        tags.push(rest[..length].to_owned());
        rest = rest[length..].trim_start_matches([' ', '\t']);
        if !rest.is_empty() {
            rest = rest.strip_prefix(',')?.trim_matches([' ', '\t', ',']);
        }
    }
    (!tags.is_empty()).then_some(tags)
}

/// The tags in WebDAV's `If` header (RFC 4918, section 10.4), such as `(["a"]) (["b"])`. At least one list has to hold. The
/// service has no locks, so a list with a lock token never holds. Neither does a list with more than one condition, or for
/// another path: a condition that isn't understood must not lead to an overwrite.
fn tags_in_lists(headers: &HeaderMap) -> Option<Vec<String>> {
    let lists = headers.get("If")?.to_str().unwrap_or_default();
    if lists.trim_start().starts_with('<') {
        return Some(Vec::new());
    }
    Some(lists.split(')').filter_map(tag_of_list).collect())
}

/// Parses the tag in `(["a"]`, a list without its closing parenthesis.
fn tag_of_list(list: &str) -> Option<String> {
    let conditions = list.trim().strip_prefix('(')?.trim();
    let tag = conditions.strip_prefix('[')?.strip_suffix(']')?;
    let tag = tag.strip_prefix("W/").unwrap_or(tag);
    tag.starts_with('"').then(|| tag.to_owned())
}

/// Combines the conditions of two headers, either of which can be missing: both must hold.
fn both(left: Option<Vec<String>>, right: Option<Vec<String>>) -> Option<Vec<String>> {
    match (left, right) {
        (Some(left), Some(right)) => {
            let wanted = right.into_iter().filter(|tag| names(&left, tag));
            Some(wanted.collect())
        }
        (left, right) => left.or(right),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_tags_is_read_by_its_quotes() {
        for (list, expected) in [
            ("*", Some(vec!["*"])),
            (r#""a""#, Some(vec![r#""a""#])),
            (r#""a,b" , W/"c""#, Some(vec![r#""a,b""#, r#""c""#])),
            (r#""*""#, Some(vec![r#""*""#])),
            ("a", None),
            (r#""a"#, None),
            (r#""a" "b""#, None),
            ("", None),
        ] {
            let expected = expected.map(|tags| tags.into_iter().map(str::to_owned).collect());
            assert_eq!(tags_of(list), expected, "{list}");
        }
    }
}
