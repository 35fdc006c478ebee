//! Suite `qrcode-routes` (exercise 20): the service that draws by itself, and nginx in front of it and of the Kotlin service, at
//! every stage and between them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use anyhow::Context as _;
use futures_util::future::try_join_all;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{interval, timeout};

use crate::qrcode::{
    expect_code, expect_codes, expect_missing, expect_unavailable, expect_undecodable, path, paths,
};
use crate::ship_it::{LOGGED_WITHIN, id_in};
use workshop_base::wait;
use workshop_harness::contract::{
    Answer, Client, Failure, TestError, TestResult, contract_tests, expect, expect_each,
    expect_none, has_header, has_status,
};
use workshop_harness::http::{ANSWER_LIMIT, Method};
use workshop_harness::nginx::Nginx;
use workshop_harness::service::free_address;
use workshop_harness::sockets;
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
        kotlin_is_back_at_once,
        at_most_two_codes_for_each_core_are_drawn_at_once,
        a_panic_answers_503_and_the_service_goes_on,
        a_failure_is_logged_with_the_request_id_of_its_answer,
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

/// An nginx in front of the Kotlin service and the target.
async fn in_front_of_both(bench: &Workbench) -> Result<Nginx, TestError> {
    let (kotlin, rust) = (bench.kotlin().await?, bench.service(&[]).await?);
    in_front_of(bench, kotlin.process.address(), rust.process.address()).await
}

/// An nginx in front of two stand-ins that answer at once.
struct StandIns {
    kotlin: StandIn,
    rust: StandIn,
    nginx: Nginx,
    client: Client,
}

impl StandIns {
    async fn at(bench: &Workbench, stage: &str) -> Result<StandIns, TestError> {
        StandIns::with(bench, StandIn::ready("rust")?, stage).await
    }

    async fn with(bench: &Workbench, rust: StandIn, stage: &str) -> Result<StandIns, TestError> {
        let kotlin = StandIn::ready("kotlin")?;
        let nginx = in_front_of(bench, kotlin.address(), rust.address()).await?;
        nginx.switch(stage).await?;
        Ok(StandIns {
            client: nginx.client()?,
            kotlin,
            rust,
            nginx,
        })
    }
}

/// An address where nothing listens.
fn nobody() -> anyhow::Result<SocketAddr> {
    free_address().context("there is no free port")
}

/// Expects the answer of a stand-in, which is its name.
fn expect_stand_in<'a>(answer: &'a Answer, name: &str) -> Result<&'a Answer, Failure> {
    let (holds, got) = (answer.text() == name, format!("one of {}", answer.text()));
    answer.expect_status(200)?;
    answer.expect(holds, format!("an answer of {name}"), got)
}

fn by_kotlin(answer: &Answer) -> Result<&Answer, Failure> {
    expect_stand_in(answer, "kotlin")
}

fn by_kotlin_as_nginx_says(answer: &Answer) -> Result<&Answer, Failure> {
    by_kotlin(answer)?.expect_header("X-Served-By", "kotlin")
}

async fn every_stage_keeps_the_contract(bench: &Workbench) -> TestResult {
    let nginx = in_front_of_both(bench).await?;
    let client = nginx.client()?;
    // The last stage stays for the two hundred.
    for stage in STAGES {
        nginx.switch(stage).await?;
        keeps_the_contract(&client).await?;
    }
    let answers = client.get_all(&paths(200)).await;
    expect_each(&answers, has_status(200))
}

async fn keeps_the_contract(client: &Client) -> TestResult {
    expect_codes(client, ["Grüße", "a+b c&d", &"a".repeat(512)]).await?;
    let head = client.head(&path("head")).await?;
    head.expect_status(200)?
        .expect_header("Content-Type", "image/png")?;
    client.each(["/qrcode"], expect_missing).await?;
    client.each(["/qrcode?text=%zz"], expect_undecodable).await?;
    crate::expect_no_such_method(&client.send(Method::DELETE, "/qrcode").await?)?;
    Ok(())
}

async fn other_routes_go_to_kotlin_at_every_stage(bench: &Workbench) -> TestResult {
    let stand_ins = StandIns::at(bench, "off").await?;
    let client = &stand_ins.client;
    let paths = ["/health", "/read/1", "/records?after=5", "/qrcodes", "/qrcode/", "/"];
    for stage in STAGES {
        stand_ins.nginx.switch(stage).await?;
        client.each(paths, by_kotlin_as_nginx_says).await?;
        by_kotlin(&client.post("/records/1/visit").await?)?;
    }
    Ok(())
}

/// A body that nginx buffers before it asks the service may end up on its disk.
async fn a_body_is_passed_on_as_it_comes(bench: &Workbench) -> TestResult {
    let stand_ins = StandIns::at(bench, "off").await?;
    let begun = "POST /visits HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n{";
    let connection = send_raw(stand_ins.nginx.address(), begun).await;
    let _connection = connection.context("nginx accepts no request")?;
    stand_ins.kotlin.asked().await?;
    Ok(())
}

/// Sends the beginning of a request or all of it, and returns when it is on its way.
async fn send_raw(address: SocketAddr, request: &str) -> std::io::Result<TcpStream> {
    let mut connection = TcpStream::connect(address).await?;
    connection.write_all(request.as_bytes()).await?;
    Ok(connection)
}

async fn a_mirrored_request_arrives_at_both_and_kotlin_answers(bench: &Workbench) -> TestResult {
    let stand_ins = StandIns::at(bench, "mirror").await?;
    for id in ["first", "second"] {
        let path = path(&format!("the {id} & only"));
        let client = stand_ins.client.with_request_id(id);
        by_kotlin(&client.get(&path).await?)?;
        for service in [&stand_ins.kotlin, &stand_ins.rust] {
            expect_head(&service.asked().await?, &path, id)?;
        }
    }
    Ok(())
}

/// Expects the request as the client has sent it, with its id.
fn expect_head(head: &str, path: &str, id: &str) -> TestResult {
    let line = format!("GET {path} HTTP/1.1");
    let header = format!("X-Request-Id: {id}");
    let holds = head.lines().next() == Some(&line) && head.lines().any(|line| line == header);
    expect(holds, format!("{line}, with {header}"), head)
}

async fn a_copy_that_gets_lost_or_no_answer_is_not_noticed(bench: &Workbench) -> TestResult {
    let kotlin = StandIn::ready("kotlin")?;
    let silent = StandIn::silent("rust")?;
    for rust in [silent.address(), nobody()?] {
        let nginx = in_front_of(bench, kotlin.address(), rust).await?;
        nginx.switch("mirror").await?;
        let client = nginx.client()?;
        client.each(vec![path("text"); 3], by_kotlin).await?;
        // nginx keeps the next request of a connection until the copy of the one before has ended.
        two_on_one_connection(nginx.address()).await?;
    }
    Ok(())
}

/// Sends two requests on one connection, and waits for both answers.
async fn two_on_one_connection(address: SocketAddr) -> TestResult {
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
    let got = match timeout(ANSWER_LIMIT, both).await {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no second answer within {} s", ANSWER_LIMIT.as_secs()),
    };
    let expected = "both answers of Kotlin on one connection, while Rust is silent";
    Err(Failure::new(expected, got).into())
}

/// Texts of several kinds, enough to see a share.
const TEXTS: usize = 1000;

/// The indices of the texts that Rust draws.
async fn drawn_by_rust(client: &Client) -> Result<Vec<usize>, TestError> {
    let mut by_rust = Vec::new();
    for (round, some) in paths(TEXTS).chunks(50).enumerate() {
        for (place, answer) in client.get_all(some).await.into_iter().enumerate() {
            match answer? {
                rust if rust.body() == b"rust" => by_rust.push(50 * round + place),
                other => drop(by_kotlin(&other)?),
            }
        }
    }
    Ok(by_rust)
}

async fn ten_percent_of_the_texts_go_to_rust(bench: &Workbench) -> TestResult {
    let stand_ins = StandIns::at(bench, "ten-percent").await?;
    let by_rust = drawn_by_rust(&stand_ins.client).await?.len();
    // The hash is the same on every machine: this does not pass today and fail tomorrow.
    let expected = format!("about 100 of {TEXTS} texts drawn by Rust");
    expect((60..=140).contains(&by_rust), expected, by_rust.to_string())
}

async fn a_text_stays_on_its_side(bench: &Workbench) -> TestResult {
    let stand_ins = StandIns::at(bench, "ten-percent").await?;
    let first = drawn_by_rust(&stand_ins.client).await?;
    let second = drawn_by_rust(&stand_ins.client).await?;
    let moved = first.iter().find(|number| !second.contains(number));
    expect_none(
        "each text drawn by the service that has drawn it before",
        moved.map(|number| format!("\"number {number}\": Rust the first time, Kotlin the second")),
    )
}

async fn at_the_last_stage_rust_draws(bench: &Workbench) -> TestResult {
    let kotlin = StandIn::ready("kotlin")?;
    let rust = bench.service(&[]).await?;
    let nginx = in_front_of(bench, kotlin.address(), rust.process.address()).await?;
    nginx.switch("all").await?;
    let client = nginx.client()?;
    let texts = ["one", "two", "three"];
    let by_rust = has_header("X-Served-By", "rust");
    client.each(texts.map(path), by_rust).await?;
    expect_codes(&client, texts).await
}

async fn while_rust_is_down_kotlin_draws(bench: &Workbench) -> TestResult {
    let kotlin = StandIn::ready("kotlin")?;
    let nginx = in_front_of(bench, kotlin.address(), nobody()?).await?;
    for stage in ["ten-percent", "all"] {
        nginx.switch(stage).await?;
        nginx.client()?.each(paths(100), by_kotlin).await?;
    }
    Ok(())
}

/// Between two requests of a constant rate.
const TICK: Duration = Duration::from_millis(5);
/// The requests of that rate around each switch.
const AROUND_A_SWITCH: usize = 60;

async fn no_request_fails_while_the_stages_change(bench: &Workbench) -> TestResult {
    let nginx = in_front_of_both(bench).await?;
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
        requests.spawn(async move { expect_code(&client, &text).await.map(drop) });
    }
}

async fn a_request_in_flight_outlives_the_switch(bench: &Workbench) -> TestResult {
    let stand_ins = StandIns::with(bench, StandIn::silent("rust")?, "all").await?;
    let client = &stand_ins.client;
    let (before, after) = (path("before"), path("after"));
    let (in_flight, between) = tokio::join!(client.get(&before), async {
        stand_ins.rust.asked().await?;
        stand_ins.nginx.switch("off").await?;
        let answer = client.get(&after).await;
        stand_ins.rust.answer();
        Ok::<_, TestError>(answer?)
    });
    by_kotlin(&between?)?;
    expect_stand_in(&in_flight?, "rust")?;
    Ok(())
}

/// The maximum time on a slow machine; a stage that waits for the requests of the old one takes as long as these.
const BACK_WITHIN: Duration = Duration::from_secs(5);

async fn kotlin_is_back_at_once(bench: &Workbench) -> TestResult {
    let stand_ins = StandIns::at(bench, "all").await?;
    let took = stand_ins.nginx.switch("off").await?;
    stand_ins.client.each([path("text")], by_kotlin).await?;
    expect(
        took <= BACK_WITHIN,
        "Kotlin back as soon as nginx has new workers, whatever the old ones still have to answer",
        format!("after {took:?}"),
    )
}

/// A service whose drawing does what the text says. A stalled drawing keeps its permit, so it needs a service that no other test
/// asks: `purpose` makes it another.
async fn stalling(bench: &Workbench, purpose: &str) -> Result<Arc<OwnService>, TestError> {
    let purpose = [("PURPOSE", purpose)];
    bench.service_with_drawing(STALLING, &purpose).await
}

/// The maximum number of codes that may be drawn at the same time.
fn places() -> anyhow::Result<usize> {
    let cores = available_parallelism().context("the cores cannot be counted")?;
    Ok(2 * cores.get())
}

async fn at_most_two_codes_for_each_core_are_drawn_at_once(bench: &Workbench) -> TestResult {
    let service = stalling(bench, "count").await?;
    let answers = service.client.get_all(&vec![path("slow"); 40]).await;
    expect_each(&answers, has_status(200))?;
    let answer = service.client.get(&path("most")).await?;
    let (most, places) = (answer.text(), places()?);
    answer.expect(
        most.parse().is_ok_and(|most| (1..=places).contains(&most)),
        format!("at most {places} codes drawn at the same time, two for each core"),
        &*most,
    )?;
    Ok(())
}

async fn a_panic_answers_503_and_the_service_goes_on(bench: &Workbench) -> TestResult {
    let service = stalling(bench, "panic").await?;
    // One more than there are permits: a panic returns its permit.
    for _ in 0..=places()? {
        expect_unavailable(&service.client, "panic").await?;
    }
    service.client.each([path("text")], has_status(200)).await
}

/// A client doesn't learn why it gets no image. It can name the request, and the log has the reason.
async fn a_failure_is_logged_with_the_request_id_of_its_answer(bench: &Workbench) -> TestResult {
    let service = stalling(bench, "log").await?;
    let answer = service.client.get(&path("panic")).await?;
    let id = answer.header("X-Request-Id").unwrap_or_default();
    let is_logged = async || {
        let logged = std::fs::read_to_string(service.process.log()).ok()?;
        let mut lines = logged.lines().flat_map(serde_json::from_str);
        let is_it = |line: Value| line["level"] == "ERROR" && id_in(&line) == Some(&*id);
        lines.any(is_it).then_some(())
    };
    let is_logged = wait::within(LOGGED_WITHIN, is_logged).await.is_some();
    let expected = format!("a JSON line in the log with \"level\":\"ERROR\" and the request id {id}, in it or in its span");
    answer.expect(is_logged, expected, "none")?;
    Ok(())
}

async fn the_service_answers_while_every_place_is_taken(bench: &Workbench) -> TestResult {
    let service = stalling(bench, "stall").await?;
    // Each of them waits until the service gives it up.
    let stalled = (0..200).map(|_| expect_unavailable(&service.client, "stall"));
    try_join_all(stalled).await?;
    let one_more = service.client.get(&path("text")).await?;
    one_more.expect(
        one_more.status() == 503,
        "status 503: the drawings that were given up go on, and hold every permit",
        format!("status {}", one_more.status()),
    )?;
    Ok(())
}

async fn codes_under_way_are_drawn_before_the_end(bench: &Workbench) -> TestResult {
    let service = stalling(bench, "end").await?;
    let address = service.process.address();
    // More than can be drawn before the service is told to stop.
    let asked = 40;
    let path = path("slow");
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    let connections = try_join_all((0..asked).map(|_| send_raw(address, &request))).await;
    let mut connections = connections.map_err(|error| {
        let expected = format!("{asked} connections to the service at the same time");
        Failure::new(expected, error.to_string())
    })?;
    sockets::wait_until_read(address.port(), asked).await;
    service.process.ask_to_stop();
    let answers = connections.iter_mut().map(read_to_the_end);
    for answer in try_join_all(answers).await? {
        let status = answer.lines().next();
        expect(
            answer.starts_with("HTTP/1.1 200 "),
            "status 200 for each code under way when the service is told to stop",
            status.unwrap_or("a closed connection without an answer"),
        )?;
    }
    Ok(())
}

/// The bytes on a connection until it is closed, in whatever way.
async fn read_to_the_end(connection: &mut TcpStream) -> Result<String, Failure> {
    let mut answer = Vec::new();
    let read = timeout(ANSWER_LIMIT, connection.read_to_end(&mut answer)).await;
    let got = || format!("it did not end within {} s", ANSWER_LIMIT.as_secs());
    let _ = read.map_err(|_| Failure::new("an answer", got()))?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
