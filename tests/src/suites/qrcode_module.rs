//! Suite `qrcode-module` (exercise 10): the service whose codes are drawn by a WebAssembly module, whatever that module does.

use std::sync::Arc;

use futures_util::future::try_join_all;

use super::qrcode::path;
use super::{TestResult, contract_tests};
use crate::harness::failure::{Failure, TestError};
use crate::harness::workbench::{OwnService, Workbench};

contract_tests! {
    steady: [],
    outage: [],
    own: [
        a_panic_answers_503_and_ends_the_instance,
        a_module_that_hangs_is_ended_in_time,
        a_module_that_wants_much_memory_answers_503,
        no_instance_serves_two_at_once,
        an_instance_is_used_again,
        every_byte_is_given_back,
    ]
}

/// Takes the place of `src/qr.rs`, and does what the text says.
const FAULTY: &str = include_str!("faulty_qr.rs");
/// The texts at which it panics, does not end, and takes 100 MB.
const PANIC: &str = "panic";
const HANG: &str = "hang";
const MUCH: &str = "much";
/// Those that it answers with how many calls the instance has seen, and how many bytes it holds; and with whether no other call
/// was in it.
const CALLS: &str = "calls";
const HELD: &str = "held";
const ALONE: &str = "alone";
/// The size of every other image of it, in bytes.
const IMAGE: i64 = 100_000;

/// With one instance at a time, a test knows which one answers.
async fn one_instance(bench: &Workbench) -> Result<Arc<OwnService>, TestError> {
    let env = [("QRCODE_AT_ONCE", "1"), ("QRCODE_TIMEOUT_MS", "1500")];
    bench.service_with_drawing(FAULTY, &env).await
}

async fn expect_unavailable(service: &OwnService, text: &str) -> TestResult {
    let detail = "QR codes cannot be made now";
    let answer = service.client.get(&path(text)).await?;
    answer.expect_problem(503, "Service Unavailable", detail)?;
    let health = service.client.get("/health").await?;
    health.expect_status(200)?;
    Ok(())
}

/// A number that the drawing answers instead of an image.
async fn number(service: &OwnService, text: &str) -> Result<i64, TestError> {
    let answer = service.client.get(&path(text)).await?;
    answer.expect_status(200)?;
    let printed = String::from_utf8_lossy(answer.body());
    printed.parse().map_err(|_| {
        answer
            .failure("what qr::png returned, byte for byte", "other bytes")
            .into()
    })
}

async fn a_panic_answers_503_and_ends_the_instance(bench: &Workbench) -> TestResult {
    let service = one_instance(bench).await?;
    for _ in 0..3 {
        expect_unavailable(&service, PANIC).await?;
    }
    let calls = number(&service, CALLS).await?;
    if calls == 1 {
        return Ok(());
    }
    let expected = "a fresh instance after a panic: the code after it is its first";
    let got = format!("the instance had seen {calls} calls, those with the panic among them");
    Err(Failure::new(expected, got).into())
}

async fn a_module_that_hangs_is_ended_in_time(bench: &Workbench) -> TestResult {
    let service = one_instance(bench).await?;
    expect_unavailable(&service, HANG).await?;
    // There is one place: it is free again, or this is not answered.
    let after = service.client.get(&path("text")).await?;
    after.expect_status(200)?;
    Ok(())
}

async fn a_module_that_wants_much_memory_answers_503(bench: &Workbench) -> TestResult {
    let service = one_instance(bench).await?;
    expect_unavailable(&service, MUCH).await
}

async fn no_instance_serves_two_at_once(bench: &Workbench) -> TestResult {
    let service = bench
        .service_with_drawing(FAULTY, &[("QRCODE_AT_ONCE", "4")])
        .await?;
    let path = path(ALONE);
    let answers = try_join_all((0..40).map(|_| service.client.get(&path))).await?;
    for answer in answers {
        answer.expect_status(200)?;
        if answer.body() != b"true" {
            let expected = "an instance for each of the calls at the same time";
            let got = "two calls in one instance, each in the other's memory";
            return Err(answer.failure(expected, got).into());
        }
    }
    Ok(())
}

async fn an_instance_is_used_again(bench: &Workbench) -> TestResult {
    let service = one_instance(bench).await?;
    let before = number(&service, CALLS).await?;
    let after = number(&service, CALLS).await?;
    if after == before + 1 {
        return Ok(());
    }
    let expected = format!("the instance that has seen {before} calls, for one more");
    let got = format!("an instance that has seen {after}, this one included");
    Err(Failure::new(expected, got).into())
}

async fn every_byte_is_given_back(bench: &Workbench) -> TestResult {
    const CODES: i64 = 20;
    let service = one_instance(bench).await?;
    let text = "t".repeat(500);
    let before = number(&service, HELD).await?;
    for _ in 0..CODES {
        let image = service.client.get(&path(&text)).await?;
        image.expect_status(200)?;
    }
    let more = number(&service, HELD).await? - before;
    // Neither is an image or a text kept, nor is one given back that was never handed over.
    if more == 0 {
        return Ok(());
    }
    let expected = format!(
        "as many bytes held by the module as before {CODES} images of {IMAGE} bytes, of a text of {}",
        text.len()
    );
    Err(Failure::new(expected, format!("{more} bytes more")).into())
}
