//! `GET /look/<id>`: nginx's mirror sends each read here as well, and throws the answer away.

use std::sync::Arc;

use rocket::{State, get, http::Status};

use crate::{api_key::ApiKey, compare::Inbox, error::Error};

/// Answers at once: nginx keeps the client's connection until it has this answer. Comparing comes later.
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
