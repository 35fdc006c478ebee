//! vCards: validates and reads them, in versions 3.0 (RFC 2426) and 4.0 (RFC 6350).
//!
//! The service stores vCards byte for byte, and checks only that each is a single vCard of
//! a supported version with a UID. Many programs violate the standards elsewhere, and a
//! phone retries a refused vCard forever. So unparsable lines are kept; filters skip them.

use std::borrow::Cow;

use crate::{error::dav::DavError, markup::is_text};

/// The maximum length of a UID, in characters: PostgreSQL can't index very long values.
const MAX_UID: usize = 500;
/// The prefix that makes a UUID a URI.
const URN: &str = "urn:uuid:";

/// A vCard. Parsed only on lookup: most of the text is a photo, which no lookup needs.
pub struct Card<'a>(&'a str);

/// A property, such as `FN:Ada Lovelace` or `item1.EMAIL;TYPE=home:ada@example.org`.
struct Property<'a> {
    /// The name, without group and parameters. Its case doesn't matter.
    name: &'a str,
    /// The raw value, including escapes.
    value: &'a str,
}

// ANCHOR: vcard
impl<'a> Card<'a> {
    /// Wraps a string that has already been validated as a vCard.
    pub fn of(text: &'a str) -> Card<'a> {
        Card(text)
    }

    /// Checks that a string is exactly one vCard of version 3.0 or 4.0, with a UID.
    ///
    /// # Errors
    /// The string isn't exactly one vCard, has no usable UID, or has a different version.
    pub fn read(text: &'a str) -> Result<Card<'a>, DavError> {
        let card = Card(text);
        let lines = text_lines(text).filter(|line| !line.trim().is_empty());
        let lines: Vec<&str> = lines.collect();
        let is = |line: &&str, name: &str| {
            let property = Property::read(line);
            property.is_some_and(|property| {
                property.is(name) && property.value.trim().eq_ignore_ascii_case("VCARD")
            })
        };
        let count = |name: &str| lines.iter().filter(|line| is(line, name)).count();
        let whole = lines.first().is_some_and(|first| is(first, "BEGIN"))
            && lines.last().is_some_and(|last| is(last, "END"));
        if !text.chars().all(is_text) || !whole || count("BEGIN") + count("END") != 2 {
            return Err(DavError::ValidAddressData);
        }
        match card.version().as_deref() {
            Some("3.0" | "4.0") => {}
            Some(_) => return Err(DavError::SupportedAddressData),
            None => return Err(DavError::ValidAddressData),
        }
        match card.uid() {
            uid if !uid.is_empty() && uid.chars().count() <= MAX_UID => Ok(card),
            _ => Err(DavError::ValidAddressData),
        }
    }

    /// The UID, which never changes during the life of a contact; empty if missing or ambiguous.
    pub fn uid(&self) -> String {
        let uids = self.values("UID").into_iter();
        only(uids.map(|uid| without_urn(uid.trim()).to_owned())).unwrap_or_default()
    }

    /// The version; `None` if it is missing or ambiguous.
    fn version(&self) -> Option<String> {
        let versions = self.values("VERSION").into_iter();
        only(versions.map(|version| version.trim().to_owned()))
    }

    /// Whether the version is 4.0.
    pub fn is_version_4(&self) -> bool {
        self.version().as_deref() == Some("4.0")
    }

    /// The unescaped values of all properties with this name.
    pub fn values(&self, name: &str) -> Vec<String> {
        let mut values = Vec::new();
        self.each_value(&[name], |_, value| values.push(value));
        values
    }

    /// Calls `take` for each property with one of these names, with the name's index and the value.
    pub fn each_value(&self, names: &[impl AsRef<str>], mut take: impl FnMut(usize, String)) {
        let mut lines = text_lines(self.0).peekable();
        while let Some(line) = lines.next() {
            let mut line = Cow::Borrowed(line);
            let wanted = |line: &str| {
                let name = name_of(line);
                names
                    .iter()
                    .position(|wanted| name.eq_ignore_ascii_case(wanted.as_ref()))
            };
            let place = wanted(&line);
            // A line that begins with a space or a tab continues the previous line.
            while let Some(more) = lines.peek().and_then(|next| next.strip_prefix([' ', '\t'])) {
                if place.is_some() {
                    line.to_mut().push_str(more);
                }
                lines.next();
            }
            if let (Some(place), Some(property)) = (place, Property::read(&line)) {
                take(place, unescaped(property.value));
            }
        }
    }
}
// ANCHOR_END: vcard

/// The value if all values are equal: some programs repeat a property.
fn only(mut values: impl Iterator<Item = String>) -> Option<String> {
    let value = values.next()?;
    values.all(|other| other == value).then_some(value)
}

/// Removes `urn:uuid:` from a UID. Programs that convert a card from 3.0 to 4.0 add it, some even twice.
fn without_urn(mut uid: &str) -> &str {
    let is_urn = |uid: &str| {
        uid.get(..URN.len())
            .is_some_and(|urn| urn.eq_ignore_ascii_case(URN))
    };
    while uid.len() > URN.len() && is_urn(uid) {
        uid = &uid[URN.len()..];
    }
    uid
}

// ANCHOR: text-of
/// Decodes a vCard; `None` if it isn't UTF-8. A program that counts bytes can fold a line in the middle of a character, and
/// the parts of the character aren't valid UTF-8. Such folds are undone.
pub fn text_of(bytes: Vec<u8>) -> Option<String> {
    String::from_utf8(bytes)
        .or_else(|error| String::from_utf8(with_whole_characters(error.as_bytes())))
        .ok()
}

/// Removes each fold before a UTF-8 continuation byte, whose first two bits are 10.
fn with_whole_characters(mut bytes: &[u8]) -> Vec<u8> {
    let mut whole = Vec::with_capacity(bytes.len());
    while let Some((&byte, rest)) = bytes.split_first() {
        bytes = match bytes {
            [b'\r', b'\n', b' ' | b'\t', rest @ ..] | [b'\n', b' ' | b'\t', rest @ ..]
                if rest.first().is_some_and(|next| next >> 6 == 0b10) =>
            {
                rest
            }
            _ => {
                whole.push(byte);
                rest
            }
        };
    }
    whole
}
// ANCHOR_END: text-of

/// The lines, with any line endings, without the byte order mark that some programs add.
fn text_lines(text: &str) -> impl Iterator<Item = &str> {
    let text = text.trim_start_matches('\u{FEFF}');
    let lines = text.split('\n').flat_map(|line| line.split('\r'));
    lines.filter(|line| !line.is_empty())
}

/// The property name at the beginning of a line, without the optional group.
fn name_of(line: &str) -> &str {
    let end = line.find([':', ';']).unwrap_or(line.len());
    let name = line[..end].trim();
    name.rsplit('.').next().unwrap_or(name)
}

impl<'a> Property<'a> {
    /// Parses a line: name, parameters, colon and value. A colon in quotes is in a parameter,
    /// unless the quotes are unbalanced: some programs write a lone double quote.
    fn read(line: &'a str) -> Option<Property<'a>> {
        let mut quoted = false;
        let outside = line.find(|character| {
            quoted ^= character == '"';
            character == ':' && !quoted
        });
        let colon = outside.or_else(|| line.find(':'))?;
        Some(Property {
            name: name_of(&line[..colon]),
            value: &line[colon + 1..],
        })
    }

    fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }
}

/// Unescapes a value: `\n` becomes a line break, and a backslash before any other character is dropped.
fn unescaped(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('n' | 'N') => text.push('\n'),
                protected => text.extend(protected),
            },
            other => text.push(other),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADA: &str = "BEGIN:VCARD\r\nVERSION:4.0\r\nUID:ada\r\nFN:Ada Lovelace\r\n\
        item1.EMAIL;TYPE=\"home:private\":ada@exam\r\n ple.org\r\nORG:Engine\\, Analytical;x\r\nEND:VCARD\r\n";

    fn rule(text: &str) -> Option<String> {
        Card::read(text).err().map(|error| format!("{error:?}"))
    }

    #[test]
    fn values_are_unfolded_and_unescaped() {
        let card = Card::read(ADA).unwrap();
        assert_eq!(card.uid(), "ada");
        assert_eq!(card.values("email"), ["ada@example.org"]);
        assert_eq!(card.values("ORG"), ["Engine, Analytical;x"]);
        assert_eq!(card.values("TEL"), [""; 0]);
    }

    #[test]
    fn a_uid_is_the_same_with_what_makes_a_uri_of_it() {
        for uid in ["ada", "urn:uuid:ada", "URN:UUID:urn:uuid:ada"] {
            let card = ADA.replace("UID:ada", &format!("UID:{uid}"));
            assert_eq!(Card::of(&card).uid(), "ada", "{uid}");
        }
        let nothing_else = ADA.replace("UID:ada", "UID:urn:uuid:");
        assert_eq!(Card::of(&nothing_else).uid(), "urn:uuid:");
    }

    #[test]
    fn a_fold_within_a_character_is_undone() {
        let of = |bytes: &[u8]| text_of(bytes.to_vec());
        assert_eq!(
            of(b"\xE2\r\n \x82\n\t\xAC\r\n b").as_deref(),
            Some("€\r\n b")
        );
        assert_eq!(of(b"a\r\n \xAC"), None);
        assert_eq!(of(b"a\xE2\r\n b"), None);
    }

    #[test]
    fn what_programs_write_is_kept() {
        let more = |line: &str| ADA.replace("ORG:", &format!("{line}\r\nORG:"));
        for kept in [
            ADA.replace("4.0", "3.0").to_lowercase(),
            ADA.replace("\r\n", "\n"),
            ADA.replace("\r\n", "\r"),
            ADA.replace("FN:Ada Lovelace\r\n", ""),
            format!("\u{FEFF}{ADA}\r\n\r\n"),
            format!("\r\n \r\n{ADA}\t \r\n"),
            more("X-ENTOURAGE_UUID:1"),
            more("item1."),
            more("a line without a colon"),
            more("BDAY;VALUE=date:--0203"),
            more("VERSION: 4.0 \r\nUID:urn:uuid:ada\r\nNOTE:\u{7f}"),
        ] {
            assert_eq!(rule(&kept), None, "{kept:?}");
        }
        let lone = more("ADR;LABEL=Pipe 12\" wide:;;Main Street");
        assert_eq!(Card::of(&lone).values("ADR"), [";;Main Street"]);
        let group = more("item1.X-ABLabel:Spouse");
        assert_eq!(Card::of(&group).values("X-ABLABEL"), ["Spouse"]);
    }

    #[test]
    fn what_is_not_exactly_one_usable_vcard_is_refused() {
        for broken in [
            String::new(),
            ADA.repeat(2),
            ADA.replace("UID:ada\r\n", ""),
            ADA.replace("UID:ada", "UID: "),
            ADA.replace("UID:ada", "UID:ada\r\nUID:ben"),
            ADA.replace("UID:ada", &format!("UID:{}", "a".repeat(501))),
            ADA.replace("END:VCARD", ""),
            ADA.replace("VERSION:4.0\r\n", ""),
            ADA.replace("VERSION:4.0", "VERSION:4.0\r\nVERSION:3.0"),
            ADA.replace("Ada", "Ada\0"),
            ADA.replace("Ada", "Ada\u{b}"),
            ADA[..ADA.len() / 2].to_owned(),
            format!("{ADA}NOTE:after the end\r\n"),
        ] {
            assert_eq!(
                rule(&broken).as_deref(),
                Some("ValidAddressData"),
                "{broken:?}"
            );
        }
        let old = ADA.replace("4.0", "2.1");
        assert_eq!(rule(&old).as_deref(), Some("SupportedAddressData"));
    }
}
