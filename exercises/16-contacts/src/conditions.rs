//! Conditions: what must be there for a request to be carried out, by RFC 9110, section 13.

use axum::http::{
    HeaderMap, HeaderName,
    header::{IF_MATCH, IF_NONE_MATCH},
};

use crate::error::Error;

// ANCHOR: condition
/// The condition of a request that changes a contact. Tags are as they are in the header, in their quotes; `*` is among them if
/// the header says that any will do.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Condition {
    /// There must be a contact, and this must have one of these tags. `None`: it need not.
    pub if_match: Option<Vec<String>>,
    /// If there is a contact, it must have none of these tags.
    pub if_none_match: Vec<String>,
}

impl Condition {
    /// Reads the headers `If-Match` and `If-None-Match`.
    ///
    /// # Errors
    /// One of them is neither `*` nor a list of tags.
    pub fn of(headers: &HeaderMap) -> Result<Condition, Error> {
        Ok(Condition {
            // A weak tag promises too little to change anything for.
            if_match: tags(headers, &IF_MATCH)?.map(|mut tags| {
                tags.retain(|tag| !tag.starts_with("W/"));
                tags
            }),
            if_none_match: none_match(headers)?,
        })
    }
}
// ANCHOR_END: condition

/// The tags of `If-None-Match`, the weak ones as if they were strong.
///
/// # Errors
/// The header is neither `*` nor a list of tags.
pub fn none_match(headers: &HeaderMap) -> Result<Vec<String>, Error> {
    let tags = tags(headers, &IF_NONE_MATCH)?.unwrap_or_default();
    let strong = tags
        .iter()
        .map(|tag| tag.trim_start_matches("W/").to_owned());
    Ok(strong.collect())
}

/// Whether a contact with this tag is one of those that a header names.
pub fn names(tags: &[String], etag: &str) -> bool {
    tags.iter().any(|tag| tag == "*" || tag == etag)
}

/// All tags in all headers of this name; `None` when there is no such header.
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

/// The tags of a list. A tag may have a comma in it, so this looks for the quotes.
fn tags_of(list: &str) -> Option<Vec<String>> {
    if list.trim() == "*" {
        return Some(vec!["*".to_owned()]);
    }
    let mut tags = Vec::new();
    let mut rest = list.trim_matches([' ', '\t', ',']);
    while !rest.is_empty() {
        let opening = if rest.starts_with("W/") { 2 } else { 0 };
        let inside = rest[opening..].strip_prefix('"')?;
        let length = opening + 1 + inside.find('"')? + 1;
        tags.push(rest[..length].to_owned());
        rest = rest[length..].trim_start_matches([' ', '\t']);
        if !rest.is_empty() {
            rest = rest.strip_prefix(',')?.trim_matches([' ', '\t', ',']);
        }
    }
    (!tags.is_empty()).then_some(tags)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_tags_is_read_by_its_quotes() {
        for (list, expected) in [
            ("*", Some(vec!["*"])),
            (r#""a""#, Some(vec![r#""a""#])),
            (r#""a,b" , W/"c""#, Some(vec![r#""a,b""#, r#"W/"c""#])),
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
