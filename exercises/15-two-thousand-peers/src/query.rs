//! The query of a request as a struct, each parameter by its whole name.

use rocket::{
    Request, async_trait,
    form::{Errors, Form, FromForm},
    http::Status,
    request::{FromRequest, Outcome},
};

// ANCHOR: query
/// A `T` made from the query. Rocket's own `<page..>` would read the query like a form, where
/// `after.x` and `after[0]` are parts of `after`. In this contract they are unknown parameters.
pub struct Query<T>(pub T);

#[async_trait]
impl<'r, T: FromForm<'r>> FromRequest<'r> for Query<T> {
    type Error = Errors<'r>;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Query<T>, Errors<'r>> {
        let parameters = request
            .query_fields()
            .filter(|field| !has_parts(field.name.source().as_str()));
        match Form::parse_iter(parameters) {
            Ok(value) => Outcome::Success(Query(value)),
            Err(errors) => Outcome::Error((Status::BadRequest, errors)),
        }
    }
}

/// Whether a form would read the name as a path into a structure.
fn has_parts(name: &str) -> bool {
    name.contains(['.', '[', ']'])
}
// ANCHOR_END: query
