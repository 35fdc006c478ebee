//! Suite `api-key` (exercise 4): which clients may read, and in which order that is checked.

use workshop_harness::contract::{
    Answer, Client, Context, Failure, TestResult, contract_tests, expect_none, has_status,
};

contract_tests! {
    steady: [
        no_key_answers_401_with_a_challenge,
        a_wrong_key_answers_401,
        the_query_parameter_is_accepted_when_there_is_no_header,
        a_wrong_header_is_not_rescued_by_a_right_query,
        the_key_is_judged_before_the_id,
        every_configured_key_is_accepted,
        health_and_ready_need_no_key,
        the_key_is_never_logged,
    ],
}

fn expect_unauthorized(answer: &Answer) -> Result<&Answer, Failure> {
    let detail =
        "a valid API key is required, in the header X-API-Key or the query parameter api_key";
    answer
        .expect_problem(401, detail)?
        .expect_header("WWW-Authenticate", "ApiKey")
}

fn a_right_key(context: &Context) -> &str {
    context.settings.api_keys.first().map_or("", String::as_str)
}

fn in_the_query(key: &str) -> String {
    format!("/read/1?api_key={key}")
}

fn with_wrong_key(context: &Context) -> Client {
    context.client.with_key("wrong")
}

async fn no_key_answers_401_with_a_challenge(context: &Context) -> TestResult {
    let keyless = context.client.without_key();
    keyless.each(["/read/1"], expect_unauthorized).await
}

async fn a_wrong_key_answers_401(context: &Context) -> TestResult {
    let wrong = with_wrong_key(context);
    wrong.each(["/read/1"], expect_unauthorized).await?;
    let right = a_right_key(context);
    // A prefix, an extension, another case and nothing are all wrong.
    let almost = [
        &right[..right.len() - 1],
        &format!("{right}x"),
        &right.to_uppercase(),
        "",
    ];
    for key in almost {
        let client = context.client.with_key(key);
        client.each(["/read/1"], expect_unauthorized).await?;
    }
    let keyless = context.client.without_key();
    keyless
        .each(almost.map(in_the_query), expect_unauthorized)
        .await
}

async fn the_query_parameter_is_accepted_when_there_is_no_header(context: &Context) -> TestResult {
    let path = in_the_query(a_right_key(context));
    let keyless = context.client.without_key();
    keyless.each([path], has_status(200)).await
}

async fn a_wrong_header_is_not_rescued_by_a_right_query(context: &Context) -> TestResult {
    let path = in_the_query(a_right_key(context));
    let wrong = with_wrong_key(context);
    wrong.each([path], expect_unauthorized).await
}

async fn the_key_is_judged_before_the_id(context: &Context) -> TestResult {
    let keyless = context.client.without_key();
    let paths = ["/read/abc", "/read/0", "/read/2147483648"];
    keyless.each(paths, expect_unauthorized).await
}

async fn every_configured_key_is_accepted(context: &Context) -> TestResult {
    for key in &context.settings.api_keys {
        let client = context.client.with_key(key);
        client.get("/read/1").await?.expect_status(200)?;
    }
    Ok(())
}

async fn health_and_ready_need_no_key(context: &Context) -> TestResult {
    let keyless = context.client.without_key();
    keyless.each(["/health", "/ready"], has_status(200)).await
}

/// A key that nothing else in a log looks like. Refused keys matter, too: most are valid ones, mistyped or sent to the
/// wrong service.
const REFUSED: &str = "refused-7c1f0e";

async fn the_key_is_never_logged(context: &Context) -> TestResult {
    let (keyless, right) = (context.client.without_key(), a_right_key(context));
    for key in [right, REFUSED] {
        context.client.with_key(key).get("/read/1").await?;
        // A path that answers, one with a bad id, one that does not exist: each with the key in the query.
        for path in ["/read/1", "/read/abc", "/nothing-here"] {
            let path = format!("{path}?api_key={key}");
            keyless.get(&path).await?;
            keyless.head(&path).await?;
        }
    }
    let leak = context.logged_line(|line| line.contains(right) || line.contains(REFUSED))?;
    let expected =
        "no key in the service's log, neither a valid one nor a refused one";
    expect_none(expected, leak.map(|line| format!("this line: {}", line.trim())))
}
