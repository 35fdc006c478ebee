//! A client of an address book, as the tests need it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::book::BOOK;
use crate::multistatus::{Multistatus, NAMESPACES};
use workshop_harness::contract::{Answer, Client, Failure, TestResult};
use workshop_harness::http::{Body, Method};

/// A user with an address book, as a client.
pub struct AddressBook {
    /// Sends requests with the owner's name and password.
    pub client: Client,
    /// The book's path, with a slash at its end.
    pub path: String,
}

impl AddressBook {
    /// Ada's, through this client.
    pub fn of(client: &Client) -> AddressBook {
        AddressBook::known_as(client, "ada:secret")
    }

    /// The address book of another user, by name and password.
    pub fn known_as(client: &Client, credentials: impl AsRef<[u8]>) -> AddressBook {
        let basic = format!("Basic {}", STANDARD.encode(credentials));
        AddressBook {
            client: client.without_key().with("Authorization", Some(&basic)),
            path: BOOK.to_owned(),
        }
    }

    /// The same client, for the book at this path.
    pub fn at(self, path: &str) -> AddressBook {
        AddressBook {
            path: path.to_owned(),
            ..self
        }
    }

    /// The same, with another header in each request.
    pub fn with(&self, header: &'static str, value: &str) -> AddressBook {
        AddressBook {
            client: self.client.with(header, Some(value)),
            path: self.path.clone(),
        }
    }

    /// The same, with `If-Match` for these tags.
    pub fn if_match(&self, tags: &str) -> AddressBook {
        self.with("If-Match", tags)
    }

    /// The same, with `If-None-Match` for these tags.
    pub fn if_none_match(&self, tags: &str) -> AddressBook {
        self.with("If-None-Match", tags)
    }

    /// Requests properties; all of them without a body.
    pub async fn propfind(
        &self,
        path: &str,
        depth: &str,
        body: Option<&str>,
    ) -> Result<Answer, Failure> {
        self.send_xml("PROPFIND", path, depth, body.map(xml)).await
    }

    /// Requests these properties, each by its prefix and name: `D:getetag D:displayname`.
    pub async fn properties(
        &self,
        path: &str,
        depth: &str,
        names: &str,
    ) -> Result<Multistatus, Failure> {
        let body = document("D:propfind", &prop(names));
        Multistatus::of(&self.propfind(path, depth, Some(&body)).await?)
    }

    /// The text of this property of the resource at this path.
    pub async fn property(&self, path: &str, name: &str) -> Result<String, Failure> {
        let answer = self.properties(path, "0", name).await?;
        let response = answer.responses.into_iter().next().unwrap_or_default();
        Ok(response.text(name)?.trim().to_owned())
    }

    /// Asks the book for a report.
    pub async fn report(&self, body: &str) -> Result<Answer, Failure> {
        self.send_xml("REPORT", &self.path, "0", Some(xml(body)))
            .await
    }

    /// Asks for these properties of the contacts at these paths.
    pub async fn multiget(&self, names: &str, paths: &[&str]) -> Result<Multistatus, Failure> {
        let paths = paths.iter().map(|path| format!("<D:href>{path}</D:href>"));
        let asked: String = [prop(names)].into_iter().chain(paths).collect();
        let body = document("C:addressbook-multiget", &asked);
        Multistatus::of(&self.report(&body).await?)
    }

    /// Syncs from this token, with at most this many changes at a time.
    pub async fn sync(&self, token: &str, limit: Option<usize>) -> Result<Multistatus, Failure> {
        Multistatus::of(&self.report(&sync_collection(token, limit)).await?)
    }

    /// The sync token of a client that knows all changes.
    pub async fn token(&self) -> Result<String, Failure> {
        self.sync("", None).await?.token()
    }

    /// Sends a method that HTTP itself does not have, with a body that may not be XML.
    pub async fn send_xml(
        &self,
        name: &str,
        path: &str,
        depth: &str,
        body: Option<Body<'_>>,
    ) -> Result<Answer, Failure> {
        let client = self.client.with("Depth", Some(depth));
        client.send_body(method(name), path, body).await
    }

    /// Puts a vCard.
    pub async fn put(&self, name: &str, card: &str) -> Result<Answer, Failure> {
        let body = Body::new("text/vcard; charset=utf-8", card);
        self.put_body(name, body).await
    }

    /// Puts any body.
    pub async fn put_body(&self, name: &str, body: Body<'_>) -> Result<Answer, Failure> {
        let path = self.contact(name);
        self.client.send_body(Method::PUT, &path, Some(body)).await
    }

    /// Puts a vCard that has to be accepted, and returns its tag.
    pub async fn keep(&self, name: &str, card: &str) -> Result<String, Failure> {
        let answer = self.put(name, card).await?;
        expect_one_of(&answer, [201, 204])?;
        etag(&answer)
    }

    /// Gets a contact.
    pub async fn get(&self, name: &str) -> Result<Answer, Failure> {
        self.client.get(&self.contact(name)).await
    }

    /// Gets a contact, and compares the status with the contract.
    pub async fn expect(&self, status: u16, name: &str) -> TestResult {
        self.get(name).await?.expect_status(status)?;
        Ok(())
    }

    /// Gets a contact whose vCard must still contain this text.
    pub async fn expect_unchanged(&self, name: &str, text: &str) -> TestResult {
        let answer = self.get(name).await?;
        let holds = answer.text().contains(text);
        let answer = answer.expect_status(200)?;
        answer.expect(holds, "the contact as it was", answer.text())?;
        Ok(())
    }

    /// Deletes a contact.
    pub async fn delete(&self, name: &str) -> Result<Answer, Failure> {
        let path = self.contact(name);
        self.client.send(Method::DELETE, &path).await
    }

    fn contact(&self, name: &str) -> String {
        format!("{}{name}", self.path)
    }
}

/// A method that HTTP itself does not have.
#[expect(clippy::expect_used, reason = "all of them are letters")]
pub fn method(name: &str) -> Method {
    Method::from_bytes(name.as_bytes()).expect("a method")
}

fn xml(text: &str) -> Body<'_> {
    Body::new("application/xml; charset=utf-8", text)
}

/// A document whose root is this element, which is named with its prefix: `D:propfind`.
pub fn document(root: &str, content: &str) -> String {
    let spaces = NAMESPACES.map(|(prefix, namespace)| format!(r#" xmlns:{prefix}="{namespace}""#));
    let spaces = spaces.concat();
    format!(r#"<?xml version="1.0" encoding="utf-8"?><{root}{spaces}>{content}</{root}>"#)
}

/// The element that asks for these properties.
pub fn prop(names: &str) -> String {
    let names: String = names.split(' ').map(|name| format!("<{name}/>")).collect();
    format!("<D:prop>{names}</D:prop>")
}

/// The report of the changes since this token.
pub fn sync_collection(token: &str, limit: Option<usize>) -> String {
    let token = format!("<D:sync-token>{token}</D:sync-token><D:sync-level>1</D:sync-level>");
    let limit = limit.map(|limit| format!("<D:limit><D:nresults>{limit}</D:nresults></D:limit>"));
    let asked = [token, limit.unwrap_or_default(), prop("D:getetag")];
    document("D:sync-collection", &asked.concat())
}

/// The tag of a contact, which each answer about it contains.
pub fn etag(answer: &Answer) -> Result<String, Failure> {
    let strong = |tag: &str| tag.len() > 2 && tag.starts_with('"') && tag.ends_with('"');
    answer.expect_header_that("ETag", "a tag in quotes", strong)?;
    Ok(answer.header("ETag").unwrap_or_default().into_owned())
}

/// Compares the status code with two that the contract allows.
pub fn expect_one_of(answer: &Answer, allowed: [u16; 2]) -> Result<&Answer, Failure> {
    let (status, [one, other]) = (answer.status(), allowed);
    answer.expect(
        allowed.contains(&status),
        format!("status {one} or {other}"),
        format!("status {status}, body {}", answer.text()),
    )
}
