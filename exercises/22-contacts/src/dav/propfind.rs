//! PROPFIND: returns the properties of a resource and, on request, of its children.

use std::sync::Arc;

use axum::{extract::Request, http::HeaderMap, response::Response};

use crate::{
    database::{
        contacts::{self, Contact},
        sync::Book,
    },
    dav::{
        get, multistatus,
        paths::{self, Resource},
        properties::{Asked, Described},
        xml,
    },
    error::{Error, dav::DavError},
    markup::DAV,
    service::Service,
    users::User,
};

/// The depth of a request: the resource alone, or with its children.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    Itself,
    Children,
}

impl Depth {
    /// Reads the `Depth` header. A contact has nothing below it, so `infinity` is fine there.
    ///
    /// # Errors
    /// The header is invalid, missing or `infinity`: no client needs a large book all at once.
    fn of(headers: &HeaderMap, resource: &Resource) -> Result<Depth, Error> {
        let depth = headers
            .get("depth")
            .map(|depth| depth.as_bytes().trim_ascii());
        let is_infinite = depth.is_none_or(|depth| depth.eq_ignore_ascii_case(b"infinity"));
        match (depth, resource) {
            (Some(b"0"), _) => Ok(Depth::Itself),
            (Some(b"1"), _) => Ok(Depth::Children),
            (_, Resource::Contact { .. }) if is_infinite => Ok(Depth::Itself),
            _ if is_infinite => Err(DavError::FiniteDepth.into()),
            _ => Err(Error::BadRequest("Depth must be 0, 1 or infinity")),
        }
    }
}

/// Returns the requested properties of the resource and, with `Depth: 1`, of its children.
pub async fn propfind(
    service: &Arc<Service>,
    user: &User,
    resource: Resource,
    request: Request,
) -> Result<Response, Error> {
    let depth = Depth::of(request.headers(), &resource)?;
    let (head, body) = request.into_parts();
    let asked = match xml::read_body(&head.headers, body).await? {
        Some(body) => service.computing.run(move || read(&body)).await?,
        None => Asked::everything(),
    };
    let found = Found::at(service, user, resource, depth).await?;

    let reader = user.clone();
    multistatus::answer(user, asked, move |mut answer| async move {
        let principal = paths::principal(&reader);
        match found {
            Found::Entry => answer.describe("/", Described::Entry).await?,
            Found::Principal => answer.describe(&principal, Described::Principal).await?,
            Found::Home(book) => {
                answer
                    .describe(&paths::home(&reader), Described::Home)
                    .await?;
                if let Some(book) = book {
                    answer
                        .describe(&paths::book(&reader), Described::Book(&book))
                        .await?;
                }
            }
            Found::Book(book, contacts) => {
                answer
                    .describe(&paths::book(&reader), Described::Book(&book))
                    .await?;
                for contact in &contacts {
                    let path = paths::contact(&reader, &contact.name);
                    answer.describe(&path, Described::Contact(contact)).await?;
                }
            }
            Found::Contact(contact) => {
                let path = paths::contact(&reader, &contact.name);
                answer.describe(&path, Described::Contact(&contact)).await?;
            }
        }
        answer.end().await
    })
    .await
}

/// Parses the body of the request.
fn read(body: &str) -> Result<Asked, Error> {
    let document = xml::read(body)?;
    let root = document.root_element();
    let asks = ["prop", "allprop", "propname"].map(|name| xml::child(root, DAV, name).is_some());
    if !root.has_tag_name((DAV, "propfind")) || asks == [false; 3] {
        return Err(Error::BadRequest(
            "the body must be a propfind with prop, allprop or propname",
        ));
    }
    Asked::of(root)
}

/// The requested resource and, with `Depth: 1`, its children.
enum Found {
    Entry,
    Principal,
    Home(Option<Book>),
    Book(Book, Vec<Contact>),
    Contact(Contact),
}

impl Found {
    async fn at(
        service: &Service,
        user: &User,
        resource: Resource,
        depth: Depth,
    ) -> Result<Found, Error> {
        let children = depth == Depth::Children;
        let open_book = async || {
            let owner = user.name();
            let open = async |connection: &mut _| Book::open(connection, owner).await;
            service.database.read(open).await
        };
        Ok(match resource {
            Resource::Entry => Found::Entry,
            Resource::Principal => Found::Principal,
            Resource::Home if children => Found::Home(Some(open_book().await?)),
            Resource::Home => Found::Home(None),
            Resource::Book if children => {
                // Reads the book first: a change between the two reads is then synced again, not missed.
                let book = open_book().await?;
                let all = async |connection: &mut _| contacts::all(connection, user.name()).await;
                Found::Book(book, service.database.read(all).await?)
            }
            Resource::Book => Found::Book(open_book().await?, Vec::new()),
            // Only reports return the vCard itself, as `address-data`.
            Resource::Contact { name } => Found::Contact(Contact {
                vcard: None,
                ..get::find(service, user, &name).await?
            }),
        })
    }
}
