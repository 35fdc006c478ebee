//! The filter of a query, by RFC 6352, section 10.5: which contacts it lets through.

use crate::{dav_error::DavError, markup::CARDDAV, vcard::Card, xml::Element};

/// The properties of a vCard that a filter may look at.
const LOOKED_AT: [&str; 7] = ["FN", "N", "EMAIL", "TEL", "UID", "NICKNAME", "ORG"];

// ANCHOR: filter
/// A filter: conditions on properties, all of which or one of which must hold.
pub struct Filter {
    all: bool,
    conditions: Vec<PropertyCondition>,
}

/// A condition on the values of one property.
struct PropertyCondition {
    property: String,
    required: Required,
}

/// What is required of a property.
enum Required {
    /// The contact has none.
    NotThere,
    /// The contact has one.
    There,
    /// All or one of these hold. Each holds when one of the values matches.
    Matching { all: bool, texts: Vec<TextMatch> },
}

/// A text that a value is compared with.
struct TextMatch {
    text: String,
    place: Place,
    ascii: bool,
    negated: bool,
}

/// Where the text has to be in the value.
enum Place {
    Anywhere,
    Everywhere,
    AtTheStart,
    AtTheEnd,
}

impl Filter {
    /// Reads a filter.
    ///
    /// # Errors
    /// It asks for something that is not looked at, or for a comparison that there is not.
    pub fn of(filter: &Element) -> Result<Filter, DavError> {
        let conditions = filter.children.iter().map(PropertyCondition::of);
        Ok(Filter {
            all: is_all(filter)?,
            conditions: conditions.collect::<Result<_, _>>()?,
        })
    }

    /// Whether the contact matches. A filter without conditions lets all through.
    pub fn lets_through(&self, card: &Card) -> bool {
        let mut holds = self
            .conditions
            .iter()
            .map(|condition| condition.holds(card));
        match self.all || self.conditions.is_empty() {
            true => holds.all(|holds| holds),
            false => holds.any(|holds| holds),
        }
    }
}
// ANCHOR_END: filter

/// Whether all of an element's conditions must hold, rather than one.
fn is_all(element: &Element) -> Result<bool, DavError> {
    match element.attribute("test") {
        Some("allof") => Ok(true),
        Some("anyof") | None => Ok(false),
        Some(_) => Err(DavError::SupportedFilter),
    }
}

impl PropertyCondition {
    fn of(element: &Element) -> Result<PropertyCondition, DavError> {
        let property = element.attribute("name").unwrap_or_default().to_uppercase();
        let known = LOOKED_AT.contains(&property.as_str());
        if !element.name.is(CARDDAV, "prop-filter") || !known {
            return Err(DavError::SupportedFilter);
        }
        let not_defined = element.child(CARDDAV, "is-not-defined").is_some();
        let required = match element.children.as_slice() {
            [] => Required::There,
            [_] if not_defined => Required::NotThere,
            texts => Required::Matching {
                all: is_all(element)?,
                texts: texts.iter().map(TextMatch::of).collect::<Result<_, _>>()?,
            },
        };
        Ok(PropertyCondition { property, required })
    }

    fn holds(&self, card: &Card) -> bool {
        let values: Vec<String> = card.values(&self.property).collect();
        match &self.required {
            Required::NotThere => values.is_empty(),
            Required::There => !values.is_empty(),
            Required::Matching { all: true, texts } => texts.iter().all(|text| text.holds(&values)),
            Required::Matching { all: false, texts } => {
                texts.iter().any(|text| text.holds(&values))
            }
        }
    }
}

impl TextMatch {
    fn of(element: &Element) -> Result<TextMatch, DavError> {
        if !element.name.is(CARDDAV, "text-match") {
            return Err(DavError::SupportedFilter);
        }
        let ascii = match element.attribute("collation") {
            Some("i;unicode-casemap" | "default") | None => false,
            Some("i;ascii-casemap") => true,
            Some(_) => return Err(DavError::SupportedCollation),
        };
        let place = match element.attribute("match-type") {
            Some("contains") | None => Place::Anywhere,
            Some("equals") => Place::Everywhere,
            Some("starts-with") => Place::AtTheStart,
            Some("ends-with") => Place::AtTheEnd,
            Some(_) => return Err(DavError::SupportedFilter),
        };
        Ok(TextMatch {
            text: folded(&element.text, ascii),
            place,
            ascii,
            negated: element.attribute("negate-condition") == Some("yes"),
        })
    }

    fn holds(&self, values: &[String]) -> bool {
        let found = values.iter().any(|value| {
            let value = folded(value, self.ascii);
            match self.place {
                Place::Anywhere => value.contains(&self.text),
                Place::Everywhere => value == self.text,
                Place::AtTheStart => value.starts_with(&self.text),
                Place::AtTheEnd => value.ends_with(&self.text),
            }
        });
        found != self.negated
    }
}

/// A text without the difference between upper and lower case, which is the same letter to both collations: to the one in all
/// scripts, to the other in ASCII.
fn folded(text: &str, ascii: bool) -> String {
    match ascii {
        true => text.to_ascii_lowercase(),
        false => text.to_lowercase(),
    }
}
