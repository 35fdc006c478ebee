//! Properties: parses the ones that a client requests, and computes their values.

use std::time::{Duration, UNIX_EPOCH};

use roxmltree::Node;

use crate::{
    database::{contacts::Contact, sync::Book},
    dav::{paths, put::MAX_VCARD_BYTES, xml},
    error::Error,
    markup::{self, CALENDAR_SERVER, CARDDAV, DAV},
    users::User,
    vcard::Card,
};

// ANCHOR: asked
/// The maximum number of requested properties, and the maximum total length of their names, in bytes: a response repeats
/// the names for each contact.
const MAX_PROPERTIES: usize = 100;
const MAX_NAMES: usize = 8 << 10;

/// The properties in a request (`prop`, `allprop` or `propname`), without duplicates.
#[derive(Debug)]
pub struct Asked {
    properties: Vec<Property>,
    /// Namespaces that only the client uses. The index of a namespace determines its prefix.
    namespaces: Vec<String>,
    what: What,
}

/// A requested property: its name, and the tag of its element in the response.
#[derive(Debug)]
pub struct Property {
    name: Name,
    tag: String,
    /// Whether the client explicitly requests vCards in version 3.0.
    in_version_3: bool,
}

/// An XML name: its namespace, which can be empty, and its local part.
#[derive(Debug, PartialEq, Eq)]
pub struct Name {
    namespace: String,
    local: String,
}

#[derive(Debug, PartialEq)]
enum What {
    /// `prop`: the values of the listed properties.
    Values,
    /// `allprop`: the values of all properties that the resource has.
    AllValues,
    /// `propname`: the names of all properties that the resource has.
    AllNames,
}

impl Asked {
    /// Parses the properties that a PROPFIND or a report requests: all if none are listed.
    ///
    /// # Errors
    /// The request names too many properties, or their names are too long.
    pub fn of(request: Node) -> Result<Asked, Error> {
        match xml::child(request, DAV, "prop") {
            Some(prop) => Asked::named(prop.children()),
            None if xml::child(request, DAV, "propname").is_some() => {
                Ok(Asked::all(What::AllNames))
            }
            None => Ok(Asked::all(What::AllValues)),
        }
    }

    /// A request for all properties, as made by a PROPFIND without a body.
    pub fn everything() -> Asked {
        Asked::all(What::AllValues)
    }

    fn all(what: What) -> Asked {
        let mut asked = Asked::nothing(what);
        for (namespace, local) in ALL {
            asked.add(namespace, local);
        }
        asked
    }

    fn nothing(what: What) -> Asked {
        Asked {
            properties: Vec::new(),
            namespaces: Vec::new(),
            what,
        }
    }

    /// The properties that these elements name.
    ///
    /// # Errors
    /// There are too many properties, or their names are too long.
    pub fn named<'a, 'input: 'a>(
        elements: impl Iterator<Item = Node<'a, 'input>>,
    ) -> Result<Asked, Error> {
        let mut asked = Asked::nothing(What::Values);
        let mut length = 0;
        for element in elements.filter(Node::is_element) {
            let name = element.tag_name();
            length += asked.add(name.namespace().unwrap_or_default(), name.name());
            if let Some(property) = asked.properties.last_mut() {
                property.in_version_3 |= element.attribute("version") == Some("3.0");
            }
            if asked.properties.len() > MAX_PROPERTIES || length > MAX_NAMES {
                return Err(TOO_MANY);
            }
        }
        Ok(asked)
    }

    /// Adds a property, and returns the length of its name, or 0 for a duplicate.
    fn add(&mut self, namespace: &str, local: &str) -> usize {
        let is_same = |it: &Property| it.name.namespace == namespace && it.name.local == local;
        if self.properties.iter().any(is_same) {
            return 0;
        }
        let tag = match namespace {
            DAV => format!("D:{local}"),
            CARDDAV => format!("C:{local}"),
            CALENDAR_SERVER => format!("S:{local}"),
            XML => format!("xml:{local}"),
            "" => local.to_owned(),
            other => format!("x{}:{local}", self.place_of(other)),
        };
        let name = Name {
            namespace: namespace.to_owned(),
            local: local.to_owned(),
        };
        self.properties.push(Property {
            name,
            tag,
            in_version_3: false,
        });
        namespace.len() + local.len()
    }

    fn place_of(&mut self, namespace: &str) -> usize {
        let known = self.namespaces.iter().position(|known| known == namespace);
        known.unwrap_or_else(|| {
            self.namespaces.push(namespace.to_owned());
            self.namespaces.len() - 1
        })
    }

    /// The declarations of the client's own namespaces, for the root element.
    pub fn namespaces(&self) -> String {
        let namespaces = self.namespaces.iter().enumerate();
        namespaces
            .map(|(place, namespace)| {
                format!(r#" xmlns:x{place}="{}""#, markup::escaped(namespace))
            })
            .collect()
    }

    /// The requested properties, in order.
    pub fn properties(&self) -> &[Property] {
        &self.properties
    }

    /// Whether all properties are requested, rather than a list of them.
    pub fn is_for_all(&self) -> bool {
        self.what != What::Values
    }

    /// Whether the vCards themselves are requested.
    pub fn wants_vcards(&self) -> bool {
        let mut names = self.properties.iter().map(|property| &property.name);
        names.any(|name| name.namespace == CARDDAV && name.local == "address-data")
    }

    /// The value as it appears in a response: empty if only names are requested.
    pub fn shown(&self, value: String) -> String {
        match self.what {
            What::AllNames => String::new(),
            What::Values | What::AllValues => value,
        }
    }
}
// ANCHOR_END: asked

impl Property {
    /// The name, with its namespace.
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// The name with its prefix, as it appears in a response.
    pub fn tag(&self) -> &str {
        &self.tag
    }
}

const TOO_MANY: Error = Error::BadRequest(
    "a request must not ask for more than 100 properties, whose names have 8192 bytes together",
);

/// The namespace to which XML always binds the prefix `xml`.
const XML: &str = "http://www.w3.org/XML/1998/namespace";

/// All properties except `address-data`: that is the vCard itself, which clients request by name.
const ALL: [(&str, &str); 17] = [
    (DAV, "resourcetype"),
    (DAV, "displayname"),
    (DAV, "current-user-principal"),
    (DAV, "principal-URL"),
    (DAV, "owner"),
    (DAV, "current-user-privilege-set"),
    (DAV, "supported-report-set"),
    (DAV, "sync-token"),
    (DAV, "getetag"),
    (DAV, "getcontenttype"),
    (DAV, "getcontentlength"),
    (DAV, "getlastmodified"),
    (CARDDAV, "addressbook-home-set"),
    (CARDDAV, "supported-address-data"),
    (CARDDAV, "supported-collation-set"),
    (CARDDAV, "max-resource-size"),
    (CALENDAR_SERVER, "getctag"),
];

/// A resource, with the data that its properties are computed from.
pub enum Described<'a> {
    Entry,
    Principal,
    Home,
    Book(&'a Book),
    Contact(&'a Contact),
}

// ANCHOR: value
impl Described<'_> {
    /// The value of a property for this user, as XML; `None` if the resource has no such property.
    pub fn value(&self, property: &Property, user: &User) -> Option<String> {
        match (
            property.name.namespace.as_str(),
            property.name.local.as_str(),
        ) {
            (DAV, local) => self.dav_value(local, user),
            (CARDDAV, "address-data") => self.address_data(property.in_version_3),
            (CARDDAV, local) => self.carddav_value(local, user),
            (CALENDAR_SERVER, "getctag") => Some(self.book()?.token()),
            _ => None,
        }
    }

    fn dav_value(&self, local: &str, user: &User) -> Option<String> {
        match local {
            "resourcetype" => Some(self.resource_type().to_owned()),
            "displayname" => Some(self.display_name(user)?.to_owned()),
            "current-user-principal" => Some(href(&paths::principal(user))),
            "principal-URL" => match self {
                Described::Principal => Some(href(&paths::principal(user))),
                _ => None,
            },
            "owner" => self.is_owned().then(|| href(&paths::principal(user))),
            "current-user-privilege-set" => self.is_owned().then(|| PRIVILEGES.to_owned()),
            "supported-report-set" => self.book().map(|_| REPORTS.to_owned()),
            "sync-token" => Some(self.book()?.token()),
            "getetag" => Some(markup::escaped(&self.contact()?.etag)),
            "getcontenttype" => self.contact().map(|_| CONTENT_TYPE.to_owned()),
            "getcontentlength" => Some(self.contact()?.length.to_string()),
            "getlastmodified" => last_modified(self.contact()?),
            _ => None,
        }
    }

    fn carddav_value(&self, local: &str, user: &User) -> Option<String> {
        match (local, self) {
            ("addressbook-home-set", Described::Principal) => Some(href(&paths::home(user))),
            ("supported-address-data", Described::Book(_)) => Some(ADDRESS_DATA.to_owned()),
            ("supported-collation-set", Described::Book(_)) => Some(COLLATIONS.to_owned()),
            ("max-resource-size", Described::Book(_)) => Some(MAX_VCARD_BYTES.to_string()),
            _ => None,
        }
    }
    // ANCHOR_END: value

    /// The vCard, in the version in which it was stored. All clients get 3.0 cards, because each has to support 3.0 (RFC 6352,
    /// section 3). A client that asks for 3.0 might not support 4.0, so it gets no 4.0 cards.
    fn address_data(&self, in_version_3: bool) -> Option<String> {
        let vcard = self.contact()?.vcard.as_deref()?;
        let is_readable = !in_version_3 || !Card::of(vcard).is_version_4();
        is_readable.then(|| markup::escaped(vcard))
    }

    /// The attributes of a property's element. Only a 4.0 vCard has any: the default is 3.0.
    pub fn attributes(&self, name: &Name) -> &'static str {
        let vcard = self.contact().and_then(|contact| contact.vcard.as_deref());
        match (name.local.as_str(), vcard) {
            ("address-data", Some(vcard)) if Card::of(vcard).is_version_4() => {
                r#" content-type="text/vcard" version="4.0""#
            }
            _ => "",
        }
    }

    fn resource_type(&self) -> &'static str {
        match self {
            Described::Entry | Described::Home => "<D:collection/>",
            Described::Principal => "<D:collection/><D:principal/>",
            Described::Book(_) => "<D:collection/><C:addressbook/>",
            Described::Contact(_) => "",
        }
    }

    fn display_name<'u>(&self, user: &'u User) -> Option<&'u str> {
        match self {
            Described::Principal | Described::Home => Some(user.name()),
            Described::Book(_) => Some("Contacts"),
            Described::Entry | Described::Contact(_) => None,
        }
    }

    /// Whether the resource is the user's address book home, or is inside it, and so has an owner.
    fn is_owned(&self) -> bool {
        matches!(
            self,
            Described::Home | Described::Book(_) | Described::Contact(_)
        )
    }

    fn book(&self) -> Option<&Book> {
        match self {
            Described::Book(book) => Some(book),
            _ => None,
        }
    }

    fn contact(&self) -> Option<&Contact> {
        match self {
            Described::Contact(contact) => Some(contact),
            _ => None,
        }
    }
}

/// The content type of a contact.
pub const CONTENT_TYPE: &str = "text/vcard; charset=utf-8";

/// The time of a contact's last change, as an HTTP date.
pub fn last_modified(contact: &Contact) -> Option<String> {
    let since_1970 = Duration::from_secs(contact.changed?.unsigned_abs());
    Some(httpdate::fmt_http_date(UNIX_EPOCH + since_1970))
}

fn href(path: &str) -> String {
    format!("<D:href>{path}</D:href>")
}

const PRIVILEGES: &str = "<D:privilege><D:read/></D:privilege>\
     <D:privilege><D:write/></D:privilege>\
     <D:privilege><D:bind/></D:privilege>\
     <D:privilege><D:unbind/></D:privilege>";

const REPORTS: &str = "<D:supported-report><D:report><C:addressbook-multiget/></D:report></D:supported-report>\
     <D:supported-report><D:report><C:addressbook-query/></D:report></D:supported-report>\
     <D:supported-report><D:report><D:sync-collection/></D:report></D:supported-report>";

const COLLATIONS: &str = "<C:supported-collation>i;ascii-casemap</C:supported-collation>\
     <C:supported-collation>i;unicode-casemap</C:supported-collation>";

const ADDRESS_DATA: &str = r#"<C:address-data-type content-type="text/vcard" version="3.0"/><C:address-data-type content-type="text/vcard" version="4.0"/>"#;
