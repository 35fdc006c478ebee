//! The places of a page that a link can lead to, with the names that mdBook gives them.

use std::collections::HashSet;

use pulldown_cmark::{Event, Tag, TagEnd};

use crate::macros;

/// The ids of all headings and defined terms, and of raw HTML.
pub fn of(text: &str) -> HashSet<String> {
    let mut ids = HashSet::new();
    let mut used = HashSet::new();
    let mut heading: Option<(Option<String>, String)> = None;
    for event in macros::parser(text) {
        match event {
            Event::Start(Tag::Heading { id, .. }) => {
                heading = Some((id.map(|id| id.to_string()), String::new()))
            }
            Event::Start(Tag::DefinitionListTitle) => heading = Some((None, String::new())),
            Event::End(TagEnd::Heading(_) | TagEnd::DefinitionListTitle) => {
                if let Some((id, content)) = heading.take() {
                    ids.insert(id.unwrap_or_else(|| unique(&from_content(&content), &mut used)));
                }
            }
            Event::Text(text) | Event::Code(text) => {
                if let Some((_, content)) = &mut heading {
                    content.push_str(&text);
                }
            }
            Event::Html(html) | Event::InlineHtml(html) => ids.extend(raw_ids(&html)),
            _ => {}
        }
    }
    ids
}

/// mdBook's way from a heading's text to an id: lower case, white space to hyphens, the rest dropped.
fn from_content(content: &str) -> String {
    content
        .trim()
        .to_lowercase()
        .chars()
        .filter_map(|character| match character {
            character if character.is_alphanumeric() || matches!(character, '_' | '-') => {
                Some(character)
            }
            character if character.is_whitespace() => Some('-'),
            _ => None,
        })
        .collect()
}

/// The id, with a number when it is taken.
fn unique(id: &str, used: &mut HashSet<String>) -> String {
    let mut candidate = id.to_owned();
    let mut counter = 0;
    while !used.insert(candidate.clone()) {
        counter += 1;
        candidate = format!("{id}-{counter}");
    }
    candidate
}

fn raw_ids(html: &str) -> Vec<String> {
    let mut ids = Vec::new();
    let mut rest = html;
    while let Some(at) = rest.find(" id=\"") {
        rest = &rest[at + 5..];
        if let Some(end) = rest.find('"') {
            ids.push(rest[..end].to_owned());
        }
    }
    ids
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_that_mdbook_makes() {
        let ids = of(
            "# `/ready` & co\n\n## Twice\n\n## Twice\n\n## Named {#other}\n\nTerm\n: meaning\n\n<a id=\"raw\"></a>\n",
        );
        for id in ["ready--co", "twice", "twice-1", "other", "term", "raw"] {
            assert!(ids.contains(id), "{id} in {ids:?}");
        }
        assert_eq!(ids.len(), 6);
    }
}
