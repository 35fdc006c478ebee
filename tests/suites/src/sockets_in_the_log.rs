//! Suite `sockets-in-the-log` (exercise 13): the log says when a socket was opened, and when and why it ended.

use std::time::Duration;

use serde_json::Value;

use workshop_base::wait;
use workshop_harness::contract::{Context, Failure, TestError, TestResult, contract_tests, expect};
use workshop_harness::socket::{Message, Socket};

contract_tests! {
    talkative: [
        a_socket_is_logged_as_101_when_it_is_opened,
        the_end_of_a_socket_is_logged_with_its_reason,
    ],
}

/// How soon a line must be in the log after what it is about.
const LOGGED_WITHIN: Duration = Duration::from_secs(3);

/// Opens a socket with this request id, for a peer of the same name.
async fn open(context: &Context, id: &str) -> Result<Socket, Failure> {
    let client = context.client.with_request_id(id);
    client.socket(&format!("/peers/{id}")).await
}

/// The line of the log with this request id that meets the condition, once it is there.
async fn line_about(
    context: &Context,
    id: &str,
    expected: &str,
    is_so: impl Fn(&Value) -> bool,
) -> Result<Value, TestError> {
    let quoted = format!("\"{id}\"");
    let about = || -> anyhow::Result<Vec<Value>> {
        let logged = context.logged()?;
        let lines = logged.lines().filter(|line| line.contains(&quoted));
        let lines = lines.flat_map(serde_json::from_str::<Value>);
        Ok(lines.filter(|line| line["level"] == "INFO").collect())
    };
    let found = wait::within(LOGGED_WITHIN, async || {
        about().ok()?.into_iter().find(|line| is_so(line))
    });
    if let Some(line) = found.await {
        return Ok(line);
    }
    let lines = about()?.iter().map(Value::to_string).collect::<Vec<_>>();
    let got = match lines.is_empty() {
        true => "no such line".to_owned(),
        false => format!("these lines: {}", lines.join("\n")),
    };
    let expected = format!("a line at level INFO with the request id {id} and {expected}");
    Err(Failure::new(expected, got).into())
}

async fn a_socket_is_logged_as_101_when_it_is_opened(context: &Context) -> TestResult {
    let socket = open(context, "opened").await?;
    let line = line_about(context, "opened", "\"status\"", |line| {
        line["status"].is_number()
    })
    .await?;
    expect(
        line["status"] == 101,
        "\"status\":101 in the line about the request, which the client got",
        line.to_string(),
    )?;
    socket.leave().await?;
    Ok(())
}

/// Why a socket ended, as the log says. The line also has how long it was open.
async fn reason(context: &Context, id: &str) -> Result<String, TestError> {
    let expected = "a \"reason\", when the socket has ended";
    let line = line_about(context, id, expected, |line| line["reason"].is_string()).await?;
    expect(
        line["milliseconds"].is_number(),
        "in \"milliseconds\" how long the socket was open",
        line.to_string(),
    )?;
    Ok(line["reason"].as_str().unwrap_or_default().to_owned())
}

async fn the_end_of_a_socket_is_logged_with_its_reason(context: &Context) -> TestResult {
    open(context, "left").await?.leave().await?;
    let left = reason(context, "left").await?;
    // This one ends without a close.
    drop(open(context, "gone").await?);
    reason(context, "gone").await?;
    let mut wrong = open(context, "binary").await?;
    wrong.send(Message::Binary(b"{}".to_vec())).await?;
    wrong.end().await?;
    let binary = reason(context, "binary").await?;
    let expected = "another reason after a binary message than when the peer has left";
    expect(left != binary, expected, format!("{binary:?} for both"))?;
    Ok(())
}
