//! The HTTP client for the Kotlin service, used for forwarded requests and for comparisons.

use std::{io::Cursor, time::Duration};

use reqwest::{Client, Method, Url, redirect::Policy, retry};
use rocket::{
    Request,
    http::{ContentType, Status},
    response::{self, Responder, Response},
    serde::json::{Value, from_slice},
};

use crate::{error::Error, settings::Settings};

/// The request timeout: Kotlin can wait for a connection, and then just as long for the query.
const LIMIT: Duration = Duration::from_secs(3);

/// How long to keep an idle connection: less than the ten seconds after which Kotlin closes it.
const IDLE: Duration = Duration::from_secs(4);

/// The client for the Kotlin service.
#[derive(Clone)]
pub struct Kotlin {
    client: Client,
    url: Url,
    key: String,
}

/// A response from the Kotlin service, to be forwarded unchanged.
pub struct Passed {
    pub status: Status,
    content_type: Option<ContentType>,
    body: Vec<u8>,
}

impl Kotlin {
    /// Opens no connection yet. Returns `None` if no Kotlin service is configured.
    pub fn new(settings: &Settings) -> Option<Kotlin> {
        let url = settings.kotlin.as_ref()?.url.clone();
        let client = Client::builder()
            .no_proxy()
            .redirect(Policy::none())
            .retry(retry::never())
            .timeout(LIMIT)
            .pool_idle_timeout(IDLE)
            .build()
            .ok()?;
        let key = settings.api_keys.first()?.clone();
        Some(Kotlin { client, url, key })
    }

    /// The record as Kotlin returns it, or `None` if no record has this id.
    ///
    /// # Errors
    /// No response arrives in time, or the response is neither a record nor a 404.
    pub async fn record(&self, id: i32) -> Result<Option<Value>, Error> {
        let passed = self.ask(Method::GET, &format!("/read/{id}"), None).await?;
        match passed.status {
            Status::NotFound => Ok(None),
            Status::Ok => Ok(Some(from_slice(&passed.body)?)),
            status => Err(Error::KotlinRefuses(status)),
        }
    }

    /// Sends a request with this service's own key. The client's key has already been checked.
    ///
    /// # Errors
    /// No response arrives in time.
    pub async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Passed, Error> {
        let mut url = self.url.clone();
        url.set_path(path);
        let mut request = self
            .client
            .request(method, url)
            .header("X-API-Key", &self.key);
        if let Some(body) = body {
            request = request.json(body);
        }
        let answer = request.send().await?;
        let content_type = answer.headers().get("content-type");
        Ok(Passed {
            status: Status::new(answer.status().as_u16()),
            content_type: content_type
                .and_then(|content_type| content_type.to_str().ok()?.parse().ok()),
            body: answer.bytes().await?.to_vec(),
        })
    }
}

impl<'r> Responder<'r, 'static> for Passed {
    fn respond_to(self, _request: &'r Request<'_>) -> response::Result<'static> {
        let mut response = Response::build();
        response.status(self.status);
        if let Some(content_type) = self.content_type {
            response.header(content_type);
        }
        response
            .sized_body(self.body.len(), Cursor::new(self.body))
            .ok()
    }
}

impl From<reqwest::Error> for Error {
    fn from(error: reqwest::Error) -> Error {
        Error::KotlinAway(error.without_url())
    }
}
