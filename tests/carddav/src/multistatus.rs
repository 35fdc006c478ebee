//! A multistatus as the tests read it: by its meaning, not by its bytes.

use std::collections::{BTreeMap, BTreeSet};

use roxmltree::{Document, Node};

use crate::book::{BOOK, path};
use workshop_harness::contract::{Answer, Failure, TestResult, expect_eq};

/// The namespaces of WebDAV, of CardDAV and of the calendar server, each with the prefix that the tests use for it.
pub const NAMESPACES: [(&str, &str); 3] = [
    ("D", "DAV:"),
    ("C", "urn:ietf:params:xml:ns:carddav"),
    ("S", "http://calendarserver.org/ns/"),
];

/// The body of a 207.
#[derive(Debug)]
pub struct Multistatus {
    /// The responses for the resources, in their order.
    pub responses: Vec<Response>,
    /// The token for the next sync.
    pub sync_token: Option<String>,
}

/// The response for one resource.
#[derive(Debug, Default)]
pub struct Response {
    /// Its path.
    pub path: String,
    /// The status of the resource; `None` if only its properties have one.
    pub status: Option<u16>,
    /// The properties that it has, by their names.
    pub found: BTreeMap<String, Property>,
    /// The names of the properties that it does not have, or does not disclose.
    pub missing: BTreeSet<String>,
}

/// A property of a resource.
#[derive(Debug)]
pub struct Property {
    /// The text in it, that of its children included.
    pub text: String,
    /// The names of all elements in it.
    pub elements: Vec<String>,
    /// The attributes of its element.
    pub attributes: BTreeMap<String, String>,
}

impl Multistatus {
    /// Parses the body of an answer, which has to be a 207.
    pub fn of(answer: &Answer) -> Result<Multistatus, Failure> {
        answer.expect_status(207)?;
        let text = answer.text();
        let not_one = |why: String| answer.failure("a multistatus in well-formed XML", why);
        let document = Document::parse(&text).map_err(|error| not_one(error.to_string()))?;
        let root = document.root_element();
        if name_of(root) != "D:multistatus" {
            return Err(not_one(format!("the root element {:?}", root.tag_name())));
        }
        Ok(Multistatus {
            responses: children(root, "D:response").map(Response::of).collect(),
            sync_token: text_in(root, "D:sync-token"),
        })
    }

    /// The response for the resource at this path.
    pub fn at(&self, path: &str) -> Result<&Response, Failure> {
        let found = self.responses.iter().find(|response| response.path == path);
        found.ok_or_else(|| {
            let paths: Vec<&str> = self.paths().collect();
            let expected = format!("a multistatus with a response for {path}");
            Failure::new(expected, format!("responses for {paths:?}"))
        })
    }

    /// The response for the contact with this name.
    pub fn contact(&self, name: &str) -> Result<&Response, Failure> {
        self.at(&path(name))
    }

    /// The paths that have a response, in their order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.responses.iter().map(|response| response.path.as_str())
    }

    /// Expects responses for these contacts, in any order, and for nothing else.
    pub fn expect_contacts(&self, names: &[&str]) -> TestResult {
        let mut told: Vec<&str> = self.paths().collect();
        let mut expected: Vec<String> = names.iter().map(|name| path(name)).collect();
        told.sort_unstable();
        expected.sort_unstable();
        expect_eq("responses for", told, expected)
    }

    /// Whether it says that there is more.
    pub fn has_more(&self) -> bool {
        self.at(BOOK).is_ok_and(|book| book.status == Some(507))
    }

    /// The token for the next sync.
    pub fn token(&self) -> Result<String, Failure> {
        let missing = || Failure::new("a multistatus with a sync-token", "none");
        self.sync_token.clone().ok_or_else(missing)
    }
}

impl Response {
    fn of(node: Node) -> Response {
        let mut response = Response {
            path: text_in(node, "D:href").unwrap_or_default(),
            status: status_of(node),
            ..Response::default()
        };
        for propstat in children(node, "D:propstat") {
            let properties = children(propstat, "D:prop").flat_map(|prop| prop.children());
            let properties = properties.filter(Node::is_element);
            match status_of(propstat) {
                Some(200) => response.found.extend(properties.map(Property::of)),
                _ => response.missing.extend(properties.map(name_of)),
            }
        }
        response
    }

    /// A property that the resource has.
    pub fn property(&self, name: &str) -> Result<&Property, Failure> {
        self.found.get(name).ok_or_else(|| {
            let expected = format!("the property {name} of {}", self.path);
            Failure::new(expected, format!("the properties {:?}", self.found.keys()))
        })
    }

    /// The text of a property that the resource has.
    pub fn text(&self, name: &str) -> Result<&str, Failure> {
        Ok(&self.property(name)?.text)
    }

    /// Compares the text of a property with the contract.
    pub fn expect_text(&self, name: &str, expected: &str) -> Result<&Self, Failure> {
        let got = self.text(name)?;
        if got == expected {
            return Ok(self);
        }
        Err(Failure::new(format!("{name} {expected}"), got))
    }

    /// Expects each of these elements in a property of the resource: `D:read D:write`.
    pub fn expect_elements(&self, name: &str, expected: &str) -> Result<&Self, Failure> {
        let elements = &self.property(name)?.elements;
        let is_missing = |expected: &&str| !elements.iter().any(|element| element == expected);
        match expected.split(' ').find(is_missing) {
            Some(missing) => {
                let expected = format!("{missing} in {name}");
                Err(Failure::new(expected, format!("{elements:?}")))
            }
            None => Ok(self),
        }
    }

    /// Expects that the resource does not have these properties.
    pub fn expect_missing(&self, names: &str) -> Result<&Self, Failure> {
        match names.split(' ').find(|name| !self.missing.contains(*name)) {
            Some(name) => {
                let expected = format!("404 for {name} of {}", self.path);
                Err(Failure::new(expected, format!("{self:?}")))
            }
            None => Ok(self),
        }
    }

    /// Compares the status of the resource with the contract.
    pub fn expect_status(&self, expected: u16) -> Result<&Self, Failure> {
        if self.status == Some(expected) {
            return Ok(self);
        }
        let expected = format!("{expected} for {}", self.path);
        Err(Failure::new(expected, format!("{:?}", self.status)))
    }
}

impl Property {
    fn of(node: Node) -> (String, Property) {
        let inside = node.descendants().skip(1).filter(Node::is_element);
        let attributes = node.attributes();
        let property = Property {
            text: text_of(node),
            elements: inside.map(name_of).collect(),
            attributes: attributes
                .map(|attribute| (attribute.name().to_owned(), attribute.value().to_owned()))
                .collect(),
        };
        (name_of(node), property)
    }
}

/// The name of an element with the tests' prefix for its namespace, or else with the namespace itself.
fn name_of(node: Node) -> String {
    let namespace = node.tag_name().namespace().unwrap_or_default();
    let known = NAMESPACES.iter().find(|(_, known)| *known == namespace);
    let prefix = known.map_or(namespace, |(prefix, _)| prefix);
    format!("{prefix}:{}", node.tag_name().name())
}

fn children<'a, 'input: 'a>(
    node: Node<'a, 'input>,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'input>> {
    node.children()
        .filter(move |child| child.is_element() && name_of(*child) == name)
}

fn text_of(node: Node) -> String {
    let texts = node.descendants().filter(Node::is_text);
    texts.filter_map(|node| node.text()).collect()
}

/// The text of the first child with this name.
fn text_in(node: Node, name: &'static str) -> Option<String> {
    children(node, name).next().map(text_of)
}

/// The number in `HTTP/1.1 404 Not Found`.
fn status_of(node: Node) -> Option<u16> {
    let line = text_in(node, "D:status")?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Compares an error with WebDAV's: its status, and the element that names the rule.
pub fn expect_rule<'a>(
    answer: &'a Answer,
    status: u16,
    rule: &'static str,
) -> Result<&'a Answer, Failure> {
    answer.expect_status(status)?;
    let text = answer.text();
    let expected = format!("an XML body whose error has the element {rule}");
    let document = Document::parse(&text);
    let holds = document.as_ref().is_ok_and(|document| {
        let root = document.root_element();
        name_of(root) == "D:error" && children(root, rule).next().is_some()
    });
    answer.expect(holds, expected, format!("body {text}"))
}
