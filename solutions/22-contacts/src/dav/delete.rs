//! DELETE: deletes one contact.

use axum::{
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};

use crate::{
    database::contacts::{self, Deleted},
    dav::{get::NOT_THERE, since},
    error::Error,
    service::Service,
    users::User,
};

/// Answers 204 on success, 404 for an unknown name, and 412 for an unexpected version.
pub async fn delete(
    service: &Service,
    user: &User,
    name: &str,
    headers: &HeaderMap,
) -> Result<Response, Error> {
    let condition = since::condition(service, user, name, headers).await?;
    let deleted = service
        .database
        .run(async |connection| contacts::delete(connection, user.name(), name, &condition).await)
        .await?;
    match deleted {
        Deleted::Yes => Ok(StatusCode::NO_CONTENT.into_response()),
        Deleted::ConditionFailed => Err(Error::ConditionFailed),
        Deleted::NotThere => Err(NOT_THERE),
    }
}
