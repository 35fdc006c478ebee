//! The client of the issuer: fetches the issuer's keys, with limits on time and size.

use std::time::Duration;

use reqwest::{Client, StatusCode, redirect::Policy, retry};
use rocket::{
    serde::json::serde_json::{self, Value},
    tokio::time::{error::Elapsed, timeout},
};
use serde::Deserialize;
use thiserror::Error;

use crate::{key_set::KeySet, object::Object, settings::TokenSettings};

/// The maximum size of a response, in bytes. A key takes about 400.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// The reason why the key set couldn't be fetched.
#[derive(Debug, Error)]
pub enum NoKeySet {
    #[error("the issuer's answer did not come in time")]
    Late(#[from] Elapsed),
    #[error("the issuer cannot be asked")]
    Http(#[from] reqwest::Error),
    #[error("the issuer answers with the status {0}")]
    Status(StatusCode),
    #[error("the issuer's answer has more than {MAX_ANSWER_BYTES} bytes")]
    TooLarge,
    #[error("the issuer's answer is no set of keys")]
    NotASet(#[from] serde_json::Error),
}

/// The JSON Web Key Set that the issuer publishes.
#[derive(Deserialize)]
struct Published {
    keys: Vec<Value>,
}

/// The HTTP client, and the address at which the issuer publishes its keys.
pub struct Issuer {
    client: Client,
    url: String,
    timeout: Duration,
}

impl Issuer {
    /// Opens no connection yet.
    #[expect(
        clippy::expect_used,
        reason = "this fails only where TLS is to be set up, and there is none in this build"
    )]
    pub fn new(settings: &TokenSettings) -> Issuer {
        let client = Client::builder()
            .no_proxy()
            .redirect(Policy::none())
            .retry(retry::never())
            .build()
            .expect("a client without TLS");
        Issuer {
            client,
            url: settings.jwks_url.clone(),
            timeout: settings.timeout,
        }
    }

    /// Fetches the keys that the issuer currently publishes.
    ///
    /// # Errors
    /// The issuer doesn't respond in time, or its response isn't a key set.
    pub async fn key_set(&self) -> Result<KeySet, NoKeySet> {
        timeout(self.timeout, self.ask()).await?
    }

    async fn ask(&self) -> Result<KeySet, NoKeySet> {
        let mut answer = self.client.get(&self.url).send().await?;
        if answer.status() != StatusCode::OK {
            return Err(NoKeySet::Status(answer.status()));
        }
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await? {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_ANSWER_BYTES {
                return Err(NoKeySet::TooLarge);
            }
        }
        let Object(Published { keys }) = serde_json::from_slice(&body)?;
        Ok(KeySet::of(keys))
    }
}
