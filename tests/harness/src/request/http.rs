//! The HTTP client of the suites: each request can be shown as a curl line, each answer can be held against the contract.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use serde_json::Value;

use crate::request::failure::Failure;

/// The longest that a test waits for a whole answer.
pub const ANSWER_LIMIT: Duration = Duration::from_secs(5);
/// The longest body that a test reads, in bytes: no call of the suites answers with more.
const BODY_LIMIT: usize = 4 * 1024 * 1024;
/// How much of a body a failure shows, in characters.
const SHOWN: usize = 300;

/// Sends requests to one service.
#[derive(Debug, Clone)]
pub struct Client {
    base_url: String,
    http: reqwest::Client,
    key: Option<String>,
    request_id: Option<String>,
    limit: Duration,
}

impl Client {
    /// A client for the service at this URL, with a key to send as `X-API-Key`.
    pub fn new(base_url: &str, key: Option<&str>) -> anyhow::Result<Self> {
        let http = reqwest::Client::builder()
            // No idle connection stays open: a service that stops gracefully would wait for it.
            .pool_max_idle_per_host(0)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .build()?;
        Ok(Client {
            base_url: base_url.to_owned(),
            http,
            key: key.map(str::to_owned),
            request_id: None,
            limit: ANSWER_LIMIT,
        })
    }

    /// The same client, but without a key.
    #[must_use]
    pub fn without_key(&self) -> Self {
        Client {
            key: None,
            ..self.clone()
        }
    }

    /// The same client with another key.
    #[must_use]
    pub fn with_key(&self, key: &str) -> Self {
        Client {
            key: Some(key.to_owned()),
            ..self.clone()
        }
    }

    /// The same client, sending this id with each request, as `X-Request-Id`.
    #[must_use]
    pub fn with_request_id(&self, id: &str) -> Self {
        Client {
            request_id: Some(id.to_owned()),
            ..self.clone()
        }
    }

    /// The same client, waiting at most this long for a whole answer instead of [`ANSWER_LIMIT`].
    #[must_use]
    pub fn within(&self, limit: Duration) -> Self {
        Client {
            limit,
            ..self.clone()
        }
    }

    /// Sends a GET and reads the whole answer.
    pub async fn get(&self, path: &str) -> Result<Answer, Failure> {
        self.send(Method::GET, path).await
    }

    /// Sends a HEAD and reads the answer, which has no body.
    pub async fn head(&self, path: &str) -> Result<Answer, Failure> {
        self.send(Method::HEAD, path).await
    }

    /// Sends a GET and reads the head of the answer only. The body comes as fast as it is asked for, so this client can be
    /// a slow one; dropping the download leaves it.
    pub async fn download(&self, path: &str) -> Result<Download, Failure> {
        let (request, curl) = self.request(Method::GET, path, None);
        let response = within(self.limit, &curl, begun(request)).await?;
        Ok(Download {
            curl,
            limit: self.limit,
            response,
            unread: Vec::new(),
        })
    }

    /// Sends a request of any method, without a body, and reads the answer.
    pub async fn send(&self, method: Method, path: &str) -> Result<Answer, Failure> {
        self.send_body(method, path, None).await
    }

    /// Sends a POST without a body and reads the whole answer.
    pub async fn post(&self, path: &str) -> Result<Answer, Failure> {
        self.send(Method::POST, path).await
    }

    /// Sends a POST with a body, said to be of this type, and reads the whole answer.
    pub async fn post_body(&self, path: &str, body: Body<'_>) -> Result<Answer, Failure> {
        self.send_body(Method::POST, path, Some(body)).await
    }

    async fn send_body(
        &self,
        method: Method,
        path: &str,
        body: Option<Body<'_>>,
    ) -> Result<Answer, Failure> {
        let (request, curl) = self.request(method, path, body);
        let sent = Instant::now();
        let (status, headers, body) = within(self.limit, &curl, read(request)).await?;
        Ok(Answer {
            curl,
            status,
            headers,
            body,
            took: sent.elapsed(),
        })
    }

    /// The request, and the same as a curl line.
    fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<Body<'_>>,
    ) -> (reqwest::RequestBuilder, String) {
        let url = format!("{}{path}", self.base_url);
        let curl = self.curl(&method, &url, body);
        let mut request = self.http.request(method, &url);
        if let Some(key) = &self.key {
            request = request.header("X-API-Key", key);
        }
        if let Some(id) = &self.request_id {
            request = request.header("X-Request-Id", id);
        }
        if let Some(body) = body {
            request = request.body(body.bytes.to_vec());
            if let Some(content_type) = body.content_type {
                request = request.header(CONTENT_TYPE, content_type);
            }
        }
        (request, curl)
    }

    fn curl(&self, method: &Method, url: &str, body: Option<Body<'_>>) -> String {
        let mut curl = match *method {
            Method::HEAD => "curl -I".to_owned(),
            Method::GET => "curl -i".to_owned(),
            _ => format!("curl -i -X {method}"),
        };
        if let Some(key) = &self.key {
            curl += &format!(" -H 'X-API-Key: {key}'");
        }
        if let Some(id) = &self.request_id {
            curl += &format!(" -H 'X-Request-Id: {id}'");
        }
        if let Some(body) = body {
            curl += &body.as_curl_options();
        }
        format!("{curl} '{url}'")
    }
}

/// The body of a request.
#[derive(Debug, Clone, Copy)]
pub struct Body<'a> {
    /// The value of the header `Content-Type`; none when the request has no such header.
    pub content_type: Option<&'a str>,
    /// What is sent.
    pub bytes: &'a [u8],
}

impl<'a> Body<'a> {
    /// A body that is said to be JSON, whether it is or not.
    pub fn json(bytes: &'a (impl AsRef<[u8]> + ?Sized)) -> Self {
        Body {
            content_type: Some("application/json"),
            bytes: bytes.as_ref(),
        }
    }

    /// A long body is shown by its beginning, which says what it is.
    fn as_curl_options(self) -> String {
        // curl names a type of its own unless it is told to leave the header out.
        let header = self.content_type.map_or_else(
            || "Content-Type:".to_owned(),
            |content_type| format!("Content-Type: {content_type}"),
        );
        let text = String::from_utf8_lossy(self.bytes).replace('\'', r"'\''");
        let text = shortened(&text);
        format!(" -H '{header}' --data-binary '{text}'")
    }
}

/// The beginning of a text, as much as a failure shows.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.to_owned(),
    }
}

async fn within<T>(
    limit: Duration,
    curl: &str,
    answer: impl Future<Output = Result<T, String>>,
) -> Result<T, Failure> {
    match tokio::time::timeout(limit, answer).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(actual)) => Err(Failure::new("an HTTP answer", actual).of(curl)),
        Err(_) => {
            let expected = format!("an answer within {} s", limit.as_secs_f64());
            Err(Failure::new(expected, "no complete answer in that time").of(curl))
        }
    }
}

async fn begun(request: reqwest::RequestBuilder) -> Result<reqwest::Response, String> {
    request.send().await.map_err(|error| in_words(&error))
}

async fn read(request: reqwest::RequestBuilder) -> Result<(u16, HeaderMap, Vec<u8>), String> {
    let mut response = begun(request).await?;
    let status = response.status().as_u16();
    let headers = response.headers().clone();
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| in_words(&error))? {
        body.extend_from_slice(&chunk);
        if body.len() > BODY_LIMIT {
            return Err(format!(
                "status {status} and a body that was still coming after {BODY_LIMIT} bytes"
            ));
        }
    }
    Ok((status, headers, body))
}

/// The innermost cause says what happened; the layers above it only say that a request failed.
fn in_words(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    format!("no HTTP answer: {cause}")
}

/// An answer whose body is still coming.
#[derive(Debug)]
pub struct Download {
    curl: String,
    limit: Duration,
    response: reqwest::Response,
    /// What has come after the lines that were asked for.
    unread: Vec<u8>,
}

/// What was left of a download.
#[derive(Debug)]
pub struct Rest {
    /// How much it was.
    pub bytes: usize,
    /// Its last line, with its line break if it has one.
    pub last_line: Vec<u8>,
}

impl Download {
    /// A failure of this request.
    pub fn failure(&self, expected: impl Into<String>, actual: impl Into<String>) -> Failure {
        Failure::new(expected, actual).of(&self.curl)
    }

    /// Holds the status code against the contract; the body of another one is read, to show it.
    pub async fn expect_status(&mut self, expected: u16) -> Result<(), Failure> {
        let status = self.response.status().as_u16();
        if status == expected {
            return Ok(());
        }
        while self.more().await? {}
        let body = String::from_utf8_lossy(&self.unread);
        Err(self.failure(
            format!("status {expected}"),
            format!("status {status}, body {}", shortened(&body)),
        ))
    }

    /// Reads one line, with its line break.
    pub async fn line(&mut self) -> Result<Vec<u8>, Failure> {
        loop {
            if let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let rest = self.unread.split_off(end + 1);
                return Ok(std::mem::replace(&mut self.unread, rest));
            }
            if !self.more().await? {
                return Err(self.failure("one more line", "the body has ended"));
            }
        }
    }

    /// Reads all that is left, and keeps the last line of it: the whole may be more than anybody wants in memory.
    pub async fn rest(mut self) -> Result<Rest, Failure> {
        let mut dropped = 0;
        loop {
            let mut lines = self.unread.split_inclusive(|byte| *byte == b'\n');
            let last = lines.next_back().map_or(0, <[u8]>::len);
            let before_it = self.unread.len() - last;
            self.unread.drain(..before_it);
            dropped += before_it;
            if !self.more().await? {
                break;
            }
        }
        Ok(Rest {
            bytes: dropped + self.unread.len(),
            last_line: self.unread,
        })
    }

    /// Waits for some bytes; false at the end of the body.
    async fn more(&mut self) -> Result<bool, Failure> {
        let chunk = async {
            self.response
                .chunk()
                .await
                .map_err(|error| in_words(&error))
        };
        let chunk = within(self.limit, &self.curl, chunk).await?;
        let Some(chunk) = chunk else {
            return Ok(false);
        };
        self.unread.extend_from_slice(&chunk);
        Ok(true)
    }
}

/// A whole answer, with the request that it answers.
#[derive(Debug, Clone)]
pub struct Answer {
    curl: String,
    status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
    took: Duration,
}

impl Answer {
    /// The status code.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The body as it came.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// From sending the request to the last byte of the answer.
    pub fn took(&self) -> Duration {
        self.took
    }

    /// A failure of this request.
    pub fn failure(&self, expected: impl Into<String>, actual: impl Into<String>) -> Failure {
        Failure::new(expected, actual).of(&self.curl)
    }

    /// Holds the status code against the contract.
    pub fn expect_status(&self, expected: u16) -> Result<&Self, Failure> {
        if self.status == expected {
            return Ok(self);
        }
        Err(self.failure(format!("status {expected}"), self.shown()))
    }

    /// The value of a header, where there is one.
    pub fn header(&self, name: &str) -> Option<Cow<'_, str>> {
        let value = self.headers.get(name)?;
        Some(String::from_utf8_lossy(value.as_bytes()))
    }

    /// Holds a header against the contract.
    pub fn expect_header(&self, name: &str, expected: &str) -> Result<&Self, Failure> {
        match self.header(name) {
            Some(value) if value == expected => Ok(self),
            Some(value) => Err(self.failure(
                format!("header {name}: {expected}"),
                format!("{name}: {value}"),
            )),
            None => Err(self.failure(
                format!("header {name}: {expected}"),
                format!("no header {name}"),
            )),
        }
    }

    /// Holds status, content type and body against the contract; the body byte for byte, so the order of members counts.
    pub fn expect_json(&self, status: u16, expected: &Value) -> Result<&Self, Failure> {
        self.expect_status(status)?
            .expect_media_type("application/json")?
            .expect_body(&expected.to_string())
    }

    /// Holds the answer against the problem (RFC 9457) that the contract names.
    pub fn expect_problem(&self, status: u16, title: &str, detail: &str) -> Result<&Self, Failure> {
        let problem = serde_json::json!({
            "type": "about:blank",
            "title": title,
            "status": status,
            "detail": detail,
        });
        self.expect_status(status)?
            .expect_media_type("application/problem+json")?
            .expect_body(&problem.to_string())
    }

    fn expect_media_type(&self, expected: &str) -> Result<&Self, Failure> {
        let content_type = self
            .headers
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .unwrap_or("none");
        let media_type = content_type.split(';').next().unwrap_or_default().trim();
        if media_type.eq_ignore_ascii_case(expected) {
            return Ok(self);
        }
        Err(self.failure(
            format!("content type {expected}"),
            format!("content type {content_type}"),
        ))
    }

    fn expect_body(&self, expected: &str) -> Result<&Self, Failure> {
        if self.body == expected.as_bytes() {
            return Ok(self);
        }
        Err(self.failure(
            format!("body {expected}"),
            format!("body {}", self.shown_body()),
        ))
    }

    fn shown(&self) -> String {
        if self.body.is_empty() {
            return format!("status {}, no body", self.status);
        }
        format!("status {}, body {}", self.status, self.shown_body())
    }

    fn shown_body(&self) -> String {
        let text = String::from_utf8_lossy(&self.body);
        shortened(&text.split_whitespace().collect::<Vec<_>>().join(" "))
    }
}
