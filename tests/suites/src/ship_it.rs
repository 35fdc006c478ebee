//! Suite `ship-it` (exercise 8): what operators need of a service. It says which request a line of its log is about, keeps
//! its secrets, ends when it is told to without losing a request, and says what is wrong with its settings.

use std::borrow::Cow;
use std::collections::HashSet;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Map, Value};

use crate::expect_an_answer_or_no_database;
use crate::fail_the_same_way::a_failing_read;
use url::Url;
use workshop_base::wait;
use workshop_harness::contract::{
    Answer, Context, Failure, TestError, TestResult, contract_tests, expect, expect_each,
    expect_none, has_header, has_status,
};
use workshop_harness::first_start::FirstStart;
use workshop_harness::outage::settled;
use workshop_harness::schema_change::SchemaChange;
use workshop_harness::short_runs::{SECRET, ShortRun, ShortRuns, WrongSetting};
use workshop_harness::shutdown::{End, Shutdown};
use workshop_harness::http::Method;

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
        an_export_that_ends_early_is_logged_with_its_request_id,
    ],
    talkative: [
        a_request_is_logged_with_its_id_when_that_is_asked_for,
        each_line_about_a_request_has_its_id,
        no_secret_is_logged_at_any_level,
        each_line_of_the_log_is_a_json_object,
    ],
    first_start: [
        a_migration_that_the_database_rejects_is_an_error_in_the_log,
    ],
    schema_change: [
        reads_go_on_while_the_schema_changes,
        a_change_of_the_schema_is_no_error_of_a_visit,
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
        a_database_at_an_ipv6_address_is_found,
    ]
}

const HEADER: &str = "X-Request-Id";
/// How soon a line must be in the log after the answer that it is about.
pub const LOGGED_WITHIN: Duration = Duration::from_secs(3);

/// The request id of an answer, which has to be usable.
fn request_id<'a>(answer: &'a Answer, expected: &str) -> Result<Cow<'a, str>, Failure> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    answer.expect_header_that(HEADER, expected, |id| {
        (1..=64).contains(&id.len()) && id.chars().all(allowed)
    })?;
    Ok(answer.header(HEADER).unwrap_or_default())
}

async fn every_answer_has_a_request_id(context: &Context) -> TestResult {
    let mut seen = HashSet::new();
    let keyless = context.client.without_key();
    for (method, path) in [
        (Method::GET, "/health"),
        (Method::GET, "/read/1"),
        (Method::GET, "/read/1"),
        (Method::HEAD, "/read/1"),
        (Method::GET, "/read/0"),
        (Method::GET, "/read/one"),
        (Method::GET, "/nothing-here"),
        (Method::DELETE, "/health"),
    ] {
        for client in [&context.client, &keyless] {
            let answer = client.send(method.clone(), path).await?;
            let allowed = "1 to 64 letters, digits, hyphens and underscores";
            let id = request_id(&answer, allowed)?;
            answer.expect(
                seen.insert(id.to_string()),
                "a request id of its own for each request",
                format!("{HEADER}: {id}, as another request has"),
            )?;
        }
    }
    Ok(())
}

async fn a_usable_request_id_is_taken_over(context: &Context) -> TestResult {
    let longest = "x".repeat(64);
    for id in ["7", "Anna-Karenina_1877", &longest] {
        let client = context.client.with_request_id(id);
        let paths = ["/health", "/read/1", "/nothing-here"];
        client.each(paths, has_header(HEADER, id)).await?;
    }
    Ok(())
}

async fn an_unusable_request_id_is_replaced(context: &Context) -> TestResult {
    let too_long = "x".repeat(65);
    let injection = r#"","level":"ERROR"#;
    let unusable = ["", &too_long, "two words", injection, "a,b", "../log", "Straße"];
    for id in unusable {
        let client = context.client.with_request_id(id);
        let answer = client.get("/health").await?;
        request_id(&answer, "an id of the service's own")?;
    }
    Ok(())
}

/// The lines of the log that meet the condition.
fn events(context: &Context, is_so: impl Fn(&Value) -> bool) -> anyhow::Result<Vec<Value>> {
    let logged = context.logged()?;
    let events = logged.lines().flat_map(serde_json::from_str);
    Ok(events.filter(is_so).collect())
}

/// The request that a log line is about: a member of its own, or one of the span that the line is in.
pub fn id_in(event: &Value) -> Option<&str> {
    let id = event["request_id"].as_str();
    id.or_else(|| event["span"]["request_id"].as_str())
}

/// The lines about the request with this id, once there is one of this level.
async fn events_about(context: &Context, id: &str, level: &str) -> Result<Vec<Value>, TestError> {
    let found = wait::within(LOGGED_WITHIN, async || {
        let events = events(context, |event| id_in(event) == Some(id)).ok()?;
        let is_there = events.iter().any(|event| event["level"] == level);
        is_there.then_some(events)
    });
    if let Some(events) = found.await {
        return Ok(events);
    }
    let expected = format!(
        r#"a JSON line in the log with "level":"{level}", and with "request_id":"{id}" in it or in its span"#
    );
    let logged = context.logged()?;
    let last = logged.lines().last().unwrap_or("nothing");
    Err(Failure::new(expected, format!("none; the last line is {last}")).into())
}

async fn a_failed_query_is_logged_with_the_request_id_of_its_answer(
    context: &Context,
) -> TestResult {
    let named = context.client.with_request_id("brought-along");
    for client in [&context.client, &named] {
        let answer = a_failing_read(context, client).await?;
        answer.expect_status(500)?;
        let id = answer.header(HEADER).unwrap_or_default();
        let events = Value::from(events_about(context, &id, "ERROR").await?).to_string();
        answer.expect(
            // PostgreSQL's own words for it.
            events.contains("does not exist"),
            format!("a line with the request id {id} that says why the query failed"),
            format!("these lines: {events}"),
        )?;
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
        let warns = |event: &Value| {
            event["level"] == "WARN" && id_in(event).is_some_and(|id| id.starts_with("cut-off-"))
        };
        let count = async || Ok(events(context, warns)?.len());
        let some = |lines: &anyhow::Result<usize>| !matches!(lines, Ok(0));
        lines = wait::last_within(LOGGED_WITHIN, count, some).await?;
    }
    context.proxy.restore().await;
    settled(&context.client, "/ready").await?;
    expect_each(&answers, has_status(503))?;
    expect(
        (1..=sent / 4).contains(&lines),
        format!(
            "for {sent} requests answered 503, a few log lines with \"level\":\"WARN\" and the id of one of them"
        ),
        format!("{lines} such lines"),
    )
}

async fn an_export_that_ends_early_is_logged_with_its_request_id(context: &Context) -> TestResult {
    /// A line with the same reason may be so recent that an export gets none.
    const TRIES: u8 = 3;
    let mut logged = Ok(Vec::new());
    for number in 1..=TRIES {
        let id = format!("ended-early-{number}");
        let client = context.client.with_request_id(&id);
        let mut export = client.download("/records/export").await?;
        export.expect_status(200).await?;
        export.line().await?;
        context.proxy.cut().await;
        let ended = export.rest().await;
        logged = events_about(context, &id, "WARN").await;
        context.proxy.restore().await;
        ended?;
        settled(&context.client, "/ready").await?;
        if logged.is_ok() {
            break;
        }
    }
    logged.map(drop)
}

async fn a_request_that_works_is_not_logged_unless_that_is_asked_for(
    context: &Context,
) -> TestResult {
    let quiet = context.client.with_request_id("this-one-works");
    let answer = quiet.get("/read/1").await?;
    answer.expect_status(200)?;
    // A later line in the log shows that no line about this one is still to come.
    let loud = context.client.with_request_id("this-one-fails");
    a_failing_read(context, &loud).await?;
    events_about(context, "this-one-fails", "ERROR").await?;
    let logged = context.logged_line(|line| line.contains("this-one-works"))?;
    let expected = "no line about it in the log, with LOG_LEVEL=warn";
    answer.expect(logged.is_none(), expected, logged.unwrap_or_default())?;
    Ok(())
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

/// Not only the service's own code logs: a library that refuses a key or a body may do so as well.
async fn each_line_about_a_request_has_its_id(context: &Context) -> TestResult {
    const ID: &str = "whose-lines-are-these";
    let client = context.client.with_request_id(ID);
    let keyless = client.without_key();
    let earlier = events(context, |_| true)?.len();
    for path in ["/read/1", "/read/one", "/records", "/records/export", "/nothing-here"] {
        client.get(path).await?;
        keyless.get(path).await?;
    }
    for path in ["/records/1/visit", "/visits"] {
        client.post(path).await?;
        keyless.post(path).await?;
    }
    a_failing_read(context, &client).await?;
    events_about(context, ID, "ERROR").await?;

    let lines = events(context, |_| true)?;
    let other = lines.iter().skip(earlier).find(|line| id_in(line) != Some(ID));
    let expected = format!("the request id {ID} on each line that was logged for requests with this id");
    expect_none(expected, other.map(Value::to_string))
}

async fn no_secret_is_logged_at_any_level(context: &Context) -> TestResult {
    const WRONG: &str = "wr0ng_key";
    let [right, ..] = context.settings.api_keys.as_slice() else {
        return Ok(());
    };
    // Rocket doesn't know this method, and logs that where it finds the request.
    let brew = Method::from_bytes(b"BREW").map_err(anyhow::Error::from)?;
    let (wrong, keyless) = (context.client.with_key(WRONG), context.client.without_key());
    let paths = ["/read/1", "/read/one", "/nothing-here", "/health", "/records"];
    for path in paths {
        context.client.get(path).await?;
        wrong.get(path).await?;
        for key in [right, WRONG] {
            for method in [&Method::GET, &Method::POST, &brew] {
                let path = format!("{path}?api_key={key}");
                keyless.send(method.clone(), &path).await?;
            }
        }
    }
    a_failing_read(context, &context.client).await?;
    let last = context.client.with_request_id("the-last");
    last.get("/health").await?;
    events_about(context, "the-last", "INFO").await?;

    let database = Url::parse(&context.settings.database_url).map_err(anyhow::Error::from)?;
    let mut secrets = vec![WRONG, "api_key="];
    secrets.extend(context.settings.api_keys.iter().map(String::as_str));
    secrets.extend(database.password());
    let told = |line: &str| secrets.iter().any(|secret| line.contains(secret));
    let expected = "a log without keys, without queries and without the database's password";
    expect_none(expected, context.logged_line(told)?)
}

async fn each_line_of_the_log_is_a_json_object(context: &Context) -> TestResult {
    a_failing_read(context, &context.client).await?;
    let client = context.client.with_request_id("in-json");
    client.get("/read/1").await?;
    events_about(context, "in-json", "INFO").await?;
    let other = context.logged_line(|line| {
        let event: Map<String, Value> = serde_json::from_str(line).unwrap_or_default();
        let member = |name| event.get(name).and_then(Value::as_str).unwrap_or_default();
        !["ERROR", "WARN", "INFO", "DEBUG", "TRACE"].contains(&member("level"))
            || member("timestamp").is_empty()
            || member("message").is_empty()
    })?;
    let expected = "a JSON object with timestamp, level and message on each line of the log";
    expect_none(expected, other)
}

fn a_migration_that_the_database_rejects_is_an_error_in_the_log(
    watched: &FirstStart,
) -> TestResult {
    let line = watched.logged.as_deref().unwrap_or("none");
    let event: Value = serde_json::from_str(line).unwrap_or_default();
    expect(
        event["level"] == "ERROR",
        "a log line with \"level\":\"ERROR\" that says which table the migration could not create: \
         waiting doesn't help, so somebody has to read it",
        line,
    )
}

fn reads_go_on_while_the_schema_changes(change: &SchemaChange) -> TestResult {
    expect_each(&change.reads, has_status(200))
}

fn a_change_of_the_schema_is_no_error_of_a_visit(change: &SchemaChange) -> TestResult {
    expect_each(&change.visits, expect_an_answer_or_no_database)?;
    expect_each(&change.visits_afterwards, has_status(200))
}

fn requests_in_flight_are_answered_before_the_end(shutdown: &Shutdown) -> TestResult {
    expect_each(&shutdown.busy.in_flight, has_status(200))
}

fn a_service_that_stops_refuses_new_connections(shutdown: &Shutdown) -> TestResult {
    expect(
        shutdown.busy.refuses,
        "new connections refused within a second of SIGTERM, so that clients go elsewhere",
        "new connections were accepted",
    )
}

fn the_last_answer_on_a_connection_says_so(shutdown: &Shutdown) -> TestResult {
    let check = has_header("Connection", "close");
    expect_each(&shutdown.busy.in_flight, check)
}

fn it_ends_by_itself_within_its_time_limits(shutdown: &Shutdown) -> TestResult {
    expect_an_end(&shutdown.busy.end)
}

fn clients_that_want_nothing_do_not_hold_up_the_end(shutdown: &Shutdown) -> TestResult {
    expect_an_end(shutdown.held.as_ref().map_err(Clone::clone)?)
}

pub(crate) fn expect_an_end(end: &End) -> TestResult {
    let (took, limit) = (end.took.as_secs_f64(), end.limit.as_secs_f64());
    let ended_well = end.status.is_some_and(|status| status.success());
    expect(
        ended_well && took < limit,
        format!("an end with exit code 0 within {limit} s of SIGTERM"),
        match end.status {
            Some(status) => format!("{status} after {took:.1} s"),
            None => format!("it still ran after {took:.1} s"),
        },
    )
}

/// The variable and its value, as written before a command.
fn in_words(setting: WrongSetting) -> String {
    match setting {
        (variable, Some(value)) => format!("{variable}={value}"),
        (variable, None) => format!("no {variable}"),
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
        let (variable, _) = setting;
        let one_line = run.output.lines().count() == 1 && run.output.contains(variable);
        let setting = in_words(*setting);
        expect(
            run.code == Some(1) && one_line,
            format!("exit code 1 and one line that names {variable}, when started with {setting}"),
            ended(run),
        )?;
    }
    Ok(())
}

fn the_sentence_repeats_no_secret(runs: &ShortRuns) -> TestResult {
    for (setting, run) in &runs.refused {
        let expected = format!("an error message about {} without its value", in_words(*setting));
        expect(!run.output.contains(SECRET), expected, ended(run))?;
    }
    Ok(())
}

fn a_database_at_an_ipv6_address_is_found(runs: &ShortRuns) -> TestResult {
    // A machine without IPv6 has no such database.
    expect_each(&runs.by_ipv6, has_status(200))
}

fn the_health_check_says_whether_the_service_answers(runs: &ShortRuns) -> TestResult {
    let expectations = [
        ("exit code 0 while the service answers", &runs.healthy, 0),
        ("exit code 1 while nothing answers", &runs.nobody_there, 1),
        (
            "exit code 1 within seconds while something accepts connections and says nothing",
            &runs.silent,
            1,
        ),
    ];
    for (expected, run, code) in expectations {
        if run.code != Some(code) {
            let failure = Failure::new(expected, ended(run));
            return Err(failure
                .of("the service's program with the argument health")
                .into());
        }
    }
    Ok(())
}
