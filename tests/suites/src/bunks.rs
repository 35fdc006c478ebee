//! Suite `bunks` (exercise 9): a service in memory that answers what it did before it was put in order, that no request can harm, and
//! whose source says what it does.

use serde_json::{Value, json};

use workshop_base::source::SourceLine;
use workshop_harness::build::reading::{OwnTests, ReadSource};
use workshop_harness::contract::{
    Answer, Client, Context, Failure, TestResult, contract_tests, expect, expect_eq, expect_none,
};
use workshop_harness::http::{Body, Method};

contract_tests! {
    bunks: [
        the_service_is_alive,
        a_hut_shows_its_bunks,
        an_unknown_hut_answers_404,
        a_malformed_night_answers_400,
        a_free_bunk_can_be_held,
        a_held_bunk_is_seen_by_others,
        a_held_bunk_is_not_held_twice,
        of_many_guests_at_once_one_gets_the_bunk,
        a_hold_can_be_confirmed,
        a_canceled_bunk_is_free_again,
        a_canceled_booking_is_not_confirmed,
        a_booking_is_canceled_once,
        an_unknown_booking_answers_404,
        a_guest_without_a_name_answers_422,
        a_booking_canceled_after_it_was_confirmed_stays_canceled,
        no_request_gets_a_5xx,
    ],
    sources: [
        no_input_can_panic,
        a_state_is_a_type,
        every_error_has_a_type,
        every_copy_has_its_reason,
        who_owns_what_is_said,
        no_lock_is_inside_another,
        no_function_is_long_or_deep,
        the_service_has_modules,
        the_rules_are_tested_without_the_web,
    ]
}

/// The maximum number of copies that a service of this size may need.
const MOST_COPIES: usize = 6;
/// The minimum numbers of modules, and of unit tests of the rules.
const FEWEST_MODULES: usize = 3;
const FEWEST_TESTS: usize = 5;

/// A bunk for a night that no other test uses.
fn bunk(night: u8, bunk: u32) -> String {
    format!("/huts/marmot/2026-07-{night:02}/{bunk}")
}

async fn hold(client: &Client, path: &str, guest: &str) -> Result<Answer, Failure> {
    let body = json!({ "guest": guest }).to_string();
    client.post_body(path, Body::json(&body)).await
}

/// Holds a bunk; returns the path of the booking.
async fn held(client: &Client, path: &str) -> Result<String, Failure> {
    let answer = hold(client, path, "Ada").await?;
    let booking = json_of(answer.expect_status(201)?)?;
    match booking["code"].as_str() {
        Some(code) => Ok(format!("/bookings/{code}")),
        None => Err(answer.failure("a booking with a code", answer.text())),
    }
}

async fn confirm(client: &Client, booking: &str) -> Result<Answer, Failure> {
    client.post(&format!("{booking}/confirm")).await
}

async fn cancel(client: &Client, booking: &str) -> Result<Answer, Failure> {
    client.send(Method::DELETE, booking).await
}

fn json_of(answer: &Answer) -> Result<Value, Failure> {
    serde_json::from_slice(answer.body())
        .map_err(|error| answer.failure("a body of JSON", format!("{}: {error}", answer.text())))
}

/// Expects a 200 whose booking is in this state.
fn expect_state(answer: &Answer, state: &str) -> TestResult {
    let booking = json_of(answer.expect_status(200)?)?;
    match booking["state"] == state {
        true => Ok(()),
        false => Err(answer
            .failure(format!("the state {state:?}"), answer.text())
            .into()),
    }
}

/// The state of a bunk of marmot, as the hut shows it.
async fn expect_bunk(client: &Client, night: u8, bunk: usize, state: &str) -> TestResult {
    let answer = client
        .get(&format!("/huts/marmot/2026-07-{night:02}"))
        .await?;
    let hut = json_of(answer.expect_status(200)?)?;
    let shown = &hut["bunks"][bunk - 1];
    match *shown == json!({ "bunk": bunk, "state": state }) {
        true => Ok(()),
        false => Err(answer
            .failure(format!("bunk {bunk} {state:?}"), shown.to_string())
            .into()),
    }
}

async fn the_service_is_alive(context: &Context) -> TestResult {
    let answer = context.client.get("/health").await?;
    answer.expect_json(200, &json!({ "status": "ok" }))?;
    Ok(())
}

async fn a_hut_shows_its_bunks(context: &Context) -> TestResult {
    let answer = context.client.get("/huts/summit/2026-07-01").await?;
    let free = |bunk: u32| json!({ "bunk": bunk, "state": "free" });
    let bunks = [free(1), free(2)];
    let hut = json!({ "hut": "summit", "night": "2026-07-01", "bunks": bunks });
    let shown = json_of(answer.expect_status(200)?)?;
    match shown == hut {
        true => Ok(()),
        false => Err(answer.failure(hut.to_string(), answer.text()).into()),
    }
}

async fn an_unknown_hut_answers_404(context: &Context) -> TestResult {
    let client = &context.client;
    client
        .get("/huts/castle/2026-07-01")
        .await?
        .expect_status(404)?;
    let answer = hold(client, "/huts/castle/2026-07-01/1", "Ada").await?;
    answer.expect_status(404)?;
    Ok(())
}

async fn a_malformed_night_answers_400(context: &Context) -> TestResult {
    let client = &context.client;
    client.get("/huts/summit/soon").await?.expect_status(400)?;
    let answer = client.get("/huts/summit/2026-13-01").await?;
    answer.expect_status(400)?;
    Ok(())
}

async fn a_free_bunk_can_be_held(context: &Context) -> TestResult {
    let answer = hold(&context.client, &bunk(2, 3), "Ada").await?;
    let booking = json_of(answer.expect_status(201)?)?;
    let expected = [
        ("hut", json!("marmot")),
        ("night", json!("2026-07-02")),
        ("bunk", json!(3)),
        ("guest", json!("Ada")),
        ("state", json!("held")),
    ];
    for (member, expected) in expected {
        expect_eq(member, booking[member].to_string(), expected.to_string())?;
    }
    let until = booking["held_until"].as_u64();
    expect(
        until.is_some(),
        "held_until in seconds since 1970",
        answer.text(),
    )
}

async fn a_held_bunk_is_seen_by_others(context: &Context) -> TestResult {
    let booking = held(&context.client, &bunk(3, 1)).await?;
    expect_bunk(&context.client, 3, 1, "held").await?;
    expect_bunk(&context.client, 3, 2, "free").await?;
    expect_bunk(&context.client, 30, 1, "free").await?;
    expect_state(&context.client.get(&booking).await?, "held")
}

async fn a_held_bunk_is_not_held_twice(context: &Context) -> TestResult {
    held(&context.client, &bunk(4, 1)).await?;
    let answer = hold(&context.client, &bunk(4, 1), "Grace").await?;
    answer.expect_status(409)?;
    Ok(())
}

async fn of_many_guests_at_once_one_gets_the_bunk(context: &Context) -> TestResult {
    let path = bunk(5, 1);
    let guests = (0..16).map(|_| hold(&context.client, &path, "Ada"));
    let answers = futures_util::future::try_join_all(guests).await?;
    let statuses = answers.iter().map(Answer::status);
    let made = statuses.filter(|status| *status == 201).count();
    expect_eq("bookings of one bunk", made, 1)
}

async fn a_hold_can_be_confirmed(context: &Context) -> TestResult {
    let booking = held(&context.client, &bunk(6, 1)).await?;
    expect_state(&confirm(&context.client, &booking).await?, "confirmed")?;
    expect_bunk(&context.client, 6, 1, "confirmed").await
}

async fn a_canceled_bunk_is_free_again(context: &Context) -> TestResult {
    let booking = held(&context.client, &bunk(7, 1)).await?;
    expect_state(&cancel(&context.client, &booking).await?, "canceled")?;
    expect_bunk(&context.client, 7, 1, "free").await?;
    held(&context.client, &bunk(7, 1)).await?;
    Ok(())
}

async fn a_canceled_booking_is_not_confirmed(context: &Context) -> TestResult {
    let booking = held(&context.client, &bunk(8, 1)).await?;
    cancel(&context.client, &booking)
        .await?
        .expect_status(200)?;
    confirm(&context.client, &booking)
        .await?
        .expect_status(409)?;
    Ok(())
}

async fn a_booking_is_canceled_once(context: &Context) -> TestResult {
    let booking = held(&context.client, &bunk(9, 1)).await?;
    cancel(&context.client, &booking)
        .await?
        .expect_status(200)?;
    cancel(&context.client, &booking)
        .await?
        .expect_status(409)?;
    Ok(())
}

async fn an_unknown_booking_answers_404(context: &Context) -> TestResult {
    let client = &context.client;
    client.get("/bookings/B-4711").await?.expect_status(404)?;
    confirm(client, "/bookings/B-4711")
        .await?
        .expect_status(404)?;
    cancel(client, "/bookings/B-4711")
        .await?
        .expect_status(404)?;
    Ok(())
}

async fn a_guest_without_a_name_answers_422(context: &Context) -> TestResult {
    let answer = hold(&context.client, &bunk(10, 1), " ").await?;
    answer.expect_status(422)?;
    expect_bunk(&context.client, 10, 1, "free").await
}

async fn a_booking_canceled_after_it_was_confirmed_stays_canceled(context: &Context) -> TestResult {
    let booking = held(&context.client, &bunk(11, 1)).await?;
    expect_state(&confirm(&context.client, &booking).await?, "confirmed")?;
    expect_state(&cancel(&context.client, &booking).await?, "canceled")?;
    confirm(&context.client, &booking)
        .await?
        .expect_status(409)?;
    Ok(())
}

/// Invalid nights, as strangers and broken clients send them.
const NIGHTS: [&str; 13] = [
    "-",
    "--",
    "2026-",
    "2026-07",
    "2026-07-",
    "-07-14",
    "2026-xx-14",
    "2026-07-14-1",
    "99999999999-07-14",
    "2026-07-4294967296",
    "%C3%A4%C3%B6%C3%BC-07-14",
    "%F0%9F%8F%94-%F0%9F%8F%94-%F0%9F%8F%94",
    "%FF-07-14",
];

/// Invalid bunks.
const BUNKS: [&str; 7] = ["0", "13", "-1", "one", "1.5", "4294967296", "%00"];

/// Invalid codes.
const CODES: [&str; 8] = [
    "B",
    "B-",
    "-",
    "%C3%A9",
    "B%C3%A9",
    "B-18446744073709551616",
    "b-1",
    "%F0%9F%9B%8F",
];

/// Invalid bodies.
const BODIES: [&str; 12] = [
    "",
    "{",
    "[]",
    "null",
    "1",
    "{}",
    r#"{"guest":null}"#,
    r#"{"guest":1}"#,
    r#"{"guest":["Ada"]}"#,
    r#"{"guest":"\ud800"}"#,
    r#"{"guest":"ééééééééééééééééééééééééééééééééééééééééééé"}"#,
    r#"{"guest":"eéééééééééééééééééééééééé"}"#,
];

async fn no_request_gets_a_5xx(context: &Context) -> TestResult {
    let client = &context.client;
    let mut answers = Vec::new();
    for night in NIGHTS {
        answers.push(client.get(&format!("/huts/larch/{night}")).await?);
    }
    for bunk in BUNKS {
        answers.push(hold(client, &format!("/huts/larch/2026-07-20/{bunk}"), "Ada").await?);
    }
    for code in CODES {
        answers.push(client.get(&format!("/bookings/{code}")).await?);
    }
    for body in BODIES {
        let path = "/huts/larch/2026-07-20/1";
        answers.push(client.post_body(path, Body::json(body)).await?);
    }
    // After all that, the huts still answer.
    answers.push(client.get("/huts/larch/2026-07-20").await?);
    let faulty = answers.iter().find(|answer| answer.status() >= 500);
    match faulty {
        Some(answer) => Err(answer
            .failure("a status below 500", format!("status {}", answer.status()))
            .into()),
        None => Ok(()),
    }
}

/// The first few findings, and how many there are.
fn told<'a>(found: impl IntoIterator<Item = &'a SourceLine>) -> Option<String> {
    const SHOWN: usize = 5;
    let found: Vec<String> = found.into_iter().map(SourceLine::to_string).collect();
    let (first, more) = found.split_at(found.len().min(SHOWN));
    let mut lines = first.join("\n");
    if !more.is_empty() {
        lines = format!("{lines}\nand {} more", more.len());
    }
    (!found.is_empty()).then_some(lines)
}

/// Expects no warning of these lints.
fn expect_no_remark(source: &ReadSource, expected: &str, lints: &[&str]) -> TestResult {
    let remarks = source.remarks.iter();
    let found = remarks.filter(|remark| lints.contains(&remark.lint.as_str()));
    expect_none(expected, told(found.map(|remark| &remark.at)))
}

fn no_input_can_panic(source: &ReadSource) -> TestResult {
    let expected =
        "no unwrap, expect, panic!, index or slice: an input that doesn't fit becomes an error";
    let lints = [
        "unwrap_used",
        "expect_used",
        "panic",
        "indexing_slicing",
        "string_slice",
    ];
    expect_no_remark(source, expected, &lints)
}

fn a_state_is_a_type(source: &ReadSource) -> TestResult {
    let texts = &source.facts.state_texts;
    let home = texts.first().and_then(|text| text.home.as_ref());
    let elsewhere = texts
        .iter()
        .filter(|text| text.home.is_none() || text.home.as_ref() != home);
    let expected = "the words for a state in one impl, or in none: everything else matches an enum";
    expect_none(expected, told(elsewhere.map(|text| &text.at)))?;
    let has = |variants: &Vec<String>, name: &str| variants.iter().any(|variant| variant == name);
    let mut enums = source.facts.enums.iter();
    let is_there = enums.any(|variants| {
        ["Held", "Confirmed", "Canceled"]
            .iter()
            .all(|name| has(variants, name))
    });
    expect(
        is_there,
        "an enum with the variants Held, Confirmed and Canceled",
        "none",
    )?;
    let expected =
        "a match that names every state, so that a new one doesn't compile before it is handled";
    expect_no_remark(
        source,
        expected,
        &[
            "wildcard_enum_match_arm",
            "match_wildcard_for_single_variants",
        ],
    )
}

fn every_error_has_a_type(source: &ReadSource) -> TestResult {
    let expected = "errors of a type that a match can take apart";
    expect_none(expected, told(&source.facts.untyped_errors))
}

fn every_copy_has_its_reason(source: &ReadSource) -> TestResult {
    let expected =
        "a comment with the reason beside each clone, to_owned, to_vec and cloned, or no copy";
    expect_none(expected, told(&source.facts.bare_copies))?;
    let copies = &source.facts.explained_copies;
    if copies.len() > MOST_COPIES {
        let expected = format!("at most {MOST_COPIES} copies");
        return expect_none(expected, told(copies));
    }
    let expected = "to_owned for a copy of a text, and clone for one of a value, so that a copy looks like one";
    expect_no_remark(source, expected, &["str_to_string", "implicit_clone"])
}

fn who_owns_what_is_said(source: &ReadSource) -> TestResult {
    let expected = "a reference where nothing is kept, and Arc::clone for another owner";
    expect_no_remark(
        source,
        expected,
        &["needless_pass_by_value", "clone_on_ref_ptr"],
    )
}

fn no_lock_is_inside_another(source: &ReadSource) -> TestResult {
    let expected = "one lock around plain data, or none";
    expect_none(expected, told(&source.facts.nested_locks))
}

fn no_function_is_long_or_deep(source: &ReadSource) -> TestResult {
    let expected = "functions within the limits of clippy.toml";
    let lints = ["too_many_lines", "excessive_nesting", "too_many_arguments"];
    expect_no_remark(source, expected, &lints)
}

fn the_service_has_modules(source: &ReadSource) -> TestResult {
    let modules = source.facts.modules;
    let expected = format!("at least {FEWEST_MODULES} modules besides main");
    expect(modules >= FEWEST_MODULES, expected, modules.to_string())
}

fn the_rules_are_tested_without_the_web(source: &ReadSource) -> TestResult {
    let files = source.facts.files.iter();
    let rules = files.filter(|file| !file.is_of_the_web && file.tests > 0);
    let tests: usize = rules.clone().map(|file| file.tests).sum();
    let expected = format!("at least {FEWEST_TESTS} unit tests in files that don't name rocket");
    expect(tests >= FEWEST_TESTS, expected, tests.to_string())?;
    let expected = "rules that get the time as an argument";
    expect_none(expected, told(rules.flat_map(|file| &file.clocks)))?;
    match &source.tests {
        OwnTests::Passed => Ok(()),
        OwnTests::Failed(said) => expect_none("unit tests that pass", Some(said)),
    }
}
