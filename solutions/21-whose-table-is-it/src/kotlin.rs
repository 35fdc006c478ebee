//! The Kotlin service, over HTTP: for requests that it still answers, and for comparisons.

use std::{io::Cursor, time::Duration};

use reqwest::{Client, Method, Url, redirect::Policy, retry};
use rocket::{
    Request,
    http::{ContentType, Status},
    response::{self, Responder, Response},
    serde::json::{Value, from_slice},
};

use crate::{error::Error, settings::Settings};

/// How long the Kotlin service may take for an answer: it waits for a connection, and as long again for its database.
const LIMIT: Duration = Duration::from_secs(3);

/// How long an idle connection is kept: less than the ten seconds after which the Kotlin service closes it.
const IDLE: Duration = Duration::from_secs(4);

/// The client of the Kotlin service.
#[derive(Clone)]
pub struct Kotlin {
    client: Client,
    url: Url,
    key: String,
}

/// An answer of the Kotlin service, to be passed on as it is.
pub struct Passed {
    pub status: Status,
    content_type: Option<ContentType>,
    body: Vec<u8>,
}

impl Kotlin {
    /// Opens no connection yet. `None` without a Kotlin service.
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

    /// A record, as Kotlin answers it; `None` if no record has this id.
    ///
    /// # Errors
    /// There is no answer in time, or it is neither a record nor 404.
    pub async fn record(&self, id: i32) -> Result<Option<Value>, Error> {
        let passed = self.ask(Method::GET, &format!("/read/{id}"), None).await?;
        match passed.status {
            Status::NotFound => Ok(None),
            Status::Ok => Ok(Some(from_slice(&passed.body)?)),
            status => Err(Error::KotlinRefuses(status)),
        }
    }

    /// Sends a request with a key of this service's own. The client's key was checked already.
    ///
    /// # Errors
    /// There is no answer in time.
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
