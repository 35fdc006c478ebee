//! A multistatus as the tests look at it: by what it says, not by its bytes.

use roxmltree::{Document, Node};

use workshop_harness::contract::{Answer, Failure};

/// The namespaces of WebDAV, of CardDAV and of the calendar server.
pub const DAV: &str = "DAV:";
pub const CARDDAV: &str = "urn:ietf:params:xml:ns:carddav";
pub const CALENDAR_SERVER: &str = "http://calendarserver.org/ns/";

/// The body of a 207.
#[derive(Debug)]
pub struct Multistatus {
    /// What is said of each resource, in its order.
    pub responses: Vec<Response>,
    /// The token for the next sync.
    pub sync_token: Option<String>,
}

/// What is said of one resource.
#[derive(Debug, Default)]
pub struct Response {
    /// Its path.
    pub path: String,
    /// The status of the resource; none where only its properties have one.
    pub status: Option<u16>,
    /// The properties that it has.
    pub found: Vec<Property>,
    /// The properties that it does not have.
    pub missing: Vec<Property>,
}

/// A property of a resource.
#[derive(Debug)]
pub struct Property {
    pub namespace: String,
    pub name: String,
    /// The text in it, that of its children included.
    pub text: String,
    /// The names of all elements in it.
    pub elements: Vec<String>,
}

impl Multistatus {
    /// Reads the body of an answer, which has to be a 207.
    pub fn of(answer: &Answer) -> Result<Multistatus, Failure> {
        answer.expect_status(207)?;
        let text = answer.text();
        let not_one = |why: String| answer.failure("a multistatus in well-formed XML", why);
        let document = Document::parse(&text).map_err(|error| not_one(error.to_string()))?;
        let root = document.root_element();
        if !root.has_tag_name((DAV, "multistatus")) {
            return Err(not_one(format!("the root element {:?}", root.tag_name())));
        }
        Ok(Multistatus {
            responses: children(root, "response").map(Response::of).collect(),
            sync_token: children(root, "sync-token").next().map(text_of),
        })
    }

    /// What is said of the resource at this path.
    pub fn at(&self, path: &str) -> Result<&Response, Failure> {
        let found = self.responses.iter().find(|response| response.path == path);
        found.ok_or_else(|| {
            let paths: Vec<&str> = self.paths().collect();
            let expected = format!("a multistatus with a response for {path}");
            Failure::new(expected, format!("responses for {paths:?}"))
        })
    }

    /// The paths that something is said of, in their order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.responses.iter().map(|response| response.path.as_str())
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
            path: children(node, "href")
                .next()
                .map(text_of)
                .unwrap_or_default(),
            status: status_of(node),
            ..Response::default()
        };
        for propstat in children(node, "propstat") {
            let properties = children(propstat, "prop").flat_map(|prop| prop.children());
            let properties = properties.filter(Node::is_element).map(Property::of);
            match status_of(propstat) {
                Some(200) => response.found.extend(properties),
                _ => response.missing.extend(properties),
            }
        }
        response
    }

    /// The value of a property that the resource has.
    pub fn property(&self, namespace: &str, name: &str) -> Result<&Property, Failure> {
        let is_it = |property: &&Property| property.is(namespace, name);
        self.found.iter().find(is_it).ok_or_else(|| {
            let names: Vec<&str> = self.found.iter().map(|found| found.name.as_str()).collect();
            let expected = format!("the property {name} of {}", self.path);
            Failure::new(expected, format!("the properties {names:?}"))
        })
    }

    /// Whether it says that the resource does not have this property.
    pub fn lacks(&self, namespace: &str, name: &str) -> bool {
        self.missing
            .iter()
            .any(|missing| missing.is(namespace, name))
    }
}

impl Property {
    fn of(node: Node) -> Property {
        let inside = node.descendants().skip(1).filter(Node::is_element);
        Property {
            namespace: node.tag_name().namespace().unwrap_or_default().to_owned(),
            name: node.tag_name().name().to_owned(),
            elements: inside
                .map(|node| node.tag_name().name().to_owned())
                .collect(),
            text: text_of(node),
        }
    }

    /// Whether it has this name.
    pub fn is(&self, namespace: &str, name: &str) -> bool {
        self.namespace == namespace && self.name == name
    }
}

fn children<'a, 'input: 'a>(
    node: Node<'a, 'input>,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'input>> {
    node.children()
        .filter(move |child| child.has_tag_name((DAV, name)))
}

fn text_of(node: Node) -> String {
    let texts = node.descendants().filter(Node::is_text);
    texts.filter_map(|node| node.text()).collect()
}

/// The number in `HTTP/1.1 404 Not Found`.
fn status_of(node: Node) -> Option<u16> {
    let line = children(node, "status").next().map(text_of)?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Holds an error against WebDAV's: its status, and the element that names the rule.
pub fn expect_rule<'a>(
    answer: &'a Answer,
    status: u16,
    namespace: &str,
    rule: &str,
) -> Result<&'a Answer, Failure> {
    answer.expect_status(status)?;
    let text = answer.text();
    let expected = format!("an XML body whose error has the element {rule}");
    let document = Document::parse(&text);
    let holds = document.as_ref().is_ok_and(|document| {
        let root = document.root_element();
        let mut inside = root.children();
        root.has_tag_name((DAV, "error"))
            && inside.any(|child| child.has_tag_name((namespace, rule)))
    });
    answer.expect(holds, expected, format!("body {text}"))
}
