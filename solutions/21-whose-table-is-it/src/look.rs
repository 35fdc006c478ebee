//! `GET /look/<id>`: nginx mirrors each read to this route, and discards the response.

use std::sync::Arc;

use rocket::{State, get, http::Status};

use crate::{api_key::ApiKey, compare::Inbox, error::Error};

/// Responds before comparing: nginx holds the client's connection until it gets a response.
#[get("/look/<id>")]
pub fn look(
    _key: ApiKey,
    id: Result<i32, &str>,
    inbox: &State<Arc<Inbox>>,
) -> Result<Status, Error> {
    let id = id.map_err(|_| Error::BadRequest("id must be a 32-bit integer"))?;
    inbox.offer(id);
    Ok(Status::NoContent)
}
