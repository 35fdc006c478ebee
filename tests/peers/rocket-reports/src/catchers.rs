//! The catchers: the responses to requests that no handler has answered.

use rocket::{
    Request, catch,
    http::{Header, Status},
    response::Responder,
};
use tracing::error;

use crate::{error::UNEXPECTED, problem::Problem, request_span::request_span};

/// The problem details, and the `WWW-Authenticate` challenge that every 401 must include.
#[derive(Responder)]
pub struct Unauthorized {
    problem: Problem,
    challenge: Header<'static>,
}

/// Responds when the guard has refused a request.
#[catch(401)]
pub fn unauthorized() -> Unauthorized {
    let detail = "a valid API key is required, in the header X-API-Key";
    Unauthorized {
        problem: Problem::new(Status::Unauthorized, detail),
        challenge: Header::new("WWW-Authenticate", "ApiKey"),
    }
}

/// Responds to all other failures: an unknown path, an invalid parameter or a panic.
#[catch(default)]
pub fn others(status: Status, request: &Request<'_>) -> Problem {
    let detail = match status.code {
        404 => "there is nothing at this path",
        400..500 => "the request is malformed",
        _ => {
            error!(parent: request_span(request), "no handler has answered: {status}");
            UNEXPECTED
        }
    };
    Problem::new(status, detail)
}
