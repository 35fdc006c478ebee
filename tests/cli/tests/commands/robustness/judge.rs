//! Holds two answers to the same request against the contract and against each other.

use serde_json::Value;

use super::contract::Operation;
use super::request::{self, Request};
use super::wire::Answer;

/// The headers in which the two have to agree.
const HEADERS: [&str; 2] = ["Content-Type", "WWW-Authenticate"];
/// What any path may answer, whatever the operation is: malformed, nothing there, wrong method.
const ALWAYS: [u16; 3] = [400, 404, 405];

/// Why two answers need not be the same, and to which requests.
type Exception = (&'static str, fn(&Operation, &Request) -> bool);

/// Requests that the two understand differently, and why. Both answers are still held against the contract.
///
/// Some others are not even made: those that the contract leaves open and that one side accepts, since both have to change the
/// same records. They are paths with empty segments, names in other capitals or with brackets, digits of other scripts, members
/// that are there twice, half surrogates, numbers beyond a double, deep nesting, and large heads. Rocket takes the method out of
/// a form that has a field `_method`, and reads no media type with a space before its semicolon or nothing after it. hyper
/// refuses more than a hundred headers and unknown versions of HTTP, and answers to CONNECT as a proxy would.
const EXCEPTIONS: &[Exception] = &[(
    "/qrcode is a service of its own in Rust: exercise 20",
    |operation, _| operation.path == "/qrcode",
)];

/// Requests that both refuse, and each in its own way: the contract leaves the status and the detail to the framework.
const REFUSED: &[Exception] = &[
    (
        "a wrong method, or one that HTTP does not know",
        |operation, request| request.method != operation.method,
    ),
    (
        "another path: 404, or 405 where there is one",
        |_, request| request.changes.contains(&"path"),
    ),
    ("a broken percent-encoding", |_, request| {
        is_broken(&request.path) || request.query.iter().any(|part| is_broken(part))
    }),
    ("a body with two faults, one for each", |operation, _| {
        operation.path == "/visits"
    }),
];

/// Whether there is a percent sign without two hexadecimal digits.
fn is_broken(encoded: &[u8]) -> bool {
    let is_hex = |digit: Option<&u8>| digit.is_some_and(u8::is_ascii_hexdigit);
    (0..encoded.len()).any(|place| {
        encoded[place] == b'%'
            && !(is_hex(encoded.get(place + 1)) && is_hex(encoded.get(place + 2)))
    })
}

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
        let is_one_of =
            |all: &[Exception]| all.iter().any(|(_, applies)| applies(operation, request));
        let refused = kotlin.is_refusal() && rust.is_refusal() && is_one_of(REFUSED);
        let differ = !is_one_of(EXCEPTIONS) && !refused && difference(kotlin, rust);
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
