//! Suite `ship-it` (exercise 8): what the people need who run the service. It says which request a line of its log is about, keeps
//! its secrets, ends when it is told to without losing a request, and says what is wrong with its settings.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::future::join_all;
use reqwest::{Method, Url};
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::fail_the_same_way::a_failing_read;
use workshop_harness::contract::{Context, TestResult};
use workshop_harness::contract_tests;
use workshop_harness::failure::{Failure, TestError};
use workshop_harness::outage::settled;
use workshop_harness::short_runs::{SECRET, ShortRun, ShortRuns, WrongSetting};
use workshop_harness::shutdown::{End, Shutdown};

contract_tests! {
    steady: [
        every_answer_has_a_request_id,
        a_usable_request_id_is_taken_over,
        an_unusable_request_id_is_replaced,
        a_failed_query_is_logged_with_the_request_id_of_its_answer,
        a_request_that_works_is_not_logged_unless_that_is_asked_for,
    ],
    large: [
        an_outage_is_logged_with_a_request_id_and_not_for_every_request,
    ],
    talkative: [
        a_request_is_logged_with_its_id_when_that_is_asked_for,
        no_secret_is_logged_at_any_level,
        each_line_of_the_log_is_a_json_object,
    ],
    shutdown: [
        requests_in_flight_are_answered_before_the_end,
        a_service_that_stops_refuses_new_connections,
        the_last_answer_on_a_connection_says_so,
        it_ends_by_itself_within_its_time_limits,
        clients_that_want_nothing_do_not_hold_up_the_end,
    ],
    short_runs: [
        a_wrong_setting_stops_the_start_with_one_sentence,
        the_sentence_repeats_no_secret,
        the_health_check_says_whether_the_service_answers,
    ]
}

const HEADER: &str = "X-Request-Id";
/// How soon a line must be in the log after the answer that it is about.
const LOGGED_WITHIN: Duration = Duration::from_secs(1);
/// Between two looks at the log.
const POLL: Duration = Duration::from_millis(5);

/// 1 to 64 letters, digits, hyphens and underscores.
fn is_usable(id: &str) -> bool {
    (1..=64).contains(&id.len())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

async fn every_answer_has_a_request_id(context: &Context) -> TestResult {
    let mut seen = HashSet::new();
    let requests = [
        (Method::GET, "/health"),
        (Method::GET, "/read/1"),
        (Method::GET, "/read/1"),
        (Method::HEAD, "/read/1"),
        (Method::GET, "/read/0"),
        (Method::GET, "/read/one"),
        (Method::GET, "/nothing-here"),
        (Method::DELETE, "/health"),
    ];
    let keyless = context.client.without_key();
    for (method, path) in requests {
        for client in [&context.client, &keyless] {
            let answer = client.send(method.clone(), path).await?;
            let id = answer.header(HEADER).unwrap_or_default().into_owned();
            if !is_usable(&id) {
                return Err(answer
                    .failure(
                        format!(
                            "header {HEADER}: 1 to 64 letters, digits, hyphens and underscores"
                        ),
                        format!("{HEADER}: {id}"),
                    )
                    .into());
            }
            if !seen.insert(id.clone()) {
                return Err(answer
                    .failure(
                        "a request id of its own for each request",
                        format!("{HEADER}: {id}, as another request has"),
                    )
                    .into());
            }
        }
    }
    Ok(())
}

async fn a_usable_request_id_is_taken_over(context: &Context) -> TestResult {
    let longest = "x".repeat(64);
    for id in ["7", "Anna-Karenina_1877", &longest] {
        for path in ["/health", "/read/1", "/nothing-here"] {
            let client = context.client.with_request_id(id);
            client.get(path).await?.expect_header(HEADER, id)?;
        }
    }
    Ok(())
}

async fn an_unusable_request_id_is_replaced(context: &Context) -> TestResult {
    let too_long = "x".repeat(65);
    for id in [
        "",
        &too_long,
        "two words",
        r#"","level":"ERROR"#,
        "a,b",
        "../log",
        "Straße",
    ] {
        let client = context.client.with_request_id(id);
        let answer = client.get("/health").await?;
        let given = answer.header(HEADER).unwrap_or_default();
        if !is_usable(&given) {
            return Err(answer
                .failure(
                    format!("header {HEADER} with an id of the service's own"),
                    format!("{HEADER}: {given}"),
                )
                .into());
        }
    }
    Ok(())
}

/// The lines of the log that are JSON objects.
fn events(logged: &str) -> impl Iterator<Item = Map<String, Value>> {
    logged
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
}

/// The lines about the request with this id, once there is one of this level.
async fn events_about(context: &Context, id: &str, level: &str) -> Result<Vec<Value>, TestError> {
    let deadline = Instant::now() + LOGGED_WITHIN;
    loop {
        let logged = context.logged()?;
        let found: Vec<Value> = events(&logged)
            .filter(|event| event.get("request_id").is_some_and(|found| found == id))
            .map(Value::from)
            .collect();
        if found.iter().any(|event| event["level"] == level) {
            return Ok(found);
        }
        if Instant::now() > deadline {
            let last = logged.lines().last().unwrap_or("nothing");
            return Err(Failure::new(
                format!(r#"a JSON line in the log with "level":"{level}" and "request_id":"{id}""#),
                format!("none; the last line is {last}"),
            )
            .into());
        }
        tokio::time::sleep(POLL).await;
    }
}

async fn a_failed_query_is_logged_with_the_request_id_of_its_answer(
    context: &Context,
) -> TestResult {
    for client in [
        context.client.clone(),
        context.client.with_request_id("brought-along"),
    ] {
        let answer = a_failing_read(context, &client).await?;
        answer.expect_status(500)?;
        let id = answer.header(HEADER).unwrap_or_default();
        let events = events_about(context, &id, "ERROR").await?;
        // PostgreSQL's own words for it.
        let says_why = |event: &Value| event.to_string().contains("does not exist");
        if !events.iter().any(says_why) {
            return Err(answer
                .failure(
                    format!("a line with the request id {id} that says why the query failed"),
                    format!("these lines: {}", Value::from(events)),
                )
                .into());
        }
    }
    Ok(())
}

async fn an_outage_is_logged_with_a_request_id_and_not_for_every_request(
    context: &Context,
) -> TestResult {
    const REQUESTS: usize = 40;
    /// A line about something else may be so recent that the first requests get none.
    const ROUNDS: usize = 3;
    let mut sent = 0;
    let mut lines = 0;
    context.proxy.cut().await;
    let mut answers = Vec::new();
    while lines == 0 && sent < ROUNDS * REQUESTS {
        let requests = (sent..sent + REQUESTS).map(async |number| {
            let client = context.client.with_request_id(&format!("cut-off-{number}"));
            client.get("/read/1").await
        });
        answers.extend(join_all(requests).await);
        sent += REQUESTS;
        let logged = context.logged()?;
        lines = events(&logged)
            .filter(|event| event.get("level").is_some_and(|level| level == "WARN"))
            .filter_map(|event| event.get("request_id")?.as_str().map(str::to_owned))
            .filter(|id| id.starts_with("cut-off-"))
            .count();
    }
    context.proxy.restore().await;
    settled(&context.client, "/ready").await?;
    for answer in answers {
        answer?.expect_status(503)?;
    }
    if (1..=sent / 4).contains(&lines) {
        return Ok(());
    }
    Err(Failure::new(
        format!("for {sent} requests answered 503, a few lines of the log with \"level\":\"WARN\" and the id of one of them"),
        format!("{lines} such lines"),
    )
    .into())
}

async fn a_request_that_works_is_not_logged_unless_that_is_asked_for(
    context: &Context,
) -> TestResult {
    let quiet = context.client.with_request_id("this-one-works");
    let answer = quiet.get("/read/1").await?;
    answer.expect_status(200)?;
    // What comes later in the log shows that nothing of this one is still to come.
    let loud = context.client.with_request_id("this-one-fails");
    a_failing_read(context, &loud).await?;
    events_about(context, "this-one-fails", "ERROR").await?;
    let logged = context.logged()?;
    match logged.lines().find(|line| line.contains("this-one-works")) {
        None => Ok(()),
        Some(line) => Err(answer
            .failure(
                "no line about it in the log, with LOG_LEVEL=warn",
                line.to_owned(),
            )
            .into()),
    }
}

async fn a_request_is_logged_with_its_id_when_that_is_asked_for(context: &Context) -> TestResult {
    for (id, path) in [
        ("a-record", "/read/1"),
        ("no-record", "/read/0"),
        ("nowhere", "/nothing-here"),
    ] {
        context.client.with_request_id(id).get(path).await?;
        events_about(context, id, "INFO").await?;
    }
    Ok(())
}

async fn no_secret_is_logged_at_any_level(context: &Context) -> TestResult {
    const WRONG: &str = "wr0ng_key";
    let [right, ..] = context.settings.api_keys.as_slice() else {
        return Ok(());
    };
    let keyless = context.client.without_key();
    for path in [
        "/read/1",
        "/read/one",
        "/nothing-here",
        "/health",
        "/records",
    ] {
        context.client.get(path).await?;
        context.client.with_key(WRONG).get(path).await?;
        for key in [right, WRONG] {
            keyless.get(&format!("{path}?api_key={key}")).await?;
            keyless.post(&format!("{path}?api_key={key}")).await?;
            // Rocket knows no such method, and says so where it finds the request.
            let brew = Method::from_bytes(b"BREW").map_err(anyhow::Error::from)?;
            keyless.send(brew, &format!("{path}?api_key={key}")).await?;
        }
    }
    a_failing_read(context, &context.client).await?;
    context
        .client
        .with_request_id("the-last")
        .get("/health")
        .await?;
    events_about(context, "the-last", "INFO").await?;

    let database = Url::parse(&context.settings.database_url).map_err(anyhow::Error::from)?;
    let secrets = context.settings.api_keys.iter().map(String::as_str);
    let secrets = secrets
        .chain([WRONG, "api_key="])
        .chain(database.password());
    let logged = context.logged()?;
    for secret in secrets {
        if let Some(line) = logged.lines().find(|line| line.contains(secret)) {
            return Err(Failure::new(
                "a log without keys, without queries and without the database's password",
                line.to_owned(),
            )
            .into());
        }
    }
    Ok(())
}

async fn each_line_of_the_log_is_a_json_object(context: &Context) -> TestResult {
    a_failing_read(context, &context.client).await?;
    context
        .client
        .with_request_id("in-json")
        .get("/read/1")
        .await?;
    events_about(context, "in-json", "INFO").await?;
    for line in context.logged()?.lines() {
        let event: Map<String, Value> = serde_json::from_str(line).unwrap_or_default();
        let member = |name| event.get(name).and_then(Value::as_str).unwrap_or_default();
        let level = member("level");
        if !["ERROR", "WARN", "INFO", "DEBUG", "TRACE"].contains(&level)
            || ["timestamp", "message"]
                .iter()
                .any(|name| member(name).is_empty())
        {
            return Err(Failure::new(
                "on each line of the log a JSON object with timestamp, level and message",
                line.to_owned(),
            )
            .into());
        }
    }
    Ok(())
}

fn requests_in_flight_are_answered_before_the_end(shutdown: &Shutdown) -> TestResult {
    for answer in &shutdown.busy.in_flight {
        answer.as_ref().map_err(Clone::clone)?.expect_status(200)?;
    }
    Ok(())
}

fn a_service_that_stops_refuses_new_connections(shutdown: &Shutdown) -> TestResult {
    if shutdown.busy.refuses {
        return Ok(());
    }
    Err(Failure::new(
        "new connections refused within a second of SIGTERM, so that clients go elsewhere",
        "new connections were accepted",
    )
    .into())
}

fn the_last_answer_on_a_connection_says_so(shutdown: &Shutdown) -> TestResult {
    for answer in &shutdown.busy.in_flight {
        let answer = answer.as_ref().map_err(Clone::clone)?;
        answer.expect_header("Connection", "close")?;
    }
    Ok(())
}

fn it_ends_by_itself_within_its_time_limits(shutdown: &Shutdown) -> TestResult {
    expect_an_end(&shutdown.busy.end)
}

fn clients_that_want_nothing_do_not_hold_up_the_end(shutdown: &Shutdown) -> TestResult {
    expect_an_end(shutdown.held.end.as_ref().map_err(Clone::clone)?)
}

fn expect_an_end(end: &End) -> TestResult {
    let ended_well = end.status.is_some_and(|status| status.success());
    if ended_well && end.took < end.limit {
        return Ok(());
    }
    let actual = match end.status {
        Some(status) => format!("{status} after {:.1} s", end.took.as_secs_f64()),
        None => format!("it still ran after {:.1} s", end.took.as_secs_f64()),
    };
    Err(Failure::new(
        format!(
            "after SIGTERM an end with exit code 0 within {} s",
            end.limit.as_secs_f64()
        ),
        actual,
    )
    .into())
}

/// The variable and its value, as they would stand before a command.
fn in_words(setting: WrongSetting) -> String {
    match setting.value {
        Some(value) => format!("{}={value}", setting.variable),
        None => format!("no {}", setting.variable),
    }
}

/// How a run has ended, for a failure.
fn ended(run: &ShortRun) -> String {
    let ending = match run.code {
        Some(code) => format!("exit code {code}"),
        None => "no end".to_owned(),
    };
    match run.output.trim() {
        "" => format!("{ending}, and no word"),
        output => format!("{ending}, and: {output}"),
    }
}

fn a_wrong_setting_stops_the_start_with_one_sentence(runs: &ShortRuns) -> TestResult {
    for (setting, run) in &runs.refused {
        let lines: Vec<&str> = run.output.lines().collect();
        let one_sentence = matches!(lines.as_slice(), [line] if line.contains(setting.variable));
        if run.code != Some(1) || !one_sentence {
            return Err(Failure::new(
                format!(
                    "exit code 1 and one line that names {}, when started with {}",
                    setting.variable,
                    in_words(*setting)
                ),
                ended(run),
            )
            .into());
        }
    }
    Ok(())
}

fn the_sentence_repeats_no_secret(runs: &ShortRuns) -> TestResult {
    for (setting, run) in &runs.refused {
        if run.output.contains(SECRET) {
            return Err(Failure::new(
                format!("a complaint about {} without its value", in_words(*setting)),
                ended(run),
            )
            .into());
        }
    }
    Ok(())
}

fn the_health_check_says_whether_the_service_answers(runs: &ShortRuns) -> TestResult {
    let expectations = [
        ("exit code 0 while the service answers", &runs.healthy, 0),
        ("exit code 1 while nothing answers", &runs.nobody_there, 1),
    ];
    for (expected, run, code) in expectations {
        if run.code != Some(code) {
            return Err(Failure::new(expected, ended(run))
                .of("the service's program with the argument health")
                .into());
        }
    }
    Ok(())
}
