//! Suite `qrcode-routes` (exercise 12): the service that draws by itself, and nginx in front of it and of the Kotlin service, at
//! every stage and between them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use anyhow::Context as _;
use futures_util::future::try_join_all;
use reqwest::Method;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::interval;

use crate::qrcode::{expect_code, expect_unavailable, path};
use workshop_harness::contract::TestResult;
use workshop_harness::{contract_tests, sockets};
use workshop_harness::failure::{Failure, TestError};
use workshop_harness::http::{ANSWER_LIMIT, Answer, Client};
use workshop_harness::nginx::Nginx;
use workshop_harness::service::free_address;
use workshop_harness::stand_in::StandIn;
use workshop_harness::workbench::{OwnService, Workbench};

contract_tests! {
    own: [
        every_stage_keeps_the_contract,
        other_routes_go_to_kotlin_at_every_stage,
        a_body_is_passed_on_as_it_comes,
        a_mirrored_request_arrives_at_both_and_kotlin_answers,
        a_copy_that_gets_lost_or_no_answer_is_not_noticed,
        ten_percent_of_the_texts_go_to_rust,
        a_text_stays_on_its_side,
        at_the_last_stage_rust_draws,
        while_rust_is_down_kotlin_draws,
        no_request_fails_while_the_stages_change,
        a_request_in_flight_outlives_the_switch,
        kotlin_is_back_within_a_second,
        at_most_two_codes_for_each_core_are_drawn_at_once,
        a_panic_answers_503_and_the_service_goes_on,
        the_service_answers_while_every_place_is_taken,
        codes_under_way_are_drawn_before_the_end,
    ]
}

/// The stages in the order of a migration.
const STAGES: [&str; 4] = ["off", "mirror", "ten-percent", "all"];

/// Takes the place of the crate's `src/qr.rs`.
const STALLING: &str = include_str!("../payloads/stalling_qr.rs");

/// An nginx in front of these two, with the crate's configuration.
async fn in_front_of(
    bench: &Workbench,
    kotlin: SocketAddr,
    rust: SocketAddr,
) -> Result<Nginx, TestError> {
    Nginx::start(&bench.nginx_configuration(), kotlin, rust).await
}

/// An nginx in front of two stand-ins.
async fn in_front_of_stand_ins(
    bench: &Workbench,
    kotlin: &StandIn,
    rust: &StandIn,
) -> Result<Nginx, TestError> {
    in_front_of(bench, kotlin.address(), rust.address()).await
}

/// An address where nobody listens.
fn nobody() -> anyhow::Result<SocketAddr> {
    free_address().context("there is no free port")
}

/// Holds who has answered, as nginx says in `X-Served-By`, against who should have.
fn expect_served_by<'a>(answer: &'a Answer, service: &str) -> Result<&'a Answer, Failure> {
    answer.expect_header("X-Served-By", service)
}

/// Holds an answer of a stand-in, which is its name.
fn expect_stand_in(answer: &Answer, name: &str) -> Result<(), Failure> {
    answer.expect_status(200)?;
    if answer.body() == name.as_bytes() {
        return Ok(());
    }
    let got = String::from_utf8_lossy(answer.body()).into_owned();
    Err(answer.failure(format!("an answer of {name}"), format!("one of {got}")))
}

async fn every_stage_keeps_the_contract(bench: &Workbench) -> TestResult {
    let (kotlin, rust) = (bench.kotlin().await?, bench.service(&[]).await?);
    let nginx = in_front_of(bench, kotlin.address(), rust.address()).await?;
    let client = nginx.client()?;
    // The last stage stays for the two hundred.
    for stage in STAGES {
        nginx.switch(stage).await?;
        keeps_the_contract(&client).await?;
    }
    let paths: Vec<String> = (0..200)
        .map(|number| path(&format!("number {number}")))
        .collect();
    for answer in try_join_all(paths.iter().map(|path| client.get(path))).await? {
        answer.expect_status(200)?;
    }
    Ok(())
}

async fn keeps_the_contract(client: &Client) -> TestResult {
    for text in ["Grüße", "a+b c&d", &"a".repeat(512)] {
        expect_code(client, text).await?;
    }
    let head = client.head(&path("head")).await?;
    head.expect_status(200)?
        .expect_header("Content-Type", "image/png")?;
    let bad_request = [
        ("/qrcode", "the query parameter text is missing or empty"),
        ("/qrcode?text=%zz", "the request is malformed"),
    ];
    for (path, detail) in bad_request {
        let answer = client.get(path).await?;
        answer.expect_problem(400, "Bad Request", detail)?;
    }
    let answer = client.send(Method::DELETE, "/qrcode").await?;
    let detail = "this path does not support that method";
    answer
        .expect_problem(405, "Method Not Allowed", detail)?
        .expect_header("Allow", "GET, HEAD")?;
    Ok(())
}

async fn other_routes_go_to_kotlin_at_every_stage(bench: &Workbench) -> TestResult {
    let kotlin = StandIn::ready("kotlin").await?;
    let rust = StandIn::ready("rust").await?;
    let nginx = in_front_of_stand_ins(bench, &kotlin, &rust).await?;
    let client = nginx.client()?;
    for stage in STAGES {
        nginx.switch(stage).await?;
        for path in [
            "/health",
            "/read/1",
            "/records?after=5",
            "/qrcodes",
            "/qrcode/",
            "/",
        ] {
            let answer = client.get(path).await?;
            expect_stand_in(&answer, "kotlin")?;
            expect_served_by(&answer, "kotlin")?;
        }
        let answer = client.post("/records/1/visit").await?;
        expect_stand_in(&answer, "kotlin")?;
    }
    Ok(())
}

/// What nginx collects before it asks the service, it may have to keep on its disk.
async fn a_body_is_passed_on_as_it_comes(bench: &Workbench) -> TestResult {
    let kotlin = StandIn::ready("kotlin").await?;
    let rust = StandIn::ready("rust").await?;
    let nginx = in_front_of_stand_ins(bench, &kotlin, &rust).await?;
    let connection = TcpStream::connect(nginx.address()).await;
    let mut connection = connection.map_err(anyhow::Error::from)?;
    let begun = "POST /visits HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n{";
    let sent = connection.write_all(begun.as_bytes()).await;
    sent.map_err(anyhow::Error::from)?;
    kotlin.asked().await?;
    Ok(())
}

async fn a_mirrored_request_arrives_at_both_and_kotlin_answers(bench: &Workbench) -> TestResult {
    let kotlin = StandIn::ready("kotlin").await?;
    let rust = StandIn::ready("rust").await?;
    let nginx = in_front_of_stand_ins(bench, &kotlin, &rust).await?;
    nginx.switch("mirror").await?;
    for id in ["first", "second"] {
        let path = path(&format!("the {id} & only"));
        let answer = nginx.client()?.with_request_id(id).get(&path).await?;
        expect_stand_in(&answer, "kotlin")?;
        for service in [&kotlin, &rust] {
            expect_head(&service.asked().await?, &path, id)?;
        }
    }
    Ok(())
}

/// The request as the client has sent it, with its id.
fn expect_head(head: &str, path: &str, id: &str) -> Result<(), Failure> {
    let line = format!("GET {path} HTTP/1.1");
    let header = format!("X-Request-Id: {id}");
    if head.lines().next() == Some(&line) && head.lines().any(|line| line == header) {
        return Ok(());
    }
    Err(Failure::new(format!("{line}, with {header}"), head))
}

async fn a_copy_that_gets_lost_or_no_answer_is_not_noticed(bench: &Workbench) -> TestResult {
    let kotlin = StandIn::ready("kotlin").await?;
    let silent = StandIn::silent("rust").await?;
    for rust in [silent.address(), nobody()?] {
        let nginx = in_front_of(bench, kotlin.address(), rust).await?;
        nginx.switch("mirror").await?;
        for _ in 0..3 {
            let answer = nginx.client()?.get(&path("text")).await?;
            expect_stand_in(&answer, "kotlin")?;
        }
        // nginx keeps the next request of a connection until the copy of the one before has ended.
        two_on_one_connection(nginx.address()).await?;
    }
    Ok(())
}

/// Sends two requests on one connection, and waits for both answers.
async fn two_on_one_connection(address: SocketAddr) -> TestResult {
    let expected = "both answers of Kotlin on a connection that is kept, while Rust is silent";
    let both = async {
        let mut connection = BufReader::new(TcpStream::connect(address).await?);
        for _ in 0..2 {
            let request = format!("GET /qrcode?text=a HTTP/1.1\r\nHost: {address}\r\n\r\n");
            connection.write_all(request.as_bytes()).await?;
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") && connection.read_line(&mut head).await? > 0 {}
            let mut name = [0; "kotlin".len()];
            connection.read_exact(&mut name).await?;
        }
        std::io::Result::Ok(())
    };
    match tokio::time::timeout(ANSWER_LIMIT, both).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(Failure::new(expected, error.to_string()).into()),
        Err(_) => {
            let got = format!("no second answer within {} s", ANSWER_LIMIT.as_secs());
            Err(Failure::new(expected, got).into())
        }
    }
}

/// Texts of several kinds, enough to see a share.
fn thousand_texts() -> Vec<String> {
    (0..1000).map(|number| format!("{number}. text")).collect()
}

/// Those of the texts that Rust draws.
async fn drawn_by_rust<'a>(
    client: &Client,
    texts: &'a [String],
) -> Result<Vec<&'a str>, TestError> {
    let mut by_rust = Vec::new();
    for some in texts.chunks(50) {
        let paths: Vec<String> = some.iter().map(|text| path(text)).collect();
        let answers = try_join_all(paths.iter().map(|path| client.get(path))).await?;
        for (text, answer) in some.iter().zip(answers) {
            match answer.body() {
                b"rust" => by_rust.push(text.as_str()),
                _ => expect_stand_in(&answer, "kotlin")?,
            }
        }
    }
    Ok(by_rust)
}

async fn ten_percent_of_the_texts_go_to_rust(bench: &Workbench) -> TestResult {
    let kotlin = StandIn::ready("kotlin").await?;
    let rust = StandIn::ready("rust").await?;
    let nginx = in_front_of_stand_ins(bench, &kotlin, &rust).await?;
    nginx.switch("ten-percent").await?;
    let texts = thousand_texts();
    let by_rust = drawn_by_rust(&nginx.client()?, &texts).await?.len();
    // The hash is the same on every machine: this does not pass today and fail tomorrow.
    if (60..=140).contains(&by_rust) {
        return Ok(());
    }
    let expected = format!("about 100 of {} texts drawn by Rust", texts.len());
    Err(Failure::new(expected, by_rust.to_string()).into())
}

async fn a_text_stays_on_its_side(bench: &Workbench) -> TestResult {
    let kotlin = StandIn::ready("kotlin").await?;
    let rust = StandIn::ready("rust").await?;
    let nginx = in_front_of_stand_ins(bench, &kotlin, &rust).await?;
    nginx.switch("ten-percent").await?;
    let texts = thousand_texts();
    let first = drawn_by_rust(&nginx.client()?, &texts).await?;
    let second = drawn_by_rust(&nginx.client()?, &texts).await?;
    let moved = first.iter().find(|text| !second.contains(text));
    match moved {
        None => Ok(()),
        Some(text) => {
            let expected = format!("{text:?} drawn by the service that has drawn it before");
            Err(Failure::new(expected, "Rust the first time, Kotlin the second").into())
        }
    }
}

async fn at_the_last_stage_rust_draws(bench: &Workbench) -> TestResult {
    let kotlin = StandIn::ready("kotlin").await?;
    let rust = bench.service(&[]).await?;
    let nginx = in_front_of(bench, kotlin.address(), rust.address()).await?;
    nginx.switch("all").await?;
    let client = nginx.client()?;
    for text in ["one", "two", "three"] {
        expect_served_by(&client.get(&path(text)).await?, "rust")?;
        expect_code(&client, text).await?;
    }
    Ok(())
}

async fn while_rust_is_down_kotlin_draws(bench: &Workbench) -> TestResult {
    let kotlin = StandIn::ready("kotlin").await?;
    let nginx = in_front_of(bench, kotlin.address(), nobody()?).await?;
    let texts = thousand_texts();
    for stage in ["ten-percent", "all"] {
        nginx.switch(stage).await?;
        let client = nginx.client()?;
        for text in texts.iter().take(100) {
            let answer = client.get(&path(text)).await?;
            expect_stand_in(&answer, "kotlin")?;
        }
    }
    Ok(())
}

/// Between two requests of a constant rate.
const TICK: Duration = Duration::from_millis(5);
/// The requests of that rate around each switch.
const AROUND_A_SWITCH: usize = 60;

async fn no_request_fails_while_the_stages_change(bench: &Workbench) -> TestResult {
    let (kotlin, rust) = (bench.kotlin().await?, bench.service(&[]).await?);
    let nginx = in_front_of(bench, kotlin.address(), rust.address()).await?;
    let client = nginx.client()?;
    let mut requests = JoinSet::new();
    for stage in ["mirror", "ten-percent", "all", "off"] {
        let (switched, ()) = tokio::join!(
            nginx.switch(stage),
            ask_steadily(&client, stage, &mut requests)
        );
        switched?;
    }
    while let Some(request) = requests.join_next().await {
        request.context("a request was not made")??;
    }
    Ok(())
}

/// Asks at a constant rate, whether or not the requests before are answered.
async fn ask_steadily(client: &Client, stage: &str, requests: &mut JoinSet<Result<(), Failure>>) {
    let mut ticks = interval(TICK);
    for number in 0..AROUND_A_SWITCH {
        ticks.tick().await;
        let (client, text) = (client.clone(), format!("{stage} {number}"));
        requests.spawn(async move { expect_code(&client, &text).await.map(|_code| ()) });
    }
}

async fn a_request_in_flight_outlives_the_switch(bench: &Workbench) -> TestResult {
    let kotlin = StandIn::ready("kotlin").await?;
    let rust = StandIn::silent("rust").await?;
    let nginx = in_front_of_stand_ins(bench, &kotlin, &rust).await?;
    nginx.switch("all").await?;
    let client = nginx.client()?;
    let (before, after) = (path("before"), path("after"));
    let (in_flight, between) = tokio::join!(client.get(&before), async {
        rust.asked().await?;
        nginx.switch("off").await?;
        let answer = client.get(&after).await;
        rust.answer();
        Ok::<_, TestError>(answer?)
    });
    expect_stand_in(&between?, "kotlin")?;
    expect_stand_in(&in_flight?, "rust")?;
    Ok(())
}

async fn kotlin_is_back_within_a_second(bench: &Workbench) -> TestResult {
    let kotlin = StandIn::ready("kotlin").await?;
    let rust = StandIn::ready("rust").await?;
    let nginx = in_front_of_stand_ins(bench, &kotlin, &rust).await?;
    nginx.switch("all").await?;
    let took = nginx.switch("off").await?;
    expect_stand_in(&nginx.client()?.get(&path("text")).await?, "kotlin")?;
    if took <= Duration::from_secs(1) {
        return Ok(());
    }
    Err(Failure::new("Kotlin back within a second", format!("after {took:?}")).into())
}

/// A service whose drawing does what the text says. A stalled drawing keeps its place, so it needs a service that nobody else
/// asks: `purpose` makes it another.
async fn stalling(bench: &Workbench, purpose: &str) -> Result<Arc<OwnService>, TestError> {
    let purpose = [("PURPOSE", purpose)];
    bench.service_with_drawing(STALLING, &purpose).await
}

/// The most codes that may be drawn at the same time.
fn places() -> anyhow::Result<usize> {
    let cores = available_parallelism().context("the cores cannot be counted")?;
    Ok(2 * cores.get())
}

async fn at_most_two_codes_for_each_core_are_drawn_at_once(bench: &Workbench) -> TestResult {
    let service = stalling(bench, "count").await?;
    let slow = path("slow");
    let answers = (0..40).map(|_| service.client.get(&slow));
    for answer in try_join_all(answers).await? {
        answer.expect_status(200)?;
    }
    let answer = service.client.get(&path("most")).await?;
    let most = String::from_utf8_lossy(answer.body()).into_owned();
    let places = places()?;
    if most
        .parse()
        .is_ok_and(|most: usize| (1..=places).contains(&most))
    {
        return Ok(());
    }
    let expected = format!("at most {places} codes drawn at the same time, two for each core");
    Err(answer.failure(expected, most).into())
}

async fn a_panic_answers_503_and_the_service_goes_on(bench: &Workbench) -> TestResult {
    let service = stalling(bench, "panic").await?;
    // Once more than there are places: a panic gives its place back.
    for _ in 0..=places()? {
        expect_unavailable(&service.client, "panic").await?;
    }
    let drawn = service.client.get(&path("text")).await?;
    drawn.expect_status(200)?;
    Ok(())
}

async fn the_service_answers_while_every_place_is_taken(bench: &Workbench) -> TestResult {
    let service = stalling(bench, "stall").await?;
    // Each of them waits until the service gives it up.
    let stalled = (0..200).map(|_| expect_unavailable(&service.client, "stall"));
    try_join_all(stalled).await?;
    let one_more = service.client.get(&path("text")).await?;
    if one_more.status() == 503 {
        return Ok(());
    }
    let expected = "status 503: the drawings that were given up go on, and have every place";
    let got = format!("status {}", one_more.status());
    Err(one_more.failure(expected, got).into())
}

async fn codes_under_way_are_drawn_before_the_end(bench: &Workbench) -> TestResult {
    let service = stalling(bench, "end").await?;
    let address = service.address();
    // More than can be drawn before the service is told to stop.
    let asked = 40;
    let mut connections = try_join_all((0..asked).map(|_| ask_for_a_slow_code(address)))
        .await
        .map_err(|error| {
            let expected = format!("{asked} connections to the service at the same time");
            Failure::new(expected, error.to_string())
        })?;
    sockets::wait_until_read(address.port(), asked).await;
    service.ask_to_stop();
    let answers = connections.iter_mut().map(read_to_the_end);
    for answer in try_join_all(answers).await? {
        let status = answer.lines().next().unwrap_or_default();
        if !status.starts_with("HTTP/1.1 200 ") {
            let expected = "status 200 for each code under way when the service is told to stop";
            let got = if status.is_empty() {
                "a closed connection without an answer"
            } else {
                status
            };
            return Err(Failure::new(expected, got).into());
        }
    }
    Ok(())
}

/// Sends a request, and returns when all of it is on its way.
async fn ask_for_a_slow_code(address: SocketAddr) -> std::io::Result<TcpStream> {
    let path = path("slow");
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    let mut connection = TcpStream::connect(address).await?;
    connection.write_all(request.as_bytes()).await?;
    Ok(connection)
}

/// What comes on a connection until it is closed, however that happens.
async fn read_to_the_end(connection: &mut TcpStream) -> Result<String, Failure> {
    let mut answer = Vec::new();
    let read = tokio::time::timeout(ANSWER_LIMIT, connection.read_to_end(&mut answer)).await;
    if read.is_err() {
        let got = format!("no end of it within {} s", ANSWER_LIMIT.as_secs());
        return Err(Failure::new("an answer", got));
    }
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
