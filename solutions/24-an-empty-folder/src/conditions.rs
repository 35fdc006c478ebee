//! Conditional requests (RFC 9110): `If-Match` and `If-None-Match`.

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use crate::error::{Error, refused};

/// The entity tags that a condition names.
#[derive(Debug, PartialEq)]
enum Condition {
    /// `*`
    Any,
    Listed(Vec<Version>),
}

/// The version of a report that an entity tag names.
#[derive(Debug, PartialEq)]
struct Version {
    is_weak: bool,
    number: i64,
}

impl Condition {
    /// The condition in this header, if there is one.
    fn read(headers: &HeaderMap, name: &HeaderName) -> Result<Option<Condition>, Error> {
        let lines: Result<Vec<&str>, _> = headers
            .get_all(name)
            .iter()
            .map(HeaderValue::to_str)
            .collect();
        let condition = match lines.as_deref() {
            Ok([]) => return Ok(None),
            Ok(lines) => Condition::parse(&lines.join(",")),
            Err(_) => None,
        };
        let detail = "must be * or a list of entity tags in quotes";
        let malformed = || refused(StatusCode::BAD_REQUEST, format!("{name} {detail}"));
        condition.map(Some).ok_or_else(malformed)
    }

    fn parse(text: &str) -> Option<Condition> {
        if text.trim() == "*" {
            return Some(Condition::Any);
        }
        let mut versions = Vec::new();
        let mut rest = text;
        loop {
            rest = rest.trim_start_matches([' ', '\t', ',']);
            if rest.is_empty() {
                return Some(Condition::Listed(versions));
            }
            let unmarked = rest.strip_prefix("W/");
            let is_weak = unmarked.is_some();
            let (tag, after) = unmarked
                .unwrap_or(rest)
                .strip_prefix('"')?
                .split_once('"')?;
            // Tags that aren't numbers can't match, nor can "01": tags are compared character by character.
            let number = tag
                .parse()
                .ok()
                .filter(|number: &i64| number.to_string() == tag);
            versions.extend(number.map(|number| Version { is_weak, number }));
            rest = after;
        }
    }
}

/// The versions in `If-Match`: the current version has to be one of them. `None` means any.
/// Weak tags are ignored: they only promise that two versions are equivalent.
///
/// # Errors
/// If the header is missing or malformed.
pub fn if_match(headers: &HeaderMap) -> Result<Option<Vec<i64>>, Error> {
    match Condition::read(headers, &header::IF_MATCH)? {
        None => {
            let detail = "a change needs the header If-Match, with the ETag of the report";
            Err(refused(StatusCode::PRECONDITION_REQUIRED, detail))
        }
        Some(Condition::Any) => Ok(None),
        Some(Condition::Listed(mut versions)) => {
            versions.retain(|version| !version.is_weak);
            Ok(Some(
                versions.iter().map(|version| version.number).collect(),
            ))
        }
    }
}

/// Whether the client already has this version, according to `If-None-Match`.
///
/// # Errors
/// If the header is malformed.
pub fn has_already(headers: &HeaderMap, number: i64) -> Result<bool, Error> {
    Ok(match Condition::read(headers, &header::IF_NONE_MATCH)? {
        None => false,
        Some(Condition::Any) => true,
        Some(Condition::Listed(versions)) => {
            versions.iter().any(|version| version.number == number)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weak_tag_and_a_strange_one_are_no_versions() {
        let mut headers = HeaderMap::new();
        headers.insert("if-match", HeaderValue::from_static(r#""3", W/"4" ,"a,b""#));
        assert!(matches!(if_match(&headers), Ok(Some(versions)) if versions == [3]));
    }

    #[test]
    fn a_tag_without_its_quotes_is_malformed() {
        for text in ["3", "\"3", "W/3", "*, \"3\""] {
            assert_eq!(Condition::parse(text), None, "{text}");
        }
    }
}
