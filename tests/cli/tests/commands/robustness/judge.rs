//! Holds two answers to the same request against the contract and against each other.

use serde_json::Value;

use super::contract::Operation;
use super::generator::LARGEST_BODY;
use super::request::{self, Request};
use super::wire::Answer;

/// The headers in which the two have to agree.
const HEADERS: [&str; 3] = ["Content-Type", "Allow", "WWW-Authenticate"];
/// What any path may answer, whatever the operation is: malformed, nothing there, wrong method.
const ALWAYS: [u16; 3] = [400, 404, 405];

/// Why two answers need not be the same, and to which requests.
type Exception = (&'static str, fn(&Operation, &Request) -> bool);

/// Requests that the two understand differently, and why. Both answers are still held against the contract.
///
/// Some others are not even made. Rocket takes the method out of a form that has a field `_method`, and reads no media type with a space before its semicolon or nothing after it. hyper
/// refuses more than a hundred headers and unknown versions of HTTP, and answers to CONNECT as a proxy would. Jackson looks at
/// the value of a member together with its name, so it sees a broken value before a name that is there twice.
const EXCEPTIONS: &[Exception] = &[
    (
        "/qrcode is a service of its own in Rust: exercise 12",
        |operation, _| operation.path == "/qrcode",
    ),
    (
        "Rocket decodes a body while it counts its bytes: of one too large that is no UTF-8 it says 400 or 413",
        |_, request| {
            let body = request.body.as_deref().unwrap_or_default();
            body.len() > LARGEST_BODY && str::from_utf8(body).is_err()
        },
    ),
];

/// What is wrong with these answers; none when nothing is.
pub fn complaint(
    operation: &Operation,
    request: &Request,
    kotlin: &Answer,
    rust: &Answer,
) -> Option<String> {
    let against_the_contract =
        [("Kotlin", kotlin), ("Rust", rust)]
            .into_iter()
            .find_map(|(name, answer)| {
                Some(format!(
                    "{name}: {}",
                    broken_rule(operation, request, answer)?
                ))
            });
    against_the_contract.or_else(|| {
        let excepted = EXCEPTIONS
            .iter()
            .any(|(_, applies)| applies(operation, request));
        let differ = !excepted && difference(kotlin, rust);
        differ.then(|| "the two differ".to_owned())
    })
}

fn difference(kotlin: &Answer, rust: &Answer) -> bool {
    kotlin.status != rust.status
        || kotlin.body != rust.body
        || HEADERS
            .iter()
            .any(|name| kotlin.header(name) != rust.header(name))
}

/// The rule of the contract that an answer breaks.
fn broken_rule(operation: &Operation, request: &Request, answer: &Answer) -> Option<String> {
    let status = answer.status;
    if status >= 500 {
        return Some(format!("{status}, though database and service are well"));
    }
    if !operation.statuses.contains(&status) && !ALWAYS.contains(&status) {
        return Some(format!("the contract names no {status} here"));
    }
    if status >= 400 && request.method != "HEAD" && !is_problem(answer) {
        return Some(format!("a {status} that is no problem document"));
    }
    None
}

fn is_problem(answer: &Answer) -> bool {
    let problem: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let members = problem
        .as_object()
        .into_iter()
        .flat_map(|problem| problem.keys());
    answer.header("Content-Type") == Some("application/problem+json")
        && members.eq(["type", "title", "status", "detail"])
        && problem["status"] == answer.status
}

/// Two answers as far as they are judged. Of bodies that are long, what is shown begins a little before they differ.
pub fn shown(kotlin: &Answer, rust: &Answer) -> String {
    let same = kotlin
        .body
        .iter()
        .zip(&rust.body)
        .take_while(|(a, b)| a == b);
    let start = match same.count() {
        ..200 => 0,
        long => long - 100,
    };
    [("Kotlin", kotlin), ("Rust", rust)]
        .map(|(name, answer)| {
            let headers: Vec<String> = HEADERS
                .iter()
                .filter_map(|header| Some(format!("{header}: {}", answer.header(header)?)))
                .collect();
            let body = &answer.body[start..];
            format!(
                "{name:6} {} [{}] {}{}",
                answer.status,
                headers.join(", "),
                if start > 0 { "… " } else { "" },
                request::shown(body)
            )
        })
        .join("\n")
}
