//! Why a request was refused: the response for the client, and the details for the log.

use std::fmt;

use rocket::{
    Request, Response, catch,
    http::Status,
    request::Outcome,
    response::{self, Responder},
};
use thiserror::Error;
use tracing::info;

use crate::{api_key, problem::Problem};

// ANCHOR: refused
/// Why a request was refused. Rocket logs `Debug` output, so it contains no token or key.
#[derive(Debug, Clone, Copy, Error)]
pub enum Refused {
    /// The request has neither a token nor a valid key.
    #[error(
        "an access token is required, in the header Authorization, or a valid API key, in the \
         header X-API-Key or the query parameter api_key"
    )]
    Nothing,
    /// There are several `Authorization` headers, or the header has no token.
    #[error("the header Authorization must be there once, with one token")]
    Unclear,
    /// The token is invalid. The reason is logged, but not sent to the client.
    #[error("the access token is not valid")]
    Token(Reason),
    /// The token is valid, but lacks this scope.
    #[error("the access token lacks the scope {0}")]
    Scope(&'static str),
    /// No keys of the issuer are available to verify the token with.
    #[error("the keys of the issuer are not available")]
    NoKeys,
    /// The API key guard refused the request, for this reason.
    #[error("a valid API key is required")]
    ApiKey(#[from] api_key::Refused),
}

/// The reason why a token is invalid.
#[derive(Debug, Clone, Copy)]
#[allow(
    dead_code,
    reason = "the words are one list, also before `token.rs` has a use for each"
)]
pub enum Reason {
    Malformed,
    Algorithm,
    Key,
    Signature,
    Type,
    Time,
    Issuer,
    Audience,
    Subject,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Malformed => "malformed",
            Reason::Algorithm => "algorithm",
            Reason::Key => "key",
            Reason::Signature => "signature",
            Reason::Type => "type",
            Reason::Time => "time",
            Reason::Issuer => "issuer",
            Reason::Audience => "audience",
            Reason::Subject => "subject",
        })
    }
}
// ANCHOR_END: refused

impl Refused {
    fn status(self) -> Status {
        match self {
            Refused::Nothing | Refused::Token(_) => Status::Unauthorized,
            Refused::Unclear => Status::BadRequest,
            Refused::Scope(_) => Status::Forbidden,
            Refused::NoKeys => Status::ServiceUnavailable,
            Refused::ApiKey(api_key::Refused::NotConfigured) => Status::InternalServerError,
            Refused::ApiKey(_) => Status::Unauthorized,
        }
    }

    /// The `WWW-Authenticate` challenges of the response. RFC 6750 defines those for tokens.
    fn challenges(self) -> Vec<String> {
        let bearer = r#"Bearer realm="records""#;
        let error = |error| vec![format!(r#"{bearer}, error="{error}""#)];
        match self {
            Refused::Nothing => vec![bearer.into(), "ApiKey".into()],
            Refused::Unclear => error("invalid_request"),
            Refused::Token(_) => error("invalid_token"),
            Refused::Scope(scope) => vec![format!(
                r#"{bearer}, error="insufficient_scope", scope="{scope}""#
            )],
            Refused::NoKeys | Refused::ApiKey(_) => Vec::new(),
        }
    }
}

// ANCHOR: refuse
/// Creates the outcome with which a guard refuses a request. Logs why a token
/// was refused, and stores the refusal for the catcher that responds.
pub fn refuse<T>(request: &Request<'_>, refused: Refused) -> Outcome<T, Refused> {
    match refused {
        Refused::Token(reason) => info!("token refused: {reason}"),
        Refused::Scope(_) => info!("token refused: scope"),
        _ => {}
    }
    request.local_cache(|| Some(refused));
    Outcome::Error((refused.status(), refused))
}

/// A refusal as a response, with its `WWW-Authenticate` challenges.
pub struct Refusal(Refused);

impl Refusal {
    /// The refusal of this request, if a guard has stored one.
    pub fn of(request: &Request<'_>) -> Option<Refusal> {
        request.local_cache(|| None::<Refused>).map(Refusal)
    }
}

impl<'r> Responder<'r, 'static> for Refusal {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'static> {
        let Refusal(refused) = self;
        let problem = Problem::new(refused.status(), refused.to_string());
        let mut answer = Response::build_from(problem.respond_to(request)?);
        for challenge in refused.challenges() {
            answer.raw_header_adjoin("WWW-Authenticate", challenge);
        }
        answer.ok()
    }
}

/// Responds if a guard has found that the token lacks a scope.
#[catch(403)]
pub fn forbidden(request: &Request<'_>) -> Option<Refusal> {
    Refusal::of(request)
}

/// Responds if a guard has no keys to verify a token with.
#[catch(503)]
pub fn no_keys(request: &Request<'_>) -> Option<Refusal> {
    Refusal::of(request)
}
// ANCHOR_END: refuse
