//! The filter of a query (RFC 6352, section 10.5): decides which contacts match.

use roxmltree::Node;
use unicode_normalization::UnicodeNormalization;

use crate::{dav::xml, error::dav::DavError, markup::CARDDAV, vcard::Card};

/// The maximum number of conditions in a filter, and of bytes in each search string.
const MAX_CONDITIONS: usize = 100;
const MAX_TEXT: usize = 200;
/// The maximum cost of a query, in steps. A byte of a vCard costs one step. A byte of a
/// value costs [`FOLDING`] steps, plus half a step per byte of the filter's search strings.
const MAX_STEPS: usize = 512 << 20;
/// The cost of case-folding one byte, in steps.
const FOLDING: usize = 24;

// ANCHOR: filter
/// A filter: conditions on properties, of which either all or at least one must hold.
#[derive(Debug)]
pub struct Filter {
    all: bool,
    conditions: Vec<PropertyCondition>,
    /// The names of the properties that the conditions refer to, without duplicates.
    properties: Vec<String>,
    /// The steps left in the query's budget.
    steps: usize,
}

/// A condition on the values of one property.
#[derive(Debug)]
struct PropertyCondition {
    /// The index of the property among the filter's properties.
    property: usize,
    required: Required,
}

/// The requirement that a property must meet.
#[derive(Debug)]
enum Required {
    /// The contact doesn't have the property.
    NotThere,
    /// The contact has the property.
    There,
    /// At least one value of the property meets all of the conditions (`all`), or any of them.
    Matching { all: bool, texts: Vec<TextMatch> },
}

/// A `text-match`: the search string, and how to compare it with a value.
#[derive(Debug)]
struct TextMatch {
    text: String,
    place: Place,
    ascii: bool,
    negated: bool,
}

/// Where in the value the search string must occur.
#[derive(Debug)]
enum Place {
    Anywhere,
    Everywhere,
    AtTheStart,
    AtTheEnd,
}

/// A value, case-folded for each of the two collations.
struct Value {
    unicode: String,
    ascii: String,
}

impl Filter {
    /// Parses a filter. Without one, every contact matches.
    ///
    /// # Errors
    /// The filter uses a comparison that isn't supported, or exceeds a size limit.
    pub fn of(filter: Option<Node>) -> Result<Filter, DavError> {
        let mut read = Filter {
            all: filter.map_or(Ok(true), is_all)?,
            conditions: Vec::new(),
            properties: Vec::new(),
            steps: MAX_STEPS,
        };
        let conditions = filter.iter().flat_map(|filter| filter.children());
        for condition in conditions.filter(Node::is_element) {
            read.add(condition)?;
        }
        let texts = read.texts().count();
        match read.conditions.len() + texts {
            0..=MAX_CONDITIONS => Ok(read),
            _ => Err(DavError::SupportedFilter),
        }
    }

    /// Whether the contact matches; `None` once the query has used up its budget.
    pub fn lets_through(&mut self, vcard: &str) -> Option<bool> {
        if self.conditions.is_empty() {
            return Some(true);
        }
        self.steps = self.steps.checked_sub(vcard.len())?;
        let values = self.values(vcard)?;
        let mut holds = self
            .conditions
            .iter()
            .map(|condition| condition.holds(&values[condition.property]));
        Some(if self.all {
            holds.all(|holds| holds)
        } else {
            holds.any(|holds| holds)
        })
    }
    // ANCHOR_END: filter

    fn add(&mut self, element: Node) -> Result<(), DavError> {
        let name = element.attribute("name").unwrap_or_default();
        if !element.has_tag_name((CARDDAV, "prop-filter")) || name.is_empty() {
            return Err(DavError::SupportedFilter);
        }
        let name = name.to_ascii_uppercase();
        let known = self.properties.iter().position(|known| *known == name);
        let property = known.unwrap_or_else(|| {
            self.properties.push(name);
            self.properties.len() - 1
        });
        let required = Required::of(element)?;
        self.conditions
            .push(PropertyCondition { property, required });
        Ok(())
    }

    fn texts(&self) -> impl Iterator<Item = &TextMatch> {
        self.conditions.iter().flat_map(PropertyCondition::texts)
    }

    /// The case-folded values of each of the filter's properties; `None` if the budget is used up.
    fn values(&mut self, vcard: &str) -> Option<Vec<Vec<Value>>> {
        let texts: usize = self.texts().map(|text| text.text.len()).sum();
        let mut steps = Some(self.steps);
        let mut values: Vec<Vec<Value>> = self.properties.iter().map(|_| Vec::new()).collect();
        Card::of(vcard).each_value(&self.properties, |property, value| {
            let cost = value.len() * (FOLDING + texts / 2);
            steps = steps.and_then(|steps| steps.checked_sub(cost));
            if steps.is_some() {
                values[property].push(Value::of(&value));
            }
        });
        self.steps = steps?;
        Some(values)
    }
}

/// Whether all conditions of an element must hold, rather than at least one of them.
fn is_all(element: Node) -> Result<bool, DavError> {
    match element.attribute("test") {
        Some("allof") => Ok(true),
        Some("anyof") | None => Ok(false),
        Some(_) => Err(DavError::SupportedFilter),
    }
}

impl Required {
    fn of(element: Node) -> Result<Required, DavError> {
        let conditions: Vec<Node> = element.children().filter(Node::is_element).collect();
        match conditions.as_slice() {
            [] => Ok(Required::There),
            [only] if only.has_tag_name((CARDDAV, "is-not-defined")) => Ok(Required::NotThere),
            texts => Ok(Required::Matching {
                all: is_all(element)?,
                texts: texts
                    .iter()
                    .map(|text| TextMatch::of(*text))
                    .collect::<Result<_, _>>()?,
            }),
        }
    }
}

impl PropertyCondition {
    /// The search strings of this condition.
    fn texts(&self) -> &[TextMatch] {
        match &self.required {
            Required::Matching { texts, .. } => texts,
            Required::There | Required::NotThere => &[],
        }
    }

    fn holds(&self, values: &[Value]) -> bool {
        match &self.required {
            Required::NotThere => values.is_empty(),
            Required::There => !values.is_empty(),
            // One matching value is enough, even for a negated condition.
            Required::Matching { all: true, texts } => values
                .iter()
                .any(|value| texts.iter().all(|text| text.holds(value))),
            Required::Matching { all: false, texts } => values
                .iter()
                .any(|value| texts.iter().any(|text| text.holds(value))),
        }
    }
}

impl TextMatch {
    fn of(element: Node) -> Result<TextMatch, DavError> {
        let text = xml::text(element);
        if !element.has_tag_name((CARDDAV, "text-match")) || text.len() > MAX_TEXT {
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
        let negated = match element.attribute("negate-condition") {
            Some("no") | None => false,
            Some("yes") => true,
            Some(_) => return Err(DavError::SupportedFilter),
        };
        let Value {
            unicode,
            ascii: plain,
        } = Value::of(&text);
        Ok(TextMatch {
            text: if ascii { plain } else { unicode },
            place,
            ascii,
            negated,
        })
    }

    fn holds(&self, value: &Value) -> bool {
        let value = if self.ascii {
            &value.ascii
        } else {
            &value.unicode
        };
        let found = match self.place {
            Place::Anywhere => value.contains(&self.text),
            Place::Everywhere => *value == self.text,
            Place::AtTheStart => value.starts_with(&self.text),
            Place::AtTheEnd => value.ends_with(&self.text),
        };
        found != self.negated
    }
}

impl Value {
    /// Folds case for both collations. `i;unicode-casemap` (RFC 5051) covers all scripts, and
    /// decomposes characters. `i;ascii-casemap` covers only ASCII.
    fn of(text: &str) -> Value {
        let ascii = text.to_ascii_lowercase();
        let unicode = if text.is_ascii() {
            ascii.clone()
        } else {
            text.to_lowercase().nfkd().collect()
        };
        Value { unicode, ascii }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(content: &str) -> Result<Filter, DavError> {
        let text = format!(r#"<filter xmlns="{CARDDAV}">{content}</filter>"#);
        let document = roxmltree::Document::parse(&text).unwrap();
        Filter::of(Some(document.root_element()))
    }

    fn text_match(text: &str) -> String {
        format!(r#"<prop-filter name="FN"><text-match>{text}</text-match></prop-filter>"#)
    }

    #[test]
    fn a_query_costs_so_much_and_no_more() {
        let card = |length: usize| format!("FN:{}\r\n", "é".repeat(length / 2));
        let mut cheap = filter(&text_match("x")).unwrap();
        assert_eq!(cheap.lets_through(&card(1 << 20)), Some(false));
        let texts = text_match("x").repeat(50);
        let mut costly = filter(&texts).unwrap();
        let answers = (0..20).map(|_| costly.lets_through(&card(1 << 20)));
        assert!(answers.into_iter().any(|answer| answer.is_none()));
    }

    #[test]
    fn a_filter_has_so_many_texts_and_no_more() {
        for (content, accepted) in [
            (text_match("x").repeat(MAX_CONDITIONS / 2), true),
            (text_match("x").repeat(MAX_CONDITIONS / 2 + 1), false),
            (text_match(&"x".repeat(MAX_TEXT)), true),
            (text_match(&"x".repeat(MAX_TEXT + 1)), false),
        ] {
            assert_eq!(filter(&content).is_ok(), accepted);
        }
    }
}
