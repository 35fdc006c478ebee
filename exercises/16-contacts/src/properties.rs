//! The properties: which ones a client asks for, and what their values are.

use std::{
    sync::LazyLock,
    time::{Duration, UNIX_EPOCH},
};

use crate::{
    contacts::Contact,
    error::Error,
    markup::{self, CALENDAR_SERVER, CARDDAV, DAV},
    paths,
    put::MAX_VCARD_BYTES,
    sync::Book,
    users::User,
    xml::{Element, Name},
};

// ANCHOR: asked
/// The properties that a request asks for.
pub struct Asked {
    names: Vec<Name>,
    what: What,
}

#[derive(PartialEq)]
enum What {
    /// `prop`: these properties.
    Values,
    /// `allprop`: all that there are.
    AllValues,
    /// `propname`: the names of all that there are.
    AllNames,
}

impl Asked {
    /// Reads it from the body of a PROPFIND, or from a report. Without a body, all are asked for.
    ///
    /// # Errors
    /// It asks for nothing that is known.
    pub fn of(body: Option<&Element>) -> Result<Asked, Error> {
        let all = |what| Asked {
            names: ALL.clone(),
            what,
        };
        let Some(body) = body else {
            return Ok(all(What::AllValues));
        };
        if let Some(prop) = body.child(DAV, "prop") {
            let names = prop.children.iter().map(|child| child.name.clone());
            return Ok(Asked {
                names: names.collect(),
                what: What::Values,
            });
        }
        if body.child(DAV, "propname").is_some() {
            return Ok(all(What::AllNames));
        }
        if body.child(DAV, "allprop").is_some() {
            return Ok(all(What::AllValues));
        }
        Err(Error::BadRequest(
            "the body must ask for prop, allprop or propname",
        ))
    }

    /// The names, in their order.
    pub fn names(&self) -> &[Name] {
        &self.names
    }

    /// Whether it is for all that there are, rather than for these.
    pub fn is_for_all(&self) -> bool {
        self.what != What::Values
    }

    /// Whether the contacts themselves are asked for.
    pub fn wants_vcards(&self) -> bool {
        self.names
            .iter()
            .any(|name| name.is(CARDDAV, "address-data"))
    }

    /// What is shown of a value.
    pub fn shown(&self, value: String) -> String {
        match self.what {
            What::AllNames => String::new(),
            What::Values | What::AllValues => value,
        }
    }
}
// ANCHOR_END: asked

/// All live properties, but `address-data`: that is the contact itself, and asked for by name.
static ALL: LazyLock<Vec<Name>> = LazyLock::new(|| {
    let names = [
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
        (CARDDAV, "max-resource-size"),
        (CALENDAR_SERVER, "getctag"),
    ];
    let name = |(namespace, local): (&str, &str)| Name {
        namespace: namespace.to_owned(),
        local: local.to_owned(),
    };
    names.map(name).into()
});

/// A resource, with what its properties are made of.
pub enum Described<'a> {
    Entry,
    Principal,
    Home,
    Book(&'a Book),
    Contact(&'a Contact),
}

// ANCHOR: value
impl Described<'_> {
    /// The content of a property's element for this user; nothing when the resource has no such property.
    pub fn value(&self, name: &Name, user: &User) -> Option<String> {
        match (name.namespace.as_str(), name.local.as_str()) {
            (DAV, local) => self.dav_value(local, user),
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
            "getlastmodified" => Some(last_modified(self.contact()?)),
            _ => None,
        }
    }

    fn carddav_value(&self, local: &str, user: &User) -> Option<String> {
        match (local, self) {
            ("addressbook-home-set", Described::Principal) => Some(href(&paths::home(user))),
            ("supported-address-data", Described::Book(_)) => Some(ADDRESS_DATA.to_owned()),
            ("max-resource-size", Described::Book(_)) => Some(MAX_VCARD_BYTES.to_string()),
            ("address-data", Described::Contact(contact)) => {
                contact.vcard.as_deref().map(markup::escaped)
            }
            _ => None,
        }
    }
    // ANCHOR_END: value

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

    /// Whether it belongs to the user, rather than to all.
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

/// When a contact was changed last, as HTTP writes it.
pub fn last_modified(contact: &Contact) -> String {
    let since_1970 = Duration::from_secs(contact.changed.unsigned_abs());
    httpdate::fmt_http_date(UNIX_EPOCH + since_1970)
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

const ADDRESS_DATA: &str = r#"<C:address-data-type content-type="text/vcard" version="3.0"/><C:address-data-type content-type="text/vcard" version="4.0"/>"#;
