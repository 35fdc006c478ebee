//! The HTTP client of the suites: each request can be shown as a curl line, each answer can be held against the contract.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::Context;
use futures_util::future::join_all;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderMap};
use hyper::upgrade::{self, Upgraded};
use hyper::{Request, Response, StatusCode};
use serde::Serialize;
use serde_json::json;
use url::Url;

use crate::connection::{self, Broken};
use crate::failure::{Failure, TestResult};

pub use hyper::Method;

/// The longest that a test waits for a whole answer.
pub const ANSWER_LIMIT: Duration = Duration::from_secs(5);
/// The longest body that a test reads, in bytes: no call of the suites answers with more.
const BODY_LIMIT: usize = 4 * 1024 * 1024;
/// How much of a body a failure shows, in characters.
const SHOWN: usize = 300;
/// The headers that a client may send with each request.
const KEY: &str = "X-API-Key";
const REQUEST_ID: &str = "X-Request-Id";

/// Sends requests to one service.
#[derive(Debug, Clone)]
pub struct Client {
    base_url: String,
    /// Where that is.
    addresses: Vec<SocketAddr>,
    /// What it sends with each request.
    headers: Vec<(&'static str, String)>,
    limit: Duration,
}

impl Client {
    /// A client for the service at this URL, with a key to send as `X-API-Key`.
    pub fn new(base_url: &str, key: Option<&str>) -> anyhow::Result<Self> {
        let url = Url::parse(base_url).with_context(|| format!("{base_url} is not a URL"))?;
        let client = Client {
            base_url: base_url.to_owned(),
            addresses: url.socket_addrs(|| None)?,
            headers: Vec::new(),
            limit: ANSWER_LIMIT,
        };
        Ok(client.with(KEY, key))
    }

    /// The same client, but without a key.
    #[must_use]
    pub fn without_key(&self) -> Self {
        self.with(KEY, None)
    }

    /// The same client with another key.
    #[must_use]
    pub fn with_key(&self, key: &str) -> Self {
        self.with(KEY, Some(key))
    }

    /// The same client, sending this id with each request, as `X-Request-Id`.
    #[must_use]
    pub fn with_request_id(&self, id: &str) -> Self {
        self.with(REQUEST_ID, Some(id))
    }

    /// The same client, sending this header with each request; without a value, sending none of this name.
    #[must_use]
    pub fn with(&self, header: &'static str, value: Option<&str>) -> Self {
        let mut client = self.clone();
        client.headers.retain(|(name, _)| *name != header);
        let value = value.map(|value| (header, value.to_owned()));
        client.headers.extend(value);
        client
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

    /// Sends a GET for each of these paths, all at the same time.
    pub async fn get_all(&self, paths: &[impl AsRef<str>]) -> Vec<Result<Answer, Failure>> {
        join_all(paths.iter().map(|path| self.get(path.as_ref()))).await
    }

    /// Sends a GET for each of these paths, one after the other, and holds each answer against the contract.
    pub async fn each(
        &self,
        paths: impl IntoIterator<Item: AsRef<str>>,
        check: impl Fn(&Answer) -> Result<&Answer, Failure>,
    ) -> TestResult {
        for path in paths {
            check(&self.get(path.as_ref()).await?)?;
        }
        Ok(())
    }

    /// Sends a HEAD and reads the answer, which has no body.
    pub async fn head(&self, path: &str) -> Result<Answer, Failure> {
        self.send(Method::HEAD, path).await
    }

    /// Sends a GET and reads the head of the answer only. The body comes as fast as it is asked for, so this client can be
    /// a slow one; dropping the download leaves it.
    pub async fn download(&self, path: &str) -> Result<Download, Failure> {
        self.begin(Method::GET, path, None).await
    }

    /// Sends a request of any method, and reads the head of the answer only.
    pub async fn begin(
        &self,
        method: Method,
        path: &str,
        body: Option<Body<'_>>,
    ) -> Result<Download, Failure> {
        let (request, curl) = self.request(method, path, body)?;
        let sent = connection::send(&self.addresses, request);
        let response = within(self.limit, &curl, sent).await?;
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

    /// Sends a request of any method, with a body or without one, and reads the whole answer.
    pub async fn send_body(
        &self,
        method: Method,
        path: &str,
        body: Option<Body<'_>>,
    ) -> Result<Answer, Failure> {
        let (answer, _) = self.exchange(method, path, body).await?;
        Ok(answer)
    }

    /// The same, and the connection where the service has upgraded it.
    pub(crate) async fn exchange(
        &self,
        method: Method,
        path: &str,
        body: Option<Body<'_>>,
    ) -> Result<(Answer, Option<Upgraded>), Failure> {
        let (request, curl) = self.request(method, path, body)?;
        let sent = Instant::now();
        let answered = async {
            let response = connection::send(&self.addresses, request).await?;
            let (status, headers) = (response.status(), response.headers().clone());
            let (body, upgraded) = match status {
                StatusCode::SWITCHING_PROTOCOLS => (Vec::new(), Some(upgrade::on(response).await?)),
                _ => (read_body(response).await?, None),
            };
            Ok((status.as_u16(), headers, body, upgraded))
        };
        let (status, headers, body, upgraded) = within(self.limit, &curl, answered).await?;
        let answer = Answer {
            curl,
            status,
            headers,
            body,
            took: sent.elapsed(),
        };
        Ok((answer, upgraded))
    }

    /// The request, and the same as a curl line.
    fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<Body<'_>>,
    ) -> Result<(Request<Full<Bytes>>, String), Failure> {
        let url = format!("{}{path}", self.base_url);
        let mut curl = match method {
            Method::HEAD => "curl -I".to_owned(),
            Method::GET => "curl -i".to_owned(),
            _ => format!("curl -i -X {method}"),
        };
        for (name, value) in &self.headers {
            curl += &format!(" -H '{name}: {value}'");
        }
        if let Some(body) = body {
            curl += &body.as_curl_options();
        }
        curl += &format!(" '{url}'");
        let request = self.as_sent(method, &url, body);
        let request = request.map_err(|error| Failure::new("a request", error.0).of(&curl))?;
        Ok((request, curl))
    }

    fn as_sent(
        &self,
        method: Method,
        url: &str,
        body: Option<Body<'_>>,
    ) -> Result<Request<Full<Bytes>>, Broken> {
        let url = Url::parse(url)?;
        let target = match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        };
        let mut request = Request::builder()
            .method(method)
            .uri(target)
            .header(HOST, url.authority());
        let headers = self.headers.iter();
        if !headers.clone().any(|(name, _)| ACCEPT == *name) {
            request = request.header(ACCEPT, "*/*");
        }
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let mut bytes = Bytes::new();
        if let Some(body) = body {
            bytes = Bytes::copy_from_slice(body.bytes);
            if let Some(content_type) = body.content_type {
                request = request.header(CONTENT_TYPE, content_type);
            }
        }
        Ok(request.body(Full::new(bytes))?)
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
    /// A body that is said to be of this type, whether it is or not.
    pub fn new(
        content_type: impl Into<Option<&'a str>>,
        bytes: &'a (impl AsRef<[u8]> + ?Sized),
    ) -> Self {
        Body {
            content_type: content_type.into(),
            bytes: bytes.as_ref(),
        }
    }

    /// A body that is said to be JSON.
    pub fn json(bytes: &'a (impl AsRef<[u8]> + ?Sized)) -> Self {
        Body::new("application/json", bytes)
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

/// What a request comes to in this time.
async fn within<T>(
    limit: Duration,
    curl: &str,
    answer: impl Future<Output = Result<T, Broken>>,
) -> Result<T, Failure> {
    let failure = match tokio::time::timeout(limit, answer).await {
        Ok(Ok(answer)) => return Ok(answer),
        Ok(Err(error)) => Failure::new("an HTTP answer", error.0),
        Err(_) => Failure::new(
            format!("an answer within {} s", limit.as_secs_f64()),
            "no complete answer in that time",
        ),
    };
    Err(failure.of(curl))
}

async fn read_body(mut response: Response<Incoming>) -> Result<Vec<u8>, Broken> {
    let status = response.status().as_u16();
    let mut body = Vec::new();
    while let Some(chunk) = chunk(&mut response).await? {
        body.extend_from_slice(&chunk);
        if body.len() > BODY_LIMIT {
            return Err(Broken(format!(
                "status {status} and a body that was still coming after {BODY_LIMIT} bytes"
            )));
        }
    }
    Ok(body)
}

/// The next bytes of a body; none at its end.
async fn chunk(response: &mut Response<Incoming>) -> Result<Option<Bytes>, Broken> {
    while let Some(frame) = response.frame().await {
        // Trailers are no part of the body.
        if let Ok(chunk) = frame?.into_data() {
            return Ok(Some(chunk));
        }
    }
    Ok(None)
}

/// An answer whose body is still coming.
#[derive(Debug)]
pub struct Download {
    curl: String,
    limit: Duration,
    response: Response<Incoming>,
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

    /// The status code.
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// Holds the status code against the contract; the body of another one is read, to show it.
    pub async fn expect_status(&mut self, expected: u16) -> Result<(), Failure> {
        let status = self.status();
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
            if let Some(end) = memchr::memchr(b'\n', &self.unread) {
                let rest = self.unread.split_off(end + 1);
                return Ok(std::mem::replace(&mut self.unread, rest));
            }
            if !self.more().await? {
                return Err(self.failure("one more line", "the body has ended"));
            }
        }
    }

    /// Reads all that is left, and keeps the last line of it: the whole may be too much for memory.
    pub async fn rest(mut self) -> Result<Rest, Failure> {
        let mut dropped = 0;
        loop {
            let before_it = beginning_of_last_line(&self.unread);
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
        let chunk = within(self.limit, &self.curl, chunk(&mut self.response)).await?;
        if let Some(chunk) = &chunk {
            self.unread.extend_from_slice(chunk);
        }
        Ok(chunk.is_some())
    }
}

/// Where the last line begins, whether it has its line break yet or not.
fn beginning_of_last_line(text: &[u8]) -> usize {
    let before_the_end = text.len().saturating_sub(1);
    memchr::memrchr(b'\n', &text[..before_the_end]).map_or(0, |place| place + 1)
}

/// A whole answer, with the request that it answers.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The request, as a curl line.
    pub(crate) curl: String,
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

    /// The body, to be shown.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }

    /// From sending the request to the last byte of the answer.
    pub fn took(&self) -> Duration {
        self.took
    }

    /// A failure of this request.
    pub fn failure(&self, expected: impl Into<String>, actual: impl Into<String>) -> Failure {
        Failure::new(expected, actual).of(&self.curl)
    }

    /// Holds this against the contract: when it does not hold, that was expected, and that has come.
    pub fn expect(
        &self,
        holds: bool,
        expected: impl Into<String>,
        got: impl Into<String>,
    ) -> Result<&Self, Failure> {
        if holds {
            return Ok(self);
        }
        Err(self.failure(expected, got))
    }

    /// Holds the status code against the contract.
    pub fn expect_status(&self, expected: u16) -> Result<&Self, Failure> {
        if self.status == expected {
            return Ok(self);
        }
        let status = self.status;
        let got = match self.shown_body().as_str() {
            "" => format!("status {status}, no body"),
            body => format!("status {status}, body {body}"),
        };
        Err(self.failure(format!("status {expected}"), got))
    }

    /// The value of a header, where there is one.
    pub fn header(&self, name: &str) -> Option<Cow<'_, str>> {
        let value = self.headers.get(name)?;
        Some(String::from_utf8_lossy(value.as_bytes()))
    }

    /// Holds a header against the contract.
    pub fn expect_header(&self, name: &str, expected: &str) -> Result<&Self, Failure> {
        self.expect_header_that(name, expected, |value| value == expected)
    }

    /// Holds a header against a rule of the contract, which `expected` says in words or by an example.
    pub fn expect_header_that(
        &self,
        name: &str,
        expected: &str,
        is_so: impl Fn(&str) -> bool,
    ) -> Result<&Self, Failure> {
        let (holds, got) = match self.header(name) {
            Some(value) => (is_so(&value), format!("{name}: {value}")),
            None => (false, format!("no header {name}")),
        };
        self.expect(holds, format!("header {name}: {expected}"), got)
    }

    /// Holds status, content type and body against the contract; the body byte for byte, so the order of members counts.
    pub fn expect_json(&self, status: u16, expected: &impl Serialize) -> Result<&Self, Failure> {
        self.expect_status(status)?
            .expect_media_type("application/json")?
            .expect_body(&json!(expected).to_string())
    }

    /// Holds the answer against the problem (RFC 9457) that the contract has for this status.
    pub fn expect_problem(&self, status: u16, detail: &str) -> Result<&Self, Failure> {
        self.expect_status(status)?
            .expect_media_type("application/problem+json")?
            .expect_body(&problem(status, detail))
    }

    fn expect_media_type(&self, expected: &str) -> Result<&Self, Failure> {
        let content_type = self.header("Content-Type").unwrap_or("none".into());
        let media_type = content_type.split(';').next().unwrap_or_default().trim();
        self.expect(
            media_type.eq_ignore_ascii_case(expected),
            format!("content type {expected}"),
            format!("content type {content_type}"),
        )
    }

    fn expect_body(&self, expected: &str) -> Result<&Self, Failure> {
        if self.body == expected.as_bytes() {
            return Ok(self);
        }
        let got = format!("body {}", self.shown_body());
        Err(self.failure(format!("body {expected}"), got))
    }

    fn shown_body(&self) -> String {
        let text = self.text();
        shortened(&text.split_whitespace().collect::<Vec<_>>().join(" "))
    }
}

/// A problem as the contract writes it: its title is the status's own.
pub fn problem(status: u16, detail: &str) -> String {
    let known = StatusCode::from_u16(status).ok();
    let title = known.and_then(|status| status.canonical_reason());
    json!({"type": "about:blank", "title": title, "status": status, "detail": detail}).to_string()
}

/// What holds an answer against this status.
pub fn has_status(expected: u16) -> impl Fn(&Answer) -> Result<&Answer, Failure> {
    move |answer| answer.expect_status(expected)
}

/// What holds an answer against this header.
pub fn has_header(name: &str, expected: &str) -> impl Fn(&Answer) -> Result<&Answer, Failure> {
    move |answer| answer.expect_header(name, expected)
}

/// What holds an answer against the problem that the contract has for this status.
pub fn is_problem(status: u16, detail: &str) -> impl Fn(&Answer) -> Result<&Answer, Failure> {
    move |answer| answer.expect_problem(status, detail)
}

/// Holds each of these answers against the contract.
pub fn expect_each<'a>(
    answers: impl IntoIterator<Item = &'a Result<Answer, Failure>>,
    check: impl Fn(&Answer) -> Result<&Answer, Failure>,
) -> TestResult {
    for answer in answers {
        check(answer.as_ref().map_err(Clone::clone)?)?;
    }
    Ok(())
}
