//! Conditional requests (RFC 9110): `If-Match` and `If-None-Match`.

use rocket::{
    Request, async_trait,
    http::Status,
    request::{FromRequest, Outcome},
};

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
    fn read(request: &Request<'_>, name: &str) -> Result<Option<Condition>, Error> {
        let lines: Vec<&str> = request.headers().get(name).collect();
        if lines.is_empty() {
            return Ok(None);
        }
        let detail = format!("{name} must be * or a list of entity tags in quotes");
        let malformed = || refused(Status::BadRequest, detail);
        Condition::parse(&lines.join(","))
            .map(Some)
            .ok_or_else(malformed)
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

/// The required `If-Match`: the current version has to be one of these. `None` means any.
pub struct IfMatch(pub Option<Vec<i64>>);

impl IfMatch {
    /// Weak tags are ignored: they only promise that two versions are equivalent.
    fn of(condition: Option<Condition>) -> Result<IfMatch, Error> {
        match condition {
            None => {
                let detail = "a change needs the header If-Match, with the ETag of the report";
                Err(refused(Status::PreconditionRequired, detail))
            }
            Some(Condition::Any) => Ok(IfMatch(None)),
            Some(Condition::Listed(mut versions)) => {
                versions.retain(|version| !version.is_weak);
                let numbers = versions.iter().map(|version| version.number);
                Ok(IfMatch(Some(numbers.collect())))
            }
        }
    }
}

#[async_trait]
impl<'r> FromRequest<'r> for IfMatch {
    type Error = Error;

    async fn from_request(request: &'r Request<'_>) -> Outcome<IfMatch, Error> {
        outcome(Condition::read(request, "If-Match").and_then(IfMatch::of))
    }
}

/// The versions in `If-None-Match`, which the client already has.
pub struct IfNoneMatch(Option<Condition>);

impl IfNoneMatch {
    /// Whether the client has this version.
    pub fn has(&self, number: i64) -> bool {
        match &self.0 {
            None => false,
            Some(Condition::Any) => true,
            Some(Condition::Listed(versions)) => {
                versions.iter().any(|version| version.number == number)
            }
        }
    }
}

#[async_trait]
impl<'r> FromRequest<'r> for IfNoneMatch {
    type Error = Error;

    async fn from_request(request: &'r Request<'_>) -> Outcome<IfNoneMatch, Error> {
        outcome(Condition::read(request, "If-None-Match").map(IfNoneMatch))
    }
}

/// Converts a guard's result to Rocket's `Outcome`.
pub fn outcome<T>(result: Result<T, Error>) -> Outcome<T, Error> {
    match result {
        Ok(value) => Outcome::Success(value),
        Err(error) => Outcome::Error((error.status(), error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weak_tag_and_a_strange_one_are_no_versions() {
        let condition = Condition::parse(r#""3", W/"4" ,"a,b""#);
        let versions = IfMatch::of(condition).map(|IfMatch(versions)| versions);
        assert!(matches!(versions, Ok(Some(versions)) if versions == [3]));
    }

    #[test]
    fn a_tag_without_its_quotes_is_malformed() {
        for text in ["3", "\"3", "W/3", "*, \"3\""] {
            assert_eq!(Condition::parse(text), None, "{text}");
        }
    }
}
