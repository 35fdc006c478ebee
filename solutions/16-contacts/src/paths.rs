//! The paths: which resource is at which, and who may see it.

use percent_encoding::percent_decode_str;

use crate::{error::Error, users::User};

/// The longest name of a contact, in characters.
const MAX_NAME: usize = 200;

/// What is at a path of the user who asks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resource {
    /// `/`: tells a client who it is.
    Entry,
    /// `/principals/{user}/`: tells a client where the user's address books are.
    Principal,
    /// `/addressbooks/{user}/`: has one address book.
    Home,
    /// `/addressbooks/{user}/contacts/`: has the contacts.
    Book,
    /// `/addressbooks/{user}/contacts/{name}`.
    Contact { name: String },
}

impl Resource {
    /// What this user finds at this path. A path of a collection may lack the slash at its end.
    ///
    /// # Errors
    /// The path belongs to another user, a contact cannot have such a name, or there is nothing at the path.
    pub fn at(path: &str, user: &User) -> Result<Resource, Error> {
        let (collection, ends_with_slash) = match path.strip_suffix('/') {
            Some(collection) => (collection, true),
            None => (path, false),
        };
        let segments: Vec<String> = collection
            .split('/')
            .skip(1) // nothing is before the first slash
            .map(|segment| percent_decode_str(segment).decode_utf8_lossy().into_owned())
            .collect();
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        match segments.as_slice() {
            [] => Ok(Resource::Entry),
            ["principals" | "addressbooks", owner, ..] if *owner != user.name() => {
                Err(Error::Forbidden)
            }
            ["principals", _] => Ok(Resource::Principal),
            ["addressbooks", _] => Ok(Resource::Home),
            ["addressbooks", _, "contacts"] => Ok(Resource::Book),
            ["addressbooks", _, "contacts", name] if !ends_with_slash => Ok(Resource::Contact {
                name: contact_name(name)?,
            }),
            _ => Err(Error::NotFound("there is nothing at this path")),
        }
    }

    /// The methods that it takes, for the header `Allow`.
    pub fn allow(&self) -> &'static str {
        match self {
            Resource::Entry | Resource::Principal | Resource::Home => "OPTIONS, PROPFIND",
            Resource::Book => "OPTIONS, PROPFIND, REPORT",
            Resource::Contact { .. } => "OPTIONS, GET, HEAD, PUT, DELETE, PROPFIND",
        }
    }
}

fn contact_name(name: &str) -> Result<String, Error> {
    let usable = |byte: u8| byte.is_ascii_alphanumeric() || b"._~@+-".contains(&byte);
    if (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(usable) {
        return Ok(name.to_owned());
    }
    Err(Error::BadRequest(
        "the name must be 1 to 200 of the characters A-Z a-z 0-9 . _ ~ @ + -",
    ))
}

// None of the following needs an encoding: the names of users and of contacts have no other characters than a path may have.

/// The path of the user's principal.
pub fn principal(user: &User) -> String {
    format!("/principals/{}/", user.name())
}

/// The path of the user's home.
pub fn home(user: &User) -> String {
    format!("/addressbooks/{}/", user.name())
}

/// The path of the user's address book.
pub fn book(user: &User) -> String {
    format!("/addressbooks/{}/contacts/", user.name())
}

/// The path of the contact with this name in the user's address book.
pub fn contact(user: &User, name: &str) -> String {
    format!("/addressbooks/{}/contacts/{name}", user.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::users::Users;

    #[test]
    fn a_path_leads_to_a_resource_or_to_the_reason_why_not() {
        let ada = Users::trusted("ada");
        let contact = |name: &str| Resource::Contact { name: name.into() };
        for (path, expected) in [
            ("/", Ok(Resource::Entry)),
            ("/principals/ada", Ok(Resource::Principal)),
            ("/addressbooks/ada/", Ok(Resource::Home)),
            ("/addressbooks/ada/contacts", Ok(Resource::Book)),
            ("/addressbooks/ada/contacts/", Ok(Resource::Book)),
            (
                "/addressbooks/ada/contacts/a%40b.vcf",
                Ok(contact("a@b.vcf")),
            ),
            ("/addressbooks/ada/contacts/a.vcf/", Err(404)),
            ("/addressbooks/ada/contacts/a%2Fb", Err(400)),
            ("/addressbooks/ada/contacts//", Err(404)),
            ("/addressbooks/ada/others/", Err(404)),
            ("/addressbooks/grace/contacts/a%2Fb", Err(403)),
            ("/principals/grace/", Err(403)),
            ("/elsewhere", Err(404)),
        ] {
            let found = Resource::at(path, &ada).map_err(|error| error.status().as_u16());
            assert_eq!(found, expected, "{path}");
        }
    }
}
