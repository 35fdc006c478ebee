//! PROPFIND: the properties of a resource, and of those directly below it.

use axum::{
    extract::Request,
    http::HeaderMap,
    response::{IntoResponse, Response},
};

use crate::{
    contacts::{self, Contact},
    dav_error::DavError,
    error::Error,
    get,
    markup::DAV,
    multistatus::Multistatus,
    paths::{self, Resource},
    properties::{Asked, Described},
    service::Service,
    sync::Book,
    users::User,
    xml,
};

/// How far below a resource a request looks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    Itself,
    Children,
}

impl Depth {
    /// Reads the header `Depth`.
    ///
    /// # Errors
    /// It is missing or `infinity`: a book may be large, and nobody needs all of it at once. Or it has another value.
    fn of(headers: &HeaderMap) -> Result<Depth, Error> {
        match headers.get("depth").map(|depth| depth.as_bytes()) {
            Some(b"0") => Ok(Depth::Itself),
            Some(b"1") => Ok(Depth::Children),
            None => Err(DavError::FiniteDepth.into()),
            Some(depth) if depth.eq_ignore_ascii_case(b"infinity") => {
                Err(DavError::FiniteDepth.into())
            }
            Some(_) => Err(Error::BadRequest("Depth must be 0, 1 or infinity")),
        }
    }
}

/// Answers what is asked of the resource and, with `Depth: 1`, of those in it.
pub async fn propfind(
    service: &Service,
    user: &User,
    resource: &Resource,
    request: Request,
) -> Result<Response, Error> {
    let depth = Depth::of(request.headers())?;
    let (head, body) = request.into_parts();
    let body = xml::read_body(&head.headers, body).await?;
    if body
        .as_ref()
        .is_some_and(|body| !body.name.is(DAV, "propfind"))
    {
        return Err(Error::BadRequest("the body must be a propfind"));
    }
    let asked = Asked::of(body.as_ref())?;

    let mut answer = Multistatus::new();
    let mut describe = |path: &str, of: Described| {
        answer.describe(path, &asked, |name| of.value(name, user));
    };
    let (book_path, children) = (paths::book(user), depth == Depth::Children);
    match resource {
        Resource::Entry => describe("/", Described::Entry),
        Resource::Principal => describe(&paths::principal(user), Described::Principal),
        Resource::Home => {
            describe(&paths::home(user), Described::Home);
            if children {
                let book = open_book(service, user).await?;
                describe(&book_path, Described::Book(&book));
            }
        }
        Resource::Book => {
            let book = open_book(service, user).await?;
            describe(&book_path, Described::Book(&book));
            if children {
                let all = service
                    .database
                    .run(async |connection| contacts::all(connection, user.name(), false).await)
                    .await?;
                for contact in &all {
                    let path = paths::contact(user, &contact.name);
                    describe(&path, Described::Contact(contact));
                }
            }
        }
        Resource::Contact { name } => {
            // The vCard itself is for reports.
            let contact = Contact {
                vcard: None,
                ..get::find(service, user, name).await?
            };
            describe(&paths::contact(user, name), Described::Contact(&contact));
        }
    }
    Ok(answer.into_response())
}

async fn open_book(service: &Service, user: &User) -> Result<Book, Error> {
    service
        .database
        .run(async |connection| Book::open(connection, user.name()).await)
        .await
}
