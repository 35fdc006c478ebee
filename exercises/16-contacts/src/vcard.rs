//! vCards: whether a text is one, and what it says, by RFC 2426 (version 3.0) and RFC 6350 (version 4.0).
//!
//! The service stores what it was given, so it needs to know little of it: that it is one vCard, its UID, and the values that a
//! filter looks at. A library that knows every type of every property would be a large part of what is compiled here.

use crate::markup::is_text;

/// The longest UID, in characters: an index of PostgreSQL holds no long ones.
const MAX_UID: usize = 500;

/// A vCard, as the lines between its `BEGIN` and its `END`.
pub struct Card(Vec<Property>);

/// A line: `FN:Ada Lovelace`, `item1.EMAIL;TYPE=home:ada@example.org`.
#[derive(PartialEq)]
struct Property {
    /// In capitals, without the group before it and the parameters after it.
    name: String,
    /// As it is written, with escapes.
    value: String,
}

// ANCHOR: vcard
impl Card {
    /// Reads a text; `None` unless it is exactly one vCard of version 3.0 or 4.0, with a name for people (`FN`) and one for
    /// programs (`UID`).
    pub fn read(text: &str) -> Option<Card> {
        if !text.chars().all(is_text) {
            return None;
        }
        let mut properties = unfolded(text)
            .iter()
            .map(|line| Property::read(line))
            .collect::<Option<Vec<Property>>>()?
            .into_iter();
        let (begin, end) = (properties.next()?, properties.next_back()?);
        if !begin.is("BEGIN", "VCARD") || !end.is("END", "VCARD") {
            return None;
        }
        let card = Card(properties.collect());
        let whole = card.count("BEGIN") == 0 && card.count("END") == 0;
        let known = card.count("VERSION") == 1
            && card
                .values("VERSION")
                .any(|version| version == "3.0" || version == "4.0");
        let uid = card.uid();
        let usable_uid = !uid.trim().is_empty() && uid.chars().count() <= MAX_UID;
        let named = card.count("FN") >= 1 && card.count("UID") == 1 && usable_uid;
        (whole && known && named).then_some(card)
    }

    /// The UID, which stays the same when all else changes.
    pub fn uid(&self) -> String {
        self.values("UID").next().unwrap_or_default()
    }

    /// The values of the properties with this name, which is in capitals.
    pub fn values(&self, name: &str) -> impl Iterator<Item = String> {
        let properties = self.0.iter().filter(move |property| property.name == name);
        properties.map(|property| unescaped(&property.value))
    }

    fn count(&self, name: &str) -> usize {
        self.0
            .iter()
            .filter(|property| property.name == name)
            .count()
    }
}
// ANCHOR_END: vcard

impl Property {
    /// Reads a line: an optional group, a name, parameters, a colon and the value. A colon within quotes is a parameter's.
    fn read(line: &str) -> Option<Property> {
        let mut quoted = false;
        let colon = line.find(|character| {
            quoted ^= character == '"';
            character == ':' && !quoted
        })?;
        let (before, value) = (&line[..colon], &line[colon + 1..]);
        let name = before.split(';').next()?;
        let name = name.rsplit('.').next()?;
        let is_name = !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        is_name.then(|| Property {
            name: name.to_ascii_uppercase(),
            value: value.to_owned(),
        })
    }

    fn is(&self, name: &str, value: &str) -> bool {
        self.name == name && self.value.trim().eq_ignore_ascii_case(value)
    }
}

/// The lines of a text. One that begins with a space or a tab goes on where the line before it has ended. Empty lines say nothing.
fn unfolded(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix([' ', '\t']), lines.last_mut()) {
            (Some(more), Some(last)) => last.push_str(more),
            _ if line.is_empty() => {}
            _ => lines.push(line.to_owned()),
        }
    }
    lines
}

/// A value without its escapes: `\n` is a line break, and a backslash before anything else protects that.
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

    #[test]
    fn values_are_unfolded_and_unescaped() {
        let card = Card::read(ADA).unwrap();
        assert_eq!(card.uid(), "ada");
        assert_eq!(card.values("EMAIL").next().unwrap(), "ada@example.org");
        assert_eq!(card.values("ORG").next().unwrap(), "Engine, Analytical;x");
        assert_eq!(card.values("TEL").count(), 0);
    }

    #[test]
    fn what_is_not_exactly_one_usable_vcard_is_none() {
        assert!(Card::read(&ADA.replace("4.0", "3.0").to_lowercase()).is_some());
        for broken in [
            String::new(),
            ADA.repeat(2),
            ADA.replace("FN:Ada Lovelace\r\n", ""),
            ADA.replace("UID:ada\r\n", ""),
            ADA.replace("UID:ada", "UID: "),
            ADA.replace("UID:ada", &format!("UID:{}", "a".repeat(501))),
            ADA.replace("END:VCARD", ""),
            ADA.replace("4.0", "2.1"),
            ADA.replace("Ada", "Ada\0"),
            ADA.replace("item1.EMAIL", "item1.E MAIL"),
            ADA[..ADA.len() / 2].to_owned(),
            format!("{ADA}NOTE:after the end\r\n"),
        ] {
            assert!(Card::read(&broken).is_none(), "{broken:?}");
        }
    }
}
