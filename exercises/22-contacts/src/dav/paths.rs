//! Paths: maps each path to a resource, and checks that the user may access it.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::{error::Error, markup::is_text, users::User};

/// The maximum length of a contact's name, in bytes.
const MAX_NAME: usize = 255;

/// Characters to percent-encode: all that RFC 3986 doesn't allow in a segment. Clients compare paths as strings.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=')
    .remove(b':')
    .remove(b'@');

/// A resource, as the authenticated user sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resource {
    /// `/`: leads a client to the user's principal.
    Entry,
    /// `/principals/{user}/`, the user's principal: leads a client to the address book home.
    Principal,
    /// `/addressbooks/{user}/`, the address book home: contains one address book.
    Home,
    /// `/addressbooks/{user}/contacts/`, the address book: contains the contacts.
    Book,
    /// `/addressbooks/{user}/contacts/{name}`, a contact.
    Contact { name: String },
}

impl Resource {
    /// Resolves a path for this user. Repeated slashes, and a missing slash after a collection, are accepted.
    ///
    /// # Errors
    /// The path belongs to another user, contains an invalid contact name, or leads to nothing.
    pub fn at(path: &str, user: &User) -> Result<Resource, Error> {
        let segments = path.split('/').filter(|segment| !segment.is_empty());
        let segments: Vec<Vec<u8>> = segments
            .map(|segment| percent_decode_str(segment).collect())
            .collect();
        let segments: Vec<&[u8]> = segments.iter().map(Vec::as_slice).collect();
        match segments.as_slice() {
            [] => Ok(Resource::Entry),
            [b"principals" | b"addressbooks", owner, ..] if *owner != user.name().as_bytes() => {
                Err(Error::Forbidden)
            }
            [b"principals", _] => Ok(Resource::Principal),
            [b"addressbooks", _] => Ok(Resource::Home),
            [b"addressbooks", _, b"contacts"] => Ok(Resource::Book),
            [b"addressbooks", _, b"contacts", name] if !path.ends_with('/') => {
                let name = contact_name(name)?;
                Ok(Resource::Contact { name })
            }
            _ => Err(Error::NotFound("there is nothing at this path")),
        }
    }

    /// The methods that this resource supports, for the `Allow` header.
    pub fn allow(&self) -> &'static str {
        match self {
            Resource::Entry | Resource::Principal | Resource::Home => {
                "OPTIONS, PROPFIND, PROPPATCH"
            }
            Resource::Book => "OPTIONS, PROPFIND, PROPPATCH, REPORT",
            Resource::Contact { .. } => "OPTIONS, GET, HEAD, PUT, DELETE, PROPFIND, PROPPATCH",
        }
    }
}

/// Validates a contact's name. Clients choose the names, and the service never uses them as file paths. But clients and
/// proxies resolve `.` and `..` in URLs, so a contact with one of these names would be unreachable.
fn contact_name(name: &[u8]) -> Result<String, Error> {
    let usable = |name: &&str| {
        (1..=MAX_NAME).contains(&name.len())
            && ![".", ".."].contains(name)
            && name
                .chars()
                .all(|character| is_text(character) && !character.is_control())
    };
    let name = str::from_utf8(name).ok().filter(usable);
    name.map(str::to_owned).ok_or(Error::BadRequest(
        "the name must be 1 to 255 bytes of UTF-8, without control characters, and not . or ..",
    ))
}

/// The path of the user's principal.
pub fn principal(user: &User) -> String {
    format!("/principals/{}/", user.name())
}

/// The path of the user's address book home.
pub fn home(user: &User) -> String {
    format!("/addressbooks/{}/", user.name())
}

/// The path of the user's address book.
pub fn book(user: &User) -> String {
    format!("/addressbooks/{}/contacts/", user.name())
}

/// The path of the contact with this name in the user's address book.
pub fn contact(user: &User, name: &str) -> String {
    let name = utf8_percent_encode(name, ENCODED);
    format!("/addressbooks/{}/contacts/{name}", user.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::users::Users;

    #[test]
    fn a_path_leads_to_a_resource_or_to_the_reason_why_not() {
        let ada = Users::trusted("ada");
        let contact = |name: &str| Ok(Resource::Contact { name: name.into() });
        for (path, expected) in [
            ("/", Ok(Resource::Entry)),
            ("/principals/ada", Ok(Resource::Principal)),
            ("/addressbooks/ada/", Ok(Resource::Home)),
            ("/addressbooks/ada/contacts", Ok(Resource::Book)),
            ("/addressbooks/ada/contacts/", Ok(Resource::Book)),
            ("//principals//ada//", Ok(Resource::Principal)),
            ("/addressbooks/ada/contacts/a%40b.vcf", contact("a@b.vcf")),
            ("/addressbooks/ada/contacts/a%2Fb", contact("a/b")),
            (
                "/addressbooks/ada/contacts/%7B%C3%A4%20%3D%3A%7D",
                contact("{ä =:}"),
            ),
            ("/addressbooks/ada/contacts/a.vcf/", Err(404)),
            ("/addressbooks/ada/contacts/%2E%2e", Err(400)),
            ("/addressbooks/ada/contacts/.", Err(400)),
            ("/addressbooks/ada/contacts/%FF", Err(400)),
            ("/addressbooks/ada/contacts/a%00b", Err(400)),
            ("/addressbooks/ada/others/", Err(404)),
            ("/addressbooks/grace/contacts/a%2Fb", Err(403)),
            ("/principals/grace/", Err(403)),
            ("/elsewhere", Err(404)),
        ] {
            let found = Resource::at(path, &ada).map_err(|error| error.status().as_u16());
            assert_eq!(found, expected, "{path}");
        }
    }

    #[test]
    fn a_name_comes_back_from_its_path() {
        let ada = Users::trusted("ada");
        for (name, path) in [
            ("{a}=b:c.vcf", "%7Ba%7D=b:c.vcf"),
            ("a/b ä", "a%2Fb%20%C3%A4"),
        ] {
            let written = contact(&ada, name);
            assert_eq!(written, format!("/addressbooks/ada/contacts/{path}"));
            let name = name.to_owned();
            assert_eq!(
                Resource::at(&written, &ada).ok(),
                Some(Resource::Contact { name })
            );
        }
    }
}
