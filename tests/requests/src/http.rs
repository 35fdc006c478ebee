//! The HTTP client of the suites: each request can be shown as a curl line, each answer can be held against the contract.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::Context;
use futures_util::future::join_all;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST};
use hyper::upgrade::{self, Upgraded};
use hyper::{Request, StatusCode};
use url::Url;

use crate::answer::shortened;
use crate::connection::{self, Broken, read_body, within};
use crate::failure::{Failure, TestResult};

pub use crate::answer::{Answer, expect_each, has_header, has_status, is_problem, problem};
pub use crate::download::{Download, Rest};
pub use hyper::Method;

/// The longest that a test waits for a whole answer.
pub const ANSWER_LIMIT: Duration = Duration::from_secs(5);
/// The headers that a client may send with each request.
const KEY: &str = "X-API-Key";
const REQUEST_ID: &str = "X-Request-Id";

/// Sends requests to one service.
#[derive(Debug, Clone)]
pub struct Client {
    base_url: String,
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
        Ok(Download::new(curl, self.limit, response))
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
        let mut request = Request::builder().method(method).uri(target);
        let headers = self.headers.iter();
        for (header, usual) in [(HOST, url.authority()), (ACCEPT, "*/*")] {
            if !headers.clone().any(|(name, _)| header == *name) {
                request = request.header(header, usual);
            }
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
