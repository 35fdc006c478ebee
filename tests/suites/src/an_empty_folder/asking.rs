//! The helpers of the tests: requests, and comparisons of the answers.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use workshop_base::wait;
use workshop_harness::contract::{Answer, Client, Failure};
use workshop_harness::http::{Body, Method};
use workshop_harness::outage::RECOVERY_LIMIT;

/// The header with the key of a new report.
pub const IDEMPOTENCY_KEY: &str = "Idempotency-Key";
/// The header with the condition of a change.
pub const IF_MATCH: &str = "If-Match";

/// A report to send, of this tag.
pub fn report(tag: u32) -> Value {
    json!({"tag": tag, "kind": "fallen-tree", "text": "Across the path, 200 m after the bridge"})
}

/// Sends a report with this key.
pub async fn post(client: &Client, key: &str, report: &Value) -> Result<Answer, Failure> {
    post_text(client, key, &report.to_string()).await
}

/// Sends any text as a report with this key.
pub async fn post_text(client: &Client, key: &str, body: &str) -> Result<Answer, Failure> {
    let client = client.with(IDEMPOTENCY_KEY, Some(key));
    client.post_body("/reports", Body::json(body)).await
}

/// Makes a report of this tag with this key; returns the answer.
pub async fn made(client: &Client, key: &str, tag: u32) -> Result<Value, Failure> {
    let answer = post(client, key, &report(tag)).await?;
    json_of(answer.expect_status(201)?)
}

/// Calls [`post`] again while the answer is 503, for as long as a recovery may take. In the tests with faults, the time limit for the
/// database is so short that a slow disk can exceed it.
pub async fn post_patiently(client: &Client, key: &str, report: &Value) -> Result<Answer, Failure> {
    let sent = async || post(client, key, report).await;
    let is_served = |answer: &Result<Answer, Failure>| {
        !answer.as_ref().is_ok_and(|answer| answer.status() == 503)
    };
    wait::last_within(RECOVERY_LIMIT, sent, is_served).await
}

/// The same as [`made`], with [`post_patiently`].
pub async fn made_patiently(client: &Client, key: &str, tag: u32) -> Result<Value, Failure> {
    let answer = post_patiently(client, key, &report(tag)).await?;
    json_of(answer.expect_status(201)?)
}

/// Makes this many reports of this tag, one after the other; returns their ids.
pub async fn made_many(client: &Client, tag: u32, count: usize) -> Result<Vec<i64>, Failure> {
    let mut ids = Vec::new();
    for number in 0..count {
        let report = made(client, &format!("of-{tag}-{number}"), tag).await?;
        ids.push(id_of(&report));
    }
    Ok(ids)
}

/// Sends a change, with this `If-Match`.
pub async fn patch(
    client: &Client,
    id: i64,
    if_match: Option<&str>,
    change: &Value,
) -> Result<Answer, Failure> {
    let client = client.with(IF_MATCH, if_match);
    let body = change.to_string();
    let path = format!("/reports/{id}");
    client
        .send_body(Method::PATCH, &path, Some(Body::json(&body)))
        .await
}

/// The report as it is now.
pub async fn current(client: &Client, id: i64) -> Result<Value, Failure> {
    let answer = client.get(&format!("/reports/{id}")).await?;
    json_of(answer.expect_status(200)?)
}

/// The body of an answer.
pub fn json_of(answer: &Answer) -> Result<Value, Failure> {
    serde_json::from_slice(answer.body())
        .map_err(|error| answer.failure("a body of JSON", format!("{}: {error}", answer.text())))
}

/// The id of a report; 0 if it has none.
pub fn id_of(report: &Value) -> i64 {
    report["id"].as_i64().unwrap_or_default()
}

/// Ids of the open reports of a tag, as pages of this size show them.
pub async fn ids_in_pages(client: &Client, tag: u32, limit: usize) -> Result<Vec<i64>, Failure> {
    let (mut ids, mut after) = (Vec::new(), 0);
    loop {
        let page = page(client, &format!("tag={tag}&after={after}&limit={limit}")).await?;
        ids.extend(&page.ids);
        match page.next {
            Some(next) => after = next,
            None => return Ok(ids),
        }
    }
}

/// A page of reports.
pub struct ReportsPage {
    pub ids: Vec<i64>,
    pub next: Option<i64>,
}

/// The page for this query.
pub async fn page(client: &Client, query: &str) -> Result<ReportsPage, Failure> {
    let answer = client.get(&format!("/reports?{query}")).await?;
    let page = json_of(answer.expect_status(200)?)?;
    let reports = page["reports"].as_array();
    let next = &page["next"];
    match (reports, next.as_i64()) {
        (Some(reports), next_id) if next_id.is_some() || page.get("next") == Some(&Value::Null) => {
            Ok(ReportsPage {
                ids: reports.iter().map(id_of).collect(),
                next: next_id,
            })
        }
        _ => Err(answer.failure(r#"{"reports":[…],"next":ID or null}"#, answer.text())),
    }
}

/// Compares an answer with the form of every refusal: a problem of this status with a sentence in it.
pub fn expect_problem(answer: &Answer, status: u16) -> Result<Value, Failure> {
    answer.expect_status(status)?;
    let media_type = answer.header("Content-Type").unwrap_or_default();
    let problem = json_of(answer)?;
    let is_one = media_type.starts_with("application/problem+json")
        && problem["status"] == status
        && problem["title"].is_string()
        && problem["detail"]
            .as_str()
            .is_some_and(|detail| !detail.is_empty());
    if is_one {
        return Ok(problem);
    }
    let expected = format!("application/problem+json with title, \"status\":{status} and a detail");
    Err(answer.failure(expected, format!("{media_type}: {}", answer.text())))
}

/// Compares a refusal with this status, and looks for a word in its sentence.
pub fn expect_problem_about(answer: &Answer, status: u16, word: &str) -> Result<(), Failure> {
    let problem = expect_problem(answer, status)?;
    let detail = problem["detail"].as_str().unwrap_or_default();
    if detail.contains(word) {
        return Ok(());
    }
    Err(answer.failure(format!("a detail that names {word}"), detail))
}

/// The text of a whole request, written without a library.
pub fn raw_post(key: &str, body: &str, length: usize) -> String {
    format!(
        "POST /reports HTTP/1.1\r\nHost: localhost\r\nX-API-Key: valid_key\r\nContent-Type: application/json\r\n\
         Idempotency-Key: {key}\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

/// A connection on which this has been sent.
pub async fn raw(address: SocketAddr, sent: &str) -> Result<TcpStream, Failure> {
    let connected = async {
        let mut connection = TcpStream::connect(address).await?;
        connection.write_all(sent.as_bytes()).await?;
        std::io::Result::Ok(connection)
    };
    connected
        .await
        .map_err(|error| Failure::new("a connection that takes a request", error.to_string()))
}

/// The bytes on a connection until it is closed or the limit is over, and whether it was closed.
pub async fn read_to_end(connection: &mut TcpStream, limit: Duration) -> (String, bool) {
    let mut bytes = Vec::new();
    let closed = tokio::time::timeout(limit, async {
        let mut part = [0; 4096];
        // A reset is an end as well.
        while let Ok(count @ 1..) = connection.read(&mut part).await {
            bytes.extend_from_slice(&part[..count]);
        }
    });
    let closed = closed.await.is_ok();
    (String::from_utf8_lossy(&bytes).into_owned(), closed)
}
