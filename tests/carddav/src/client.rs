//! A client of an address book, as the tests need it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;

use crate::multistatus::{CARDDAV, DAV, Multistatus};
use workshop_harness::contract::{Answer, Client, Failure};
use workshop_harness::http::Body;

/// The address book of Ada.
pub const BOOK: &str = "/addressbooks/ada/contacts/";

/// Ada with her address book.
pub struct AddressBook {
    /// Sends requests with her name and password.
    pub client: Client,
}

impl AddressBook {
    /// Hers, through this client.
    pub fn of(client: &Client) -> AddressBook {
        AddressBook {
            client: known_as(client, "ada:secret"),
        }
    }

    /// The same, with another header in each request.
    pub fn with(&self, header: &'static str, value: &str) -> AddressBook {
        AddressBook {
            client: self.client.with(header, Some(value)),
        }
    }

    /// Asks for properties. Without a body, for all.
    pub async fn propfind(
        &self,
        path: &str,
        depth: &str,
        body: Option<&str>,
    ) -> Result<Answer, Failure> {
        let client = self.client.with("Depth", Some(depth));
        let body = body.map(xml);
        client.send_body(method("PROPFIND"), path, body).await
    }

    /// Asks for these properties, each by its prefix and name: `D:getetag`.
    pub async fn properties(
        &self,
        path: &str,
        depth: &str,
        names: &[&str],
    ) -> Result<Multistatus, Failure> {
        let body = element("propfind", &prop(names));
        Multistatus::of(&self.propfind(path, depth, Some(&body)).await?)
    }

    /// Asks the book for a report.
    pub async fn report(&self, body: &str) -> Result<Answer, Failure> {
        let client = self.client.with("Depth", Some("0"));
        let body = Some(xml(body));
        client.send_body(method("REPORT"), BOOK, body).await
    }

    /// Syncs from this token, at most so much at a time.
    pub async fn sync(&self, token: &str, limit: Option<usize>) -> Result<Multistatus, Failure> {
        Multistatus::of(&self.report(&sync_collection(token, limit)).await?)
    }

    /// The token of one who knows all that there is.
    pub async fn token(&self) -> Result<String, Failure> {
        self.sync("", None).await?.token()
    }

    /// Puts a vCard.
    pub async fn put(&self, name: &str, card: &str) -> Result<Answer, Failure> {
        let body = Body {
            content_type: Some("text/vcard; charset=utf-8"),
            bytes: card.as_bytes(),
        };
        self.put_body(name, body).await
    }

    /// Puts whatever it is.
    pub async fn put_body(&self, name: &str, body: Body<'_>) -> Result<Answer, Failure> {
        let path = path(name);
        self.client.send_body(Method::PUT, &path, Some(body)).await
    }

    /// Puts a vCard that is sure to be taken, and gives its tag.
    pub async fn keep(&self, name: &str, card: &str) -> Result<String, Failure> {
        let answer = self.put(name, card).await?;
        let status = answer.status();
        answer.expect(
            [201, 204].contains(&status),
            "status 201 or 204",
            format!("status {status}, body {}", answer.text()),
        )?;
        etag(&answer)
    }

    /// Gets a contact.
    pub async fn get(&self, name: &str) -> Result<Answer, Failure> {
        self.client.get(&path(name)).await
    }

    /// Deletes a contact.
    pub async fn delete(&self, name: &str) -> Result<Answer, Failure> {
        self.client.send(Method::DELETE, &path(name)).await
    }
}

/// The same client with another name and password.
pub fn known_as(client: &Client, credentials: &str) -> Client {
    let basic = format!("Basic {}", STANDARD.encode(credentials));
    client.without_key().with("Authorization", Some(&basic))
}

/// The path of a contact.
pub fn path(name: &str) -> String {
    format!("{BOOK}{name}")
}

/// A method that HTTP itself does not know.
#[expect(clippy::expect_used, reason = "all of them are letters")]
pub fn method(name: &str) -> Method {
    Method::from_bytes(name.as_bytes()).expect("a method")
}

/// A body that is said to be XML.
pub fn xml(text: &str) -> Body<'_> {
    Body {
        content_type: Some("application/xml; charset=utf-8"),
        bytes: text.as_bytes(),
    }
}

/// An element of WebDAV as the root of a document.
pub fn element(name: &str, content: &str) -> String {
    rooted("D", name, content)
}

/// An element of CardDAV as the root of a document.
pub fn card_element(name: &str, content: &str) -> String {
    rooted("C", name, content)
}

fn rooted(prefix: &str, name: &str, content: &str) -> String {
    format!(
        r#"<?xml version="1.0" encoding="utf-8"?><{prefix}:{name} xmlns:D="{DAV}" xmlns:C="{CARDDAV}" xmlns:S="http://calendarserver.org/ns/">{content}</{prefix}:{name}>"#
    )
}

/// The element that asks for these properties.
pub fn prop(names: &[&str]) -> String {
    let names: String = names.iter().map(|name| format!("<{name}/>")).collect();
    format!("<D:prop>{names}</D:prop>")
}

/// The report of what has changed since this token.
pub fn sync_collection(token: &str, limit: Option<usize>) -> String {
    let limit = limit.map(|limit| format!("<D:limit><D:nresults>{limit}</D:nresults></D:limit>"));
    let limit = limit.unwrap_or_default();
    let asked = prop(&["D:getetag"]);
    element(
        "sync-collection",
        &format!(
            "<D:sync-token>{token}</D:sync-token><D:sync-level>1</D:sync-level>{limit}{asked}"
        ),
    )
}

/// The tag of a contact, which is in each answer that has to do with it.
pub fn etag(answer: &Answer) -> Result<String, Failure> {
    let tag = answer.header("ETag").map(|tag| tag.into_owned());
    let tag = tag.unwrap_or_default();
    let strong = tag.len() > 2 && tag.starts_with('"') && tag.ends_with('"');
    answer.expect(strong, "an ETag in quotes", format!("ETag: {tag}"))?;
    Ok(tag)
}
