//! A report and its fields. Values of these types are always valid: parsing has checked them.

use serde::{Deserialize, Serialize};
use sqlx::FromRow;
use time::OffsetDateTime;

/// The number on a tag along the trail.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, sqlx::Type)]
#[serde(try_from = "i32")]
#[sqlx(transparent)]
pub struct Tag(i32);

impl TryFrom<i32> for Tag {
    type Error = &'static str;

    fn try_from(number: i32) -> Result<Tag, &'static str> {
        match number {
            1.. => Ok(Tag(number)),
            _ => Err("a tag is a number from 1 to 2147483647"),
        }
    }
}

/// The kind of trouble.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, sqlx::Type)]
#[serde(rename_all = "kebab-case", try_from = "String")]
#[sqlx(type_name = "text", rename_all = "kebab-case")]
pub enum Kind {
    FallenTree,
    WashedOut,
    MissingSign,
    Other,
}

/// By itself, serde would accept `{"other": null}` as `"other"`, too.
impl TryFrom<String> for Kind {
    type Error = &'static str;

    fn try_from(word: String) -> Result<Kind, &'static str> {
        match word.as_str() {
            "fallen-tree" => Ok(Kind::FallenTree),
            "washed-out" => Ok(Kind::WashedOut),
            "missing-sign" => Ok(Kind::MissingSign),
            "other" => Ok(Kind::Other),
            _ => Err("a kind is fallen-tree, washed-out, missing-sign or other"),
        }
    }
}

/// The hiker's description: 1 to 500 characters, without leading or trailing whitespace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, sqlx::Type)]
#[serde(try_from = "String")]
#[sqlx(transparent)]
pub struct Text(String);

impl TryFrom<String> for Text {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Text, &'static str> {
        let text = text.trim();
        match text.chars().count() {
            // A `text` column in PostgreSQL can't hold a NUL.
            1..=500 if !text.contains('\0') => Ok(Text(text.to_owned())),
            _ => Err("a text has 1 to 500 characters, and no NUL"),
        }
    }
}

/// Whether the report is still open.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, sqlx::Type)]
#[serde(rename_all = "lowercase", try_from = "String")]
#[sqlx(type_name = "text", rename_all = "lowercase")]
pub enum Status {
    Open,
    Closed,
}

impl TryFrom<String> for Status {
    type Error = &'static str;

    fn try_from(word: String) -> Result<Status, &'static str> {
        match word.as_str() {
            "open" => Ok(Status::Open),
            "closed" => Ok(Status::Closed),
            _ => Err("a status is open or closed"),
        }
    }
}

/// A report as a hiker sends it.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewReport {
    pub tag: Tag,
    pub kind: Kind,
    pub text: Text,
}

/// A report, as it is stored and as it is sent to clients.
#[derive(Debug, Serialize, FromRow)]
pub struct Report {
    pub id: i64,
    pub tag: Tag,
    // Decoded as a string, so the column can be `text` or `varchar`.
    #[sqlx(try_from = "String")]
    pub kind: Kind,
    pub text: Text,
    #[sqlx(try_from = "String")]
    pub status: Status,
    /// Starts at 1, and goes up by one with each change.
    pub version: i64,
    #[serde(with = "time::serde::rfc3339")]
    pub reported_at: OffsetDateTime,
}

impl Report {
    /// The entity tag: the version, in quotes.
    pub fn etag(&self) -> String {
        format!("\"{}\"", self.version)
    }

    /// Whether this report was created from `new`.
    pub fn is_of(&self, new: &NewReport) -> bool {
        (self.tag, self.kind, &self.text) == (new.tag, new.kind, &new.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_counted_in_characters_after_its_ends_are_trimmed() {
        let text = |text: &str| Text::try_from(text.to_owned());
        assert_eq!(text(" Ä \n"), Ok(Text("Ä".to_owned())));
        assert!(text(&"ä".repeat(500)).is_ok());
        assert!(text(&"ä".repeat(501)).is_err());
        assert!(text(" \t").is_err());
    }
}
